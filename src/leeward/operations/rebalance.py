"""Rebalancing of one application: a WorkloadRebalancer that has it scheduled afresh, once, and goes away by itself."""

from kubeapi.codec import to_wire
from kubeclient import Client, NotFound
from leeward.api.rebalancer import WorkloadReference
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS, WORKLOAD_REBALANCERS
from leeward.api.work import Binding
from leeward.operations.errors import OperationFailed

KEPT_SECONDS = 3600
"""Seconds for which its outcome can be looked at."""


async def rebalance(client: Client, name: str, namespace: str) -> str:
    """Asks for it, of the application that has the binding.

    The name of the rebalancer is returned. Raises: OperationFailed, WorldError."""
    try:
        binding: Binding = (
            await client.get(RESOURCE_BINDINGS, name, namespace)
            if namespace
            else await client.get(CLUSTER_RESOURCE_BINDINGS, name)
        )
    except NotFound:
        raise OperationFailed(f"there is no binding {'/'.join(filter(None, (namespace, name)))}") from None
    resource = binding.spec.resource
    workload = WorkloadReference(
        api_version=resource.api_version, kind=resource.kind, name=resource.name, namespace=resource.namespace
    )
    made = await client.create(
        WORKLOAD_REBALANCERS,
        {
            "metadata": {"generateName": "leeward-rebalance-"},
            "spec": {"workloads": [to_wire(workload)], "ttlSecondsAfterFinished": KEPT_SECONDS},
        },
    )
    return made.name
