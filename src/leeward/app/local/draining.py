"""A drain, as the bindings tell of it: what is still in the cluster, and why.

The control plane does the work, because the cluster has the taint; this only looks.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from leeward.api.codec import from_wire
from leeward.api.meta import find_condition
from leeward.api.names import EVICTION_HELD_CONDITION
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from leeward.api.work import ClusterResourceBinding, ResourceBinding
from leeward.app.local.api import AdminClient
from leeward.app.local.tainting import DRAIN
from leeward.core.failover.holding import WAITING_FOR_TURN
from leeward.core.toleration import tolerates

Binding = ResourceBinding | ClusterResourceBinding


@dataclass(frozen=True, slots=True)
class Copy:
    """What of one binding is in the cluster; `staying`: the drain does not move it; `moving`: it is on its way out."""

    workload: str
    state: str
    staying: bool = False
    moving: bool = False


def copies_in(api: AdminClient, cluster: str) -> list[Copy]:
    """All that is in the cluster by placement or by an eviction that is under way, by name. Raises: FleetError."""
    copies = [copy for binding in _bindings(api) if (copy := describe_copy(binding, cluster)) is not None]
    return sorted(copies, key=lambda copy: copy.workload)


def describe_copy(binding: Binding, cluster: str) -> Copy | None:
    """None where the binding has nothing to do with the cluster."""
    spec = binding.spec
    resource = spec.resource
    workload = f"{resource.kind} {'/'.join(part for part in (resource.namespace, resource.name) if part)}"
    task = next((task for task in spec.graceful_eviction_tasks if task.from_cluster == cluster), None)
    if task is not None:
        state = "kept by suppressDeletion" if task.suppress_deletion else "moving, until its replacement is healthy"
        return Copy(workload, state, bool(task.suppress_deletion), moving=True)
    target = next((target for target in spec.clusters if target.name == cluster), None)
    if target is None:
        return None
    tolerations = spec.placement.cluster_tolerations if spec.placement else ()
    toleration = next((each for each in tolerations if tolerates(each, DRAIN)), None)
    if toleration is not None and toleration.toleration_seconds is None:
        return Copy(workload, "stays, because its policy tolerates the taint", staying=True)
    if toleration is not None:
        return Copy(workload, f"to move after the {toleration.toleration_seconds} s that its policy tolerates")
    held = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION)
    if held is not None:
        waits = held.reason == WAITING_FOR_TURN
        return Copy(workload, "waits for its turn" if waits else f"held: {held.message}")
    return Copy(workload, f"{target.replicas} replicas to move" if target.replicas else "to move")


def _bindings(api: AdminClient) -> Iterator[Binding]:
    for manifest in api.list(RESOURCE_BINDINGS.path()):
        yield from_wire(manifest, ResourceBinding)
    for manifest in api.list(CLUSTER_RESOURCE_BINDINGS.path()):
        yield from_wire(manifest, ClusterResourceBinding)
