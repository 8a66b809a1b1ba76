"""Bootstrap tokens, with which an agent that has nothing else asks for its certificate.

Each is a Secret `kube-system/bootstrap-token-ID`, which ends by itself.

Karmada: pkg/karmadactl/token; the same objects.
"""

import base64
import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from leeward.api.meta import Manifest, format_time
from leeward.api.resource import SECRETS
from leeward.app.local.errors import FleetError
from leeward.client import Client
from leeward.runtime.deleting import delete_seen

NAMESPACE, PREFIX = "kube-system", "bootstrap-token-"
TOKEN_TYPE = "bootstrap.kubernetes.io/token"
AGENTS_GROUP = "system:bootstrappers:karmada:default-cluster-token"
_LETTERS = string.ascii_lowercase + string.digits


@dataclass(frozen=True, slots=True)
class BootstrapToken:
    """`secret` is empty where it is not to be shown; `expires_at` is None for one that stays."""

    id: str
    secret: str
    expires_at: str
    description: str

    def __str__(self) -> str:
        return f"{self.id}.{self.secret}"


async def create_token(client: Client, expires_at: datetime | None, description: str) -> BootstrapToken:
    """Raises: WorldError."""
    token = BootstrapToken(_random(6), _random(16), format_time(expires_at) if expires_at else "", description)
    data = {
        "token-id": token.id,
        "token-secret": token.secret,
        "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true",
        "auth-extra-groups": AGENTS_GROUP,
        **({"expiration": token.expires_at} if token.expires_at else {}),
        **({"description": description} if description else {}),
    }
    secret: Manifest = {"metadata": {"name": PREFIX + token.id}, "type": TOKEN_TYPE, "data": _encoded(data)}
    await client.create(SECRETS, secret, NAMESPACE)
    return token


async def list_tokens(client: Client) -> list[BootstrapToken]:
    """Those that agents may use, without their secret halves. Raises: WorldError."""
    found = (await client.list(SECRETS, NAMESPACE)).items
    return [_token(secret.data) for secret in found if secret.name.startswith(PREFIX) and _is_for_agents(secret.data)]


async def delete_token(client: Client, token: str) -> None:
    """`token` is whole, or its first half. Raises: WorldError; FleetError when there is none."""
    token_id = token.partition(".")[0]
    if not await delete_seen(client, SECRETS, PREFIX + token_id, NAMESPACE):
        raise FleetError(f"there is no bootstrap token {token_id}: `leeward token list` names all")


def _token(data: Mapping[str, bytes]) -> BootstrapToken:
    def text(key: str) -> str:
        return data.get(key, b"").decode(errors="replace")

    return BootstrapToken(text("token-id"), "", text("expiration"), text("description"))


def _is_for_agents(data: Mapping[str, bytes]) -> bool:
    return AGENTS_GROUP in data.get("auth-extra-groups", b"").decode(errors="replace").split(",")


def _random(length: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


def _encoded(data: Mapping[str, str]) -> dict[str, str]:
    return {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
