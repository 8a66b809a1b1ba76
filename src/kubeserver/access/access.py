"""Everything about who may do what, put together: for the server, which asks at its gate and answers the reviews."""

from collections.abc import Mapping
from typing import Any

from kubeapi.loop.clock import Clock
from kubeapi.loop.randomness import Randomness
from kubeapi.meta import Manifest
from kubeserver.access.authentication import Authenticator
from kubeserver.access.authorization import Gate, Rbac
from kubeserver.access.authorization import reviews as access_reviews
from kubeserver.access.authorization.escalation import EscalationCheck
from kubeserver.access.authorization.signers import SignerCheck
from kubeserver.access.tokens import BootstrapTokens, ServiceAccountTokens, SigningKey
from kubeserver.access.tokens.accounts import ISSUER
from kubeserver.access.tokens.certificates import SigningRequestAdmission
from kubeserver.access.tokens.discovery import IssuerDiscovery
from kubeserver.access.tokens.request import TokenRequests
from kubeserver.access.tokens.reviewing import review_token
from kubeserver.admission import Admission
from kubeserver.handler import User
from kubeserver.store import Store


class Access:
    """`tokens` are the static ones; without `signing_key`, service account tokens end with the process."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        randomness: Randomness,
        tokens: Mapping[str, User] | None = None,
        signing_key: SigningKey | None = None,
    ) -> None:
        self.authorizer = Rbac(store)
        key = signing_key or SigningKey.draw(randomness)
        self.accounts = ServiceAccountTokens(store, clock, key)
        self.issuer = IssuerDiscovery(ISSUER, key)
        self._requests = TokenRequests(store, clock, randomness, self.accounts)
        self.authenticator = Authenticator(tokens, (self.accounts, BootstrapTokens(store, clock)))
        self.gate = Gate(self.authorizer)
        self.admission: tuple[Admission, ...] = (
            EscalationCheck(self.authorizer),
            SigningRequestAdmission(),
        )
        self.guards: tuple[Admission, ...] = (SignerCheck(self.authorizer),)
        """Asked about writes to subresources."""

    def review(self, kind: str, manifest: Manifest, user: User) -> dict[str, Any]:
        """The status of the answer to an access review or a TokenReview. Raises: Refused."""
        if kind == "TokenReview":
            return review_token(manifest, self.accounts, self.authenticator)
        return access_reviews.review(self.authorizer, kind, manifest, user)

    def issue_token(self, namespace: str, name: str, manifest: Manifest, dry_run: bool) -> Manifest:
        """The TokenRequest with its token. Raises: Refused."""
        return self._requests.answer(namespace, name, manifest, dry_run)
