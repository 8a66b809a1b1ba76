"""Discovery by which others verify service account tokens: the issuer's configuration, and its public key.

Kubernetes: pkg/serviceaccount/openidmetadata.go; same.
"""

from kubeapi import codec
from kubeapi.transport import Request, Response
from kubeserver import errors
from kubeserver.auth.tokens.jwt import ALGORITHM
from kubeserver.auth.tokens.keys import SigningKey

CONFIGURATION, KEYS = "/.well-known/openid-configuration", "/openid/v1/jwks"
_CACHED = {"cache-control": "public, max-age=3600"}


class IssuerDiscovery:
    """Answers about one issuer and its key."""

    paths = (CONFIGURATION, KEYS)

    def __init__(self, issuer: str, key: SigningKey) -> None:
        configuration = {
            "issuer": issuer,
            "jwks_uri": f"{issuer}{KEYS}",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [ALGORITHM],
        }
        keys = {"keys": [{"use": "sig", "kid": key.key_id, "alg": ALGORITHM, **key.public_parts()}]}
        self._answers = {
            CONFIGURATION: Response(200, codec.encode(configuration), {"content-type": errors.JSON, **_CACHED}),
            KEYS: Response(200, codec.encode(keys), {"content-type": "application/jwk-set+json", **_CACHED}),
        }

    def answer(self, request: Request) -> Response | None:
        """None for any other path. Raises: Refused."""
        answer = self._answers.get(request.path.rstrip("/"))
        if answer is not None and request.method != "GET":
            raise errors.method_not_allowed()
        return answer
