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
PODS = "pods"


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
        others = sum(_amount(part.resource_request.get(resource, 0)) * part.replicas for part in reserved)
        if resource == PODS:
            others = sum(part.replicas for part in reserved) * _NANO
        row = _of(cluster, resource, _amount(each), others, room)
        if row is not None and (best is None or row.free / row.each < best.free / best.each):
            best = row
    return best


def cores_asked(spec: ResourceBindingSpec, missing: int) -> float | None:
    """Cores that `missing` replicas ask for; None where nothing is said of one."""
    each = request_of(spec.replica_requirements).get("cpu")
    return None if each is None else _amount(each) * missing / _NANO


class Cores(msgspec.Struct, frozen=True, rename="camel"):
    """`allocatable` less `requested` less `reserved` (for copies that were placed, and are not reported) is `free`."""

    allocatable: float
    requested: float
    reserved: float
    free: float


def cores_of(cluster: Cluster, reserved_there: Iterable[Reserved]) -> Cores | None:
    """A cluster's cores; None where they are not known."""
    summary = cluster.status.resource_summary
    if summary is None:
        return None
    reserved = sum(_amount(part.resource_request.get("cpu", 0)) * part.replicas for part in reserved_there)
    requested = _sum((summary.allocated, summary.allocating), "cpu")
    allocatable = _amount(summary.allocatable.get("cpu", 0))
    return Cores(allocatable / _NANO, requested / _NANO, reserved / _NANO, (allocatable - requested - reserved) / _NANO)


def free_cores(fleet: Fleet, name: str) -> float | None:
    """Cores that are left of a cluster's, less what is reserved; None where that is not known."""
    cores = cores_of(fleet[name], fleet.reservations.all().get(name, ()))
    return None if cores is None else cores.free


def used_share(fleet: Fleet, name: str) -> float | None:
    """Share of a cluster's cores that is requested or reserved; None where that is not known."""
    cores = cores_of(fleet[name], fleet.reservations.all().get(name, ()))
    return None if cores is None or cores.allocatable <= 0 else 1 - cores.free / cores.allocatable


def _of(cluster: Cluster, resource: str, each: int, reserved: int, room: int) -> RoomRow | None:
    summary = cluster.status.resource_summary
    if summary is None or each <= 0:
        return None
    allocatable = _amount(summary.allocatable.get(resource, 0))
    requested = _sum((summary.allocated, summary.allocating), resource)
    free = allocatable - requested - reserved
    by_nodes = bool(cluster.spec.resource_models and summary.allocatable_modelings)
    return RoomRow(
        cluster=cluster.name,
        resource=resource,
        allocatable=allocatable / _NANO,
        requested=requested / _NANO,
        reserved=reserved / _NANO,
        free=free / _NANO,
        each=each / _NANO,
        room=room,
        by_nodes=by_nodes,
    )


def _sum(parts: Iterable[Mapping[str, Quantity]], resource: str) -> int:
    return sum(_amount(part.get(resource, 0)) for part in parts)


def _amount(quantity: Quantity) -> int:
    """Amount in thousand-millionths; what cannot be read is nothing. Holds: S10."""
    try:
        return nanos(quantity)
    except (ValueError, ArithmeticError):
        return 0
