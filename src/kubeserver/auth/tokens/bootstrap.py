"""Bootstrap tokens: Secrets `kube-system/bootstrap-token-ID` of type `bootstrap.kubernetes.io/token`.

They let an agent that has nothing else ask for its certificate.

Kubernetes: plugin/pkg/auth/authenticator/token/bootstrap; the same rules.
"""

import base64
import binascii
import hmac
import re
from collections.abc import Mapping
from datetime import datetime

import msgspec

from kubeapi import codec
from kubeapi.loop.clock import Clock
from kubeapi.meta import parse_time
from kubeserver.handler import User
from kubeserver.store import Store

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
        """Whose token it is; None when it is no valid bootstrap token."""
        match = _TOKEN.fullmatch(token)
        record = self._store.get(f"{PREFIX}{match[1]}") if match else None
        if match is None or record is None:
            return None
        secret = codec.decode(record.value, _Secret)
        data = {key: _text(value) for key, value in (secret.data or {}).items()}
        same = hmac.compare_digest(data.get("token-secret", "").encode(), match[2].encode())
        usable = secret.type == SECRET_TYPE and not secret.metadata.deletion_timestamp
        usable = usable and data.get("token-id") == match[1] and data.get("usage-bootstrap-authentication") == "true"
        if not (same and usable and _lasts(data.get("expiration", ""), self._clock.now())):
            return None
        extra = tuple(filter(None, (group.strip() for group in data.get("auth-extra-groups", "").split(","))))
        if not all(map(_EXTRA_GROUP.fullmatch, extra)):
            return None
        return User(f"system:bootstrap:{match[1]}", (GROUP, *extra, "system:authenticated"))


def _lasts(expiration: str, now: datetime) -> bool:
    if not expiration:
        return True
    try:
        return now < parse_time(expiration)
    except ValueError:
        return False


def _text(value: str) -> str:
    try:
        return base64.b64decode(value).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
