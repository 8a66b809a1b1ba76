"""The namespaces that a control plane has from its first moment on."""

from contextlib import suppress

from kubeapi.core import NAMESPACES, Namespace
from kubeapi.meta import ObjectMeta
from kubeclient import AlreadyExists, Client, NotFound
from leeward.api.names import CLUSTER_NAMESPACE, SYSTEM_NAMESPACE


async def ensure_namespaces(client: Client) -> None:
    """Makes those that are missing: accounts of a component may read a Namespace, and not all may make one.

    Raises: WorldError.
    """
    for name in (SYSTEM_NAMESPACE, CLUSTER_NAMESPACE):
        try:
            await client.get(NAMESPACES, name)
        except NotFound:
            with suppress(AlreadyExists):
                await client.create(NAMESPACES, Namespace(metadata=ObjectMeta(name=name)))
