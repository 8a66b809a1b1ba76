"""Everything about who may do what, put together: for the server, which asks at its gate and answers the reviews."""

from collections.abc import Mapping
from typing import Any

from kubeapi.loop import Clock, Randomness
from kubeapi.meta import Manifest
from kubeserver.auth.authentication import Authenticator
from kubeserver.auth.authorization import Gate, Rbac, RulesOfUser, no_rules
from kubeserver.auth.authorization import reviews as access_reviews
from kubeserver.auth.tokens import BootstrapTokens, ServiceAccountTokens, SigningKey
from kubeserver.auth.tokens.accounts import ISSUER
from kubeserver.auth.tokens.discovery import IssuerDiscovery
from kubeserver.auth.tokens.request import TokenRequests
from kubeserver.auth.tokens.reviewing import review_token
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
        rules_of_user: RulesOfUser = no_rules,
    ) -> None:
        self.authorizer = Rbac(store, rules_of_user)
        key = signing_key or SigningKey.draw(randomness)
        self.accounts = ServiceAccountTokens(store, clock, key)
        self.issuer = IssuerDiscovery(ISSUER, key)
        self._requests = TokenRequests(store, clock, randomness, self.accounts)
        self.authenticator = Authenticator(tokens, (self.accounts, BootstrapTokens(store, clock)))
        self.gate = Gate(self.authorizer)

    def review(self, kind: str, manifest: Manifest, user: User) -> dict[str, Any]:
        """The status of the answer to an access review or a TokenReview. Raises: Refused."""
        if kind == "TokenReview":
            return review_token(manifest, self.accounts, self.authenticator)
        return access_reviews.review(self.authorizer, kind, manifest, user)

    def issue_token(self, namespace: str, name: str, manifest: Manifest, dry_run: bool) -> Manifest:
        """The TokenRequest with its token. Raises: Refused."""
        return self._requests.answer(namespace, name, manifest, dry_run)
