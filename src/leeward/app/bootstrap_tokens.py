"""Bootstrap tokens, with which an agent that has nothing else asks for its certificate.

Each is a Secret `kube-system/bootstrap-token-ID`, which ends by itself. It makes the agent of one cluster that has not
joined yet: of the one in its groups, or else of the first that it is used for.

Karmada: pkg/karmadactl/token; the same objects, with our groups beside its own.
"""

import base64
import secrets
import string
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from controller_runtime import delete_seen
from kubeapi.core import SECRETS, Secret
from kubeapi.meta import Manifest, format_time
from kubeclient import Client
from leeward.api.names import BOOTSTRAP_CLUSTER_GROUP_PREFIX, BOOTSTRAP_SINGLE_USE_GROUP
from leeward.api.resource import CLUSTERS
from leeward.app.local import FleetError
from leeward.app.local.layout import problem_of_member_name
from leeward.core.registration import TOKEN_NAMESPACE, TOKEN_PREFIX, clusters_of_token, use_of

NAMESPACE, PREFIX = TOKEN_NAMESPACE, TOKEN_PREFIX
TOKEN_TYPE = "bootstrap.kubernetes.io/token"
AGENTS_GROUP = "system:bootstrappers:karmada:default-cluster-token"
_LETTERS = string.ascii_lowercase + string.digits


@dataclass(frozen=True, slots=True)
class BootstrapToken:
    """`secret` is empty where it is not to be shown; `expires_at` is empty for one that stays.

    `cluster` is the one that it is for, and empty while it is for the first that it is used for.
    """

    id: str
    secret: str
    expires_at: str
    description: str
    cluster: str = ""
    single_use: bool = False

    def __str__(self) -> str:
        return f"{self.id}.{self.secret}"


async def create_token(
    client: Client, expires_at: datetime | None, description: str, cluster: str = "", *, single_use: bool = False
) -> BootstrapToken:
    """Raises: WorldError; FleetError for a cluster that has joined, or that none can be called."""
    if cluster:
        await _refuse_cluster(client, cluster)
    expiration = format_time(expires_at) if expires_at else ""
    token = BootstrapToken(_random(6), _random(16), expiration, description, cluster, single_use)
    own = [BOOTSTRAP_CLUSTER_GROUP_PREFIX + cluster] * bool(cluster) + [BOOTSTRAP_SINGLE_USE_GROUP] * single_use
    data = {
        "token-id": token.id,
        "token-secret": token.secret,
        "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true",
        "auth-extra-groups": ",".join((AGENTS_GROUP, *own)),
        **({"expiration": token.expires_at} if token.expires_at else {}),
        **({"description": description} if description else {}),
    }
    secret: Manifest = {"metadata": {"name": PREFIX + token.id}, "type": TOKEN_TYPE, "data": _encoded(data)}
    await client.create(SECRETS, secret, NAMESPACE)
    return token


async def list_tokens(client: Client) -> list[BootstrapToken]:
    """Tokens that agents may use, without their secret halves. Raises: WorldError."""
    found = (await client.list(SECRETS, NAMESPACE)).items
    return [
        _token(secret) for secret in found if secret.name.startswith(PREFIX) and AGENTS_GROUP in _groups(secret.data)
    ]


async def delete_token(client: Client, token: str) -> None:
    """`token` is whole, or its first half. Raises: WorldError; FleetError when there is none."""
    token_id = token.partition(".")[0]
    if not await delete_seen(client, SECRETS, PREFIX + token_id, NAMESPACE):
        raise FleetError(f"there is no bootstrap token {token_id}: `leeward token list` names all")


async def _refuse_cluster(client: Client, cluster: str) -> None:
    """Raises: WorldError; FleetError."""
    if problem := problem_of_member_name(cluster):
        raise FleetError(f"a cluster cannot be called {cluster!r}: {problem}")
    if await client.find(CLUSTERS, cluster) is None:
        return
    raise FleetError(
        f"there is a cluster {cluster} already, whose agent has an identity: give another name, or let it leave first "
        f"(`leeward unregister {cluster}`, `leeward unjoin {cluster}`)"
    )


def _token(secret: Secret) -> BootstrapToken:
    def text(key: str) -> str:
        return secret.data.get(key, b"").decode(errors="replace")

    groups, use = _groups(secret.data), use_of(secret.metadata.annotations)
    cluster = ",".join(clusters_of_token(groups)) or use.cluster
    single_use = BOOTSTRAP_SINGLE_USE_GROUP in groups
    return BootstrapToken(text("token-id"), "", text("expiration"), text("description"), cluster, single_use)


def _groups(data: Mapping[str, bytes]) -> list[str]:
    return data.get("auth-extra-groups", b"").decode(errors="replace").split(",")


def _random(length: int) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


def _encoded(data: Mapping[str, str]) -> dict[str, str]:
    return {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
