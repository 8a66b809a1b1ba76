"""TokenReview: whose token is this?"""

from typing import Any

from kubeapi.meta import Manifest
from kubeserver.auth.authentication import Authenticator
from kubeserver.auth.tokens.accounts import AUDIENCES, ServiceAccountTokens
from kubeserver.auth.tokens.jwt import looks_like_token
from kubeserver.errors import bad_request
from kubeserver.values import section, texts


def review_token(manifest: Manifest, accounts: ServiceAccountTokens, others: Authenticator) -> dict[str, Any]:
    """The status of the answer to a TokenReview. Raises: Refused.

    A token that says nothing of audiences is one for this server alone.
    """
    spec = section(manifest, "spec")
    token = spec.get("token", "")
    if not token:
        raise bad_request("token is required for TokenReview in authentication")
    audiences = texts(spec, "audiences") or list(AUDIENCES)
    user = accounts.authenticate(token, audiences)
    if user is not None:
        shared = [audience for audience in audiences if audience in accounts.audiences_of(token)]
        return {"authenticated": True, "user": user.info(), "audiences": shared}
    shared = [audience for audience in audiences if audience in AUDIENCES]
    user = others.known_user(token) if shared and not looks_like_token(token) else None
    if user is None:
        return {"user": {}, "error": "invalid bearer token"}
    return {"authenticated": True, "user": user.info(), "audiences": shared}
