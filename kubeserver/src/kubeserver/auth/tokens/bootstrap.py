"""Bootstrap tokens: Secrets `kube-system/bootstrap-token-ID` of type `bootstrap.kubernetes.io/token`.

They let an agent that has nothing else ask for its certificate, and sign what tells it whom to ask.

Kubernetes: plugin/pkg/auth/authenticator/token/bootstrap, pkg/controller/bootstrap (which tokens sign) and
staging/src/k8s.io/cluster-bootstrap/token/jws; the same rules.
"""

import base64
import binascii
import hmac
import re
from collections.abc import Mapping
from datetime import datetime

import msgspec

from kubeapi import codec
from kubeapi.loop import Clock
from kubeapi.meta import exact_time
from kubeserver.handler import User
from kubeserver.store import Record, Store

SECRET_TYPE = "bootstrap.kubernetes.io/token"
PREFIX = "//secrets/kube-system/bootstrap-token-"
GROUP = "system:bootstrappers"
_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_EXTRA_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    deletion_timestamp: str = ""


class _Secret(msgspec.Struct, frozen=True):
    metadata: _Meta
    type: str = ""
    data: Mapping[str, str] | None = None


class BootstrapTokens:
    """Knows bootstrap tokens by their Secrets."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def authenticate(self, token: str) -> User | None:
        """User whose token it is; None when it is no valid bootstrap token."""
        match = _TOKEN.fullmatch(token)
        record = self._store.get(f"{PREFIX}{match[1]}") if match else None
        if match is None or record is None:
            return None
        data = _token_data(record, "authentication", self._clock.now())
        same = hmac.compare_digest(data.get("token-secret", "").encode(), match[2].encode())
        if not same or data.get("token-id") != match[1]:
            return None
        extra = tuple(filter(None, (group.strip() for group in data.get("auth-extra-groups", "").split(","))))
        if not all(map(_EXTRA_GROUP.fullmatch, extra)):
            return None
        return User(f"system:bootstrap:{match[1]}", (GROUP, *extra, "system:authenticated"))


def signing_tokens(store: Store, now: datetime) -> dict[str, str]:
    """Ids and secret halves of the tokens that may sign now."""
    found = dict[str, str]()
    for record in store.list(PREFIX).records:
        data = _token_data(record, "signing", now)
        token_id, secret = data.get("token-id", ""), data.get("token-secret", "")
        if secret and record.key == PREFIX + token_id:
            found[token_id] = secret
    return found


def detached_signature(content: str, token_id: str, secret: str) -> str:
    """A JWS of `content` without it (RFC 7515, appendix F), by HMAC with SHA-256.

    Clients compare it letter by letter with their own, and the library for tokens warns of keys as short as these.
    """
    header = _base64url(f'{{"alg":"HS256","kid":"{token_id}"}}'.encode())
    signed = f"{header}.{_base64url(content.encode())}".encode()
    return f"{header}..{_base64url(hmac.digest(secret.encode(), signed, 'sha256'))}"


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _token_data(record: Record, usage: str, now: datetime) -> dict[str, str]:
    """Contents of the Secret of a token; empty where it is none, has ended, or is not for this usage."""
    try:
        secret = codec.decode(record.value, _Secret)
    except codec.DecodeError:
        return {}
    data = {key: _text(value) for key, value in (secret.data or {}).items()}
    usable = secret.type == SECRET_TYPE and not secret.metadata.deletion_timestamp
    usable = usable and data.get(f"usage-bootstrap-{usage}") == "true" and _lasts(data.get("expiration", ""), now)
    return data if usable else {}


def _lasts(expiration: str, now: datetime) -> bool:
    if not expiration:
        return True
    try:
        return now < exact_time(expiration)
    except ValueError:
        return False


def _text(value: str) -> str:
    try:
        return base64.b64decode(value).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
