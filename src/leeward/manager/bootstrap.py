"""The namespaces that a control plane has from its first moment on."""

from kubeapi.meta import ObjectMeta
from leeward.api.core import Namespace
from leeward.api.names import CLUSTER_NAMESPACE, SYSTEM_NAMESPACE
from leeward.api.resource import NAMESPACES
from leeward.client import AlreadyExists, Client


async def ensure_namespaces(client: Client) -> None:
    """Idempotent. Raises: WorldError."""
    for name in (SYSTEM_NAMESPACE, CLUSTER_NAMESPACE):
        try:
            await client.create(NAMESPACES, Namespace(metadata=ObjectMeta(name=name)))
        except AlreadyExists:
            continue
