"""Service after a change: how many replicas of an application serve, of those that it is to have.

    asked     replicas of a divided application; of any other, each copy with all of its replicas. Where autoscalers in
              the members have made more, as many as run
    serves    replicas in clusters that are well, less those that wait for a node there
    waiting   replicas that division gives to a cluster beyond what its nodes hold

A cluster with resource models counts as nodes of their grades, any other as one pool of all that is free.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple

import msgspec

from kubeapi.quantity import Quantity
from kubeapi.untrusted import mapping_in
from leeward.answers.expected_reports import (
    MOST_NODES,
    MOST_PLACED,
    divisors_of,
    nodes_by_grade,
    put_on_nodes,
    without_what_waits,
)
from leeward.answers.fleet_state import BindingName, FleetState, key_of_binding
from leeward.answers.imagined import ImaginedChange
from leeward.answers.projection import Projection, purged_in
from leeward.api.cluster import Cluster
from leeward.api.work import Binding, ResourceBindingSpec, Work
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.cluster_health.outage import nodes_down
from leeward.core.copies.availability import availability
from leeward.core.copies.evidence import is_about_present
from leeward.core.interpreter.plausible import plausible_count
from leeward.planning.capacity import Capacity, Demand, request_of
from leeward.planning.reservations import parts_of

_COUNTS = ("replicas", "updatedReplicas")
"""Fields of a status by which a copy's size is known: Pods that a rollout makes beside the others are no replicas."""


@dataclass(frozen=True, slots=True)
class Service:
    """`waiting` are replicas by cluster; they are part of those that are asked for and do not serve."""

    asked: int
    serves: int
    waiting: Mapping[str, int] = field(default_factory=dict[str, int])


def services_in(
    state: FleetState, change: ImaginedChange, found: Projection, keys: Collection[BindingName]
) -> dict[BindingName, Service]:
    """Service of these applications at the worst moment of a projection."""
    at = found.worst
    well = {name for name, cluster in at.clusters.items() if is_well(cluster)} - change.fails
    waiting = _waiting(state, change, found, well)
    return {key: _service(state, change, key, at.bindings[key], well, waiting.get(key, {})) for key in keys}


def is_well(cluster: Cluster) -> bool:
    """Tells whether what runs in the cluster serves, as far as is known of the cluster."""
    return not looks_dead(cluster) and not nodes_down(cluster)


def _service(
    state: FleetState,
    change: ImaginedChange,
    key: BindingName,
    then: Binding,
    well: Set[str],
    waiting: Mapping[str, int],
) -> Service:
    before, spec, works = state.bindings[key].spec, then.spec, state.works_of(key)
    each = 0 if spec.asks_for_none else max(1, spec.replicas)
    ran = {} if key in change.bindings else grown_copies(before, works)
    after = {target.name: target.replicas if spec.is_divided else each for target in spec.clusters}
    after = {name: max(count, ran.get(name, 0)) for name, count in after.items()}
    had = {target.name: max(target.replicas, ran.get(target.name, 0)) for target in before.clusters}
    if purged_in(spec) - well:
        after = {name: min(count, _size_of(works.get(name)) or had.get(name, 0)) for name, count in after.items()}
    if spec.is_divided:
        asked = max(spec.replicas, sum(had.values())) if ran else spec.replicas
    else:
        asked = sum(after.values()) if after else each * max(1, len(before.clusters))
    crowded = {name: state.clusters[name] for name in had if name in state.crowded}
    unready = {name: _unready(had[name], cluster, works.get(name)) for name, cluster in crowded.items()}
    serves = sum(
        max(0, count - min(count, unready.get(name, 0)) - waiting.get(name, 0))
        for name, count in after.items()
        if name in well
    )
    return Service(asked, min(asked, serves), waiting)


def grown_copies(before: ResourceBindingSpec, works: Mapping[str, Work]) -> dict[str, int]:
    """Sizes of copies that are larger than was assigned: autoscalers in their members have made them so."""
    if not before.is_workload:
        return {}
    sizes = {target.name: _size_of(works.get(target.name)) for target in before.clusters}
    return {t.name: sizes[t.name] for t in before.clusters if sizes[t.name] > max(t.replicas, 0)}


def _size_of(work: Work | None) -> int:
    if work is None or not is_about_present(work):
        return 0
    statuses = [mapping_in({"status": each.status}, "status") for each in work.status.manifest_statuses]
    counts = [
        min(plausible_count(each[name]) for name in _COUNTS if name in each) for each in statuses if _COUNTS[0] in each
    ]
    return max(counts, default=0)


def _unready(count: int, cluster: Cluster, work: Work | None) -> int:
    """Replicas of a copy that are not ready, in a cluster where Pods wait for a node."""
    known = availability(work, cluster, count)
    return 0 if known.since is None else max(0, count - known.told)


class _Room:
    """Room of a cluster: what its nodes hold, and all that is free together."""

    def __init__(self, cluster: Cluster, requests: Iterable[Mapping[str, Quantity]]) -> None:
        """`requests` are those of all that is there, or comes. Raises: ValueError, ArithmeticError for a report that
        cannot be read."""
        self._nodes: list[dict[str, Decimal]] = []
        self._sum: Capacity | None = None
        if cluster.status.resource_summary is None:
            return
        summary = without_what_waits(cluster, cluster.status.resource_summary)
        cluster = msgspec.structs.replace(
            cluster, status=msgspec.structs.replace(cluster.status, resource_summary=summary)
        )
        self._sum = Capacity.of(cluster)
        if self._sum is not None:
            self._sum.nodes = None
        if cluster.spec.resource_models and 0 < sum(each.count for each in summary.allocatable_modelings) <= MOST_NODES:
            self._nodes = nodes_by_grade(cluster, summary, divisors_of(requests))

    def take(self, request: Mapping[str, Quantity], replicas: int) -> int:
        """Takes replicas from the room, and tells how many find none; gives room back for less than none.

        Raises: ValueError, ArithmeticError.
        """
        if self._sum is None:
            return 0
        placed = min(replicas, self._sum.replicas(Demand.of(request)))
        if self._nodes and abs(placed) <= MOST_PLACED:
            placed = put_on_nodes(self._nodes, request, placed)
        self._sum.take(request, placed)
        return max(0, replicas - placed)


def _waiting(
    state: FleetState, change: ImaginedChange, found: Projection, well: Set[str]
) -> dict[BindingName, dict[str, int]]:
    """Replicas that wait for a node, by application and cluster: who comes last waits.

    A copy that leaves a cluster makes room before anything comes. Nothing comes beside a copy that is purged.
    """
    there = {key_of_binding(binding): spec for binding, spec in state.coming}
    by_cluster: dict[str, list[_Arrival]] = defaultdict(list)
    for each in _arrivals(state, change, found, there):
        is_made = each.more <= 0 or not purged_in(found.worst.bindings[each.key].spec) - well
        if each.cluster in well and is_made:
            by_cluster[each.cluster].append(each)
    waiting: dict[BindingName, dict[str, int]] = defaultdict(dict)
    for name, changes in by_cluster.items():
        with suppress(ValueError, ArithmeticError):
            room = _Room(state.clusters[name], (*state.requests_in(name), *(each.request for each in changes)))
            for each in sorted(changes, key=lambda each: each.more > 0):
                if missed := room.take(each.request, each.more):
                    waiting[each.key][name] = waiting[each.key].get(name, 0) + missed
    return waiting


class _Arrival(NamedTuple):
    """Arrival of so many replicas `more` of an application in a cluster, each with this request."""

    key: BindingName
    cluster: str
    request: Mapping[str, Quantity]
    more: int


def _arrivals(
    state: FleetState, change: ImaginedChange, found: Projection, there: Mapping[BindingName, ResourceBindingSpec]
) -> Iterator[_Arrival]:
    """Changes of what clusters run, in the order in which they come: what is on its way already is first."""
    later = sorted(found.departures, key=lambda key: found.departures[key][0].at)
    for key in dict.fromkeys((*there, *later, *found.decisions)):
        spec, before = found.worst.bindings[key].spec, there.get(key, state.bindings[key].spec)
        grown = {} if key in change.bindings else grown_copies(before, state.works_of(key))
        had, has = ({target.name: target for target in each.clusters} for each in (before, spec))
        for name in {**had, **has}:
            target = has.get(name)
            if target is None:
                parts = [(part.requirements, -part.replicas) for part in parts_of(spec, {}, had[name])]
            elif target.replicas > grown.get(name, 0):
                count = max(had[name].replicas, grown.get(name, 0)) if name in had else 0
                told = parts_of(spec, {name: count} if name in had else {}, target)
                parts = [(part.requirements, part.replicas) for part in told]
            else:
                parts = []
            yield from (_Arrival(key, name, request_of(needs), more) for needs, more in parts if more)
