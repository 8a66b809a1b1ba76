"""Service account tokens: issued on request, bound to their account and perhaps to a Pod or Secret, and ending.

A token is good while its time runs, its account is there with the uid that it had, and so is what it is bound to:
looked up in the store each time it is shown. What waits for its end behind finalizers is gone a minute after it was to
go. A signature is verified once and remembered by the token's digest.

Kubernetes: pkg/registry/core/serviceaccount/storage/token.go, pkg/serviceaccount; the same rules.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from datetime import timedelta

import msgspec

from kubeapi import codec
from kubeapi.loop import Clock
from kubeapi.meta import exact_time
from kubeserver.auth.tokens.jwt import Claims, Reference, looks_like_token, parse_token, render_token
from kubeserver.auth.tokens.keys import SigningKey
from kubeserver.handler import User
from kubeserver.store import Record, Store

ISSUER = "https://kubernetes.default.svc"
AUDIENCES = (ISSUER,)
REMEMBERED = 4_096
SKEW_SECONDS = 10
ENDING = timedelta(minutes=1)


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    uid: str
    deletion_timestamp: str = ""


class _Object(msgspec.Struct, frozen=True):
    metadata: _Meta


class ServiceAccountTokens:
    """Issues tokens with `key`, and knows them again."""

    def __init__(self, store: Store, clock: Clock, key: SigningKey) -> None:
        self._store = store
        self._clock = clock
        self._key = key
        self._verified: OrderedDict[bytes, Claims] = OrderedDict()

    def issue(self, claims: Claims) -> str:
        return render_token(claims, self._key)

    def authenticate(self, token: str, audiences: Sequence[str] = AUDIENCES) -> User | None:
        """User whose token it is, for one of `audiences`; None when it is nobody's, or no longer."""
        claims = self._claims_of(token) if looks_like_token(token) else None
        if claims is None or not self._is_current(claims) or not set(audiences).intersection(claims.aud):
            return None
        return _user_of(claims)

    def audiences_of(self, token: str) -> Sequence[str]:
        claims = self._claims_of(token) if looks_like_token(token) else None
        return claims.aud if claims else ()

    def _claims_of(self, token: str) -> Claims | None:
        digest = hashlib.sha256(token.encode()).digest()
        claims = self._verified.get(digest) or parse_token(token, self._key)
        if claims is not None:
            self._verified[digest] = claims
            self._verified.move_to_end(digest)
            if len(self._verified) > REMEMBERED:
                self._verified.popitem(last=False)
        return claims

    def _is_current(self, claims: Claims) -> bool:
        now, scope = self._clock.now().timestamp(), claims.kubernetes
        if claims.iss != ISSUER or not claims.nbf - SKEW_SECONDS <= now < claims.exp:
            return False
        bound = (("serviceaccounts", scope.serviceaccount), ("pods", scope.pod), ("secrets", scope.secret))
        return all(ref is None or self._is_there(plural, scope.namespace, ref) for plural, ref in bound)

    def _is_there(self, plural: str, namespace: str, reference: Reference) -> bool:
        record = self._store.get(f"//{plural}/{namespace}/{reference.name}")
        if record is None:
            return False
        metadata = codec.decode(record.value, _Object).metadata
        return metadata.uid == reference.uid and not self._is_ending(metadata.deletion_timestamp)

    def _is_ending(self, deleted_at: str) -> bool:
        return bool(deleted_at) and exact_time(deleted_at) < self._clock.now() - ENDING


def _user_of(claims: Claims) -> User:
    namespace, account, pod = claims.kubernetes.namespace, claims.kubernetes.serviceaccount, claims.kubernetes.pod
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    extra = {"credential-id": f"JTI={claims.jti}"}
    if pod is not None:
        extra |= {"pod-name": pod.name, "pod-uid": pod.uid}
    pairs = tuple((f"authentication.kubernetes.io/{key}", (value,)) for key, value in extra.items())
    return User(f"system:serviceaccount:{namespace}:{account.name}", groups, account.uid, pairs)


def uid_of(record: Record) -> str:
    return codec.decode(record.value, _Object).metadata.uid
