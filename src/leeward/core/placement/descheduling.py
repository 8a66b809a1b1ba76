"""Descheduling: replicas that find no node in their cluster are given back, and the scheduler places them elsewhere.

    is_candidate     the binding is one whose replicas are shared out by room, and is at rest
    short_clusters   clusters to ask about: fewer replicas are ready than were assigned, by fresh evidence
    give_back        how many replicas each of these gives back

No ready replica is taken, none on an old number, and none while the brake is engaged. Returned replicas must find a
place in another cluster now: a Pod that waits is worth more than none, for a cluster may grow.
Karmada: pkg/descheduler; the same bindings and the same bounds. It gives back without asking whether there is a place.
Holds: S1, S4, S11.
"""

from collections.abc import Mapping

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.rules.bounds import placement_fault
from leeward.api.work import ResourceBindingSpec, TargetCluster
from leeward.core.copies.disruption import copies_of
from leeward.core.copies.evidence import is_current
from leeward.core.placement.replacement import first_of, most_of, place_anew
from leeward.core.placement.situation import situation_kind
from leeward.core.placement.snapshot import Snapshot, may_schedule
from leeward.core.scheduling import Placed, Unplaceable, needs_scheduling
from leeward.core.scheduling.assignment import mode_of

_BY_ROOM = ("DynamicWeight", "Aggregated")


def is_candidate(snapshot: Snapshot) -> bool:
    """Tells whether replicas of the binding may be given back at all: a Deployment, divided by room, and at rest."""
    binding, spec = snapshot.binding, snapshot.binding.spec
    return (
        not snapshot.brake
        and (spec.resource.api_version, spec.resource.kind) == ("apps/v1", "Deployment")
        and binding.metadata.deletion_timestamp is None
        and _is_divided_by_room(spec)
        and not spec.graceful_eviction_tasks
        and may_schedule(spec, snapshot.settings)
        and not placement_fault(spec.placement)
        and binding.status.scheduler_observed_generation == binding.metadata.generation
        and is_current(binding)
        and not needs_scheduling(binding, snapshot.clusters)
    )


def short_clusters(snapshot: Snapshot) -> tuple[str, ...]:
    """Clusters that are well, and have fewer ready replicas than were assigned. Nothing for no candidate."""
    return tuple(_missing(snapshot)) if is_candidate(snapshot) else ()


def give_back(snapshot: Snapshot, unschedulable: Mapping[str, int]) -> Mapping[str, int]:
    """Replicas by cluster; as many as find a place elsewhere, and empty where none does.

    `unschedulable` are those that have had no node for long, by cluster, of the clusters that have answered.
    """
    missing = _missing(snapshot) if is_candidate(snapshot) else dict[str, int]()
    most = {
        target.name: min(unschedulable[target.name], missing[target.name])
        for target in snapshot.binding.spec.clusters
        if target.name in missing and 0 < unschedulable.get(target.name, 0) <= target.replicas
    }
    found = most_of(sum(most.values()), lambda count: _find_place(snapshot, first_of(most, count)))
    return found or {}


def without_given_back(spec: ResourceBindingSpec, given_back: Mapping[str, int]) -> tuple[TargetCluster, ...]:
    """The targets that are left; one that has given back everything stays with none, as in Karmada."""
    return tuple(
        msgspec.structs.replace(target, replicas=target.replicas - given_back.get(target.name, 0))
        for target in spec.clusters
    )


def _is_divided_by_room(spec: ResourceBindingSpec) -> bool:
    if not spec.is_divided or spec.placement is None:
        return False
    mode = mode_of(spec.placement.replica_scheduling)
    return not isinstance(mode, Unplaceable) and mode in _BY_ROOM


def _missing(snapshot: Snapshot) -> Mapping[str, int]:
    """Assigned replicas that surely do not serve, in clusters that are well: the law lets them go. Holds: S1."""
    rows = copies_of(snapshot.binding.spec, snapshot.works, snapshot.clusters, snapshot.now).rows
    known = ((name, row) for name, row in rows.items() if row.known.since is not None)
    well = ((name, row) for name, row in known if row.home is not None and _is_well(row.home))
    return {name: row.assigned - row.at_most for name, row in well if row.assigned > row.at_most}


def _is_well(cluster: Cluster) -> bool:
    """Tells whether the cluster is Ready, and nothing is about to leave it: that is the scheduler's to move."""
    return cluster.is_ready and not cluster.is_being_deleted and not cluster.has_no_execute


def _find_place(snapshot: Snapshot, given_back: Mapping[str, int]) -> Mapping[str, int] | None:
    """Replicas that are given back; None where the scheduler would not place them elsewhere now."""
    binding = snapshot.binding
    left = without_given_back(binding.spec, given_back)
    spec = msgspec.structs.replace(binding.spec, clusters=left)
    is_exact = not situation_kind(snapshot.settings).spares_the_living
    result = place_anew(binding, spec, snapshot.clusters, snapshot.now, exact=is_exact)
    if not isinstance(result, Placed):
        return None
    placed = {target.name: target.replicas for target in result.clusters}
    stays = all(placed.get(target.name, 0) <= target.replicas for target in left if target.name in given_back)
    return given_back if stays else None
