"""Room for replicas in a cluster, as arithmetic that can be checked.

    allocatable - requested - reserved = free,  free / each = room

of the resource that fits least often. Where a cluster has resource models it counts nodes, and room can be less.
"""

from collections.abc import Iterable, Mapping

import msgspec

from kubeapi.quantity import Quantity
from leeward.api.cluster import Cluster
from leeward.api.work import ResourceBindingSpec
from leeward.planning.capacity import nanos, request_of
from leeward.planning.fleet import Fleet
from leeward.planning.reservations import Reserved

_NANO = 10**9
CPU, MEMORY, PODS = "cpu", "memory", "pods"
RESOURCES = (CPU, MEMORY, PODS)
ESTIMATED = (
    "free capacity is estimated here by reports of clusters: the scheduler also asks estimators, and may find less"
)
"""Words for a picture whose scheduler asks estimators (`SettingsInForce.estimators`)."""


class RoomRow(msgspec.Struct, frozen=True, rename="camel"):
    """Amounts in units of the resource (cores, bytes, pods). `room` is what the scheduler counts with.

    `by_nodes`: the cluster has resource models, so that free amounts are counted node by node.
    """

    cluster: str
    resource: str
    allocatable: float
    requested: float
    reserved: float
    free: float
    each: float
    room: int
    by_nodes: bool = False


def room_rows(spec: ResourceBindingSpec, fleet: Fleet, rooms: Mapping[str, int]) -> list[RoomRow]:
    """`rooms` is what the pipeline has found, by cluster; clusters without a report are left out."""
    rows = (_row(spec, fleet, name, room) for name, room in rooms.items())
    return sorted((row for row in rows if row is not None), key=lambda row: (-row.room, row.cluster))


def _row(spec: ResourceBindingSpec, fleet: Fleet, name: str, room: int) -> RoomRow | None:
    cluster = fleet[name]
    request = {**request_of(spec.replica_requirements), PODS: 1}
    reserved = fleet.reservations.all().get(name, ())
    best: RoomRow | None = None
    for resource, each in request.items():
        row = _of(cluster, resource, _amount(each), _reserved(reserved, resource), room)
        if row is not None and (best is None or row.free / row.each < best.free / best.each):
            best = row
    return best


def cores_asked(spec: ResourceBindingSpec, missing: int) -> float | None:
    """Cores that `missing` replicas ask for; None where nothing is said of one."""
    each = request_of(spec.replica_requirements).get("cpu")
    return None if each is None else _amount(each) * missing / _NANO


class ResourceAmount(msgspec.Struct, frozen=True, rename="camel"):
    """ResourceAmount of a resource of a cluster, in cores, bytes or Pods.

    `allocatable` less `requested` less `reserved` (for copies that were placed, and are not reported) is `free`.
    """

    resource: str
    allocatable: float
    requested: float
    reserved: float
    free: float

    @property
    def share(self) -> float:
        """Share that is requested or reserved."""
        return 1 - self.free / self.allocatable


def amounts_of(cluster: Cluster, reserved_there: Iterable[Reserved]) -> list[ResourceAmount]:
    """Amounts of a cluster, the shortest first; resources that it does not tell are left out."""
    there = tuple(reserved_there)
    found = (_amount_of(cluster, resource, there) for resource in RESOURCES)
    return sorted((each for each in found if each is not None), key=lambda each: -each.share)


def _amount_of(cluster: Cluster, resource: str, reserved_there: Iterable[Reserved]) -> ResourceAmount | None:
    summary = cluster.status.resource_summary
    allocatable = 0 if summary is None else _amount(summary.allocatable.get(resource, 0))
    if summary is None or allocatable <= 0:
        return None
    reserved = _reserved(reserved_there, resource)
    requested = _sum((summary.allocated, summary.allocating), resource)
    free = allocatable - requested - reserved
    return ResourceAmount(resource, allocatable / _NANO, requested / _NANO, reserved / _NANO, free / _NANO)


def counted_by_grade(clusters: Iterable[Cluster]) -> list[str]:
    """Clusters whose nodes the scheduler counts by grade (`spec.resourceModels`): each as the smallest of its grade."""
    return [each.name for each in clusters if _is_by_nodes(each)]


def free_cores(fleet: Fleet, name: str) -> float | None:
    """Cores that are left of a cluster's, less what is reserved; None where that is not known."""
    cores = _amount_of(fleet[name], CPU, fleet.reservations.all().get(name, ()))
    return None if cores is None else cores.free


def amounts_in(fleet: Fleet, name: str) -> list[ResourceAmount]:
    """Amounts of a cluster of a fleet, the shortest first."""
    return amounts_of(fleet[name], fleet.reservations.all().get(name, ()))


def _reserved(parts: Iterable[Reserved], resource: str) -> int:
    return sum(
        (_NANO if resource == PODS else _amount(part.resource_request.get(resource, 0))) * part.replicas
        for part in parts
    )


def _of(cluster: Cluster, resource: str, each: int, reserved: int, room: int) -> RoomRow | None:
    summary = cluster.status.resource_summary
    if summary is None or each <= 0:
        return None
    allocatable = _amount(summary.allocatable.get(resource, 0))
    requested = _sum((summary.allocated, summary.allocating), resource)
    free = allocatable - requested - reserved
    return RoomRow(
        cluster=cluster.name,
        resource=resource,
        allocatable=allocatable / _NANO,
        requested=requested / _NANO,
        reserved=reserved / _NANO,
        free=free / _NANO,
        each=each / _NANO,
        room=room,
        by_nodes=_is_by_nodes(cluster),
    )


def _is_by_nodes(cluster: Cluster) -> bool:
    summary = cluster.status.resource_summary
    return bool(summary is not None and cluster.spec.resource_models and summary.allocatable_modelings)


def _sum(parts: Iterable[Mapping[str, Quantity]], resource: str) -> int:
    return sum(_amount(part.get(resource, 0)) for part in parts)


def _amount(quantity: Quantity) -> int:
    """Amount in thousand-millionths; one that cannot be read counts as nothing. Holds: S10."""
    try:
        return nanos(quantity)
    except (ValueError, ArithmeticError):
        return 0
