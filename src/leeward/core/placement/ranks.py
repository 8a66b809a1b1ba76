"""Ranks: which clusters are asked first for the replicas that a binding needs.

    TAKES       takes all that fits; a target keeps its replicas
    TRIED       the release was in vain there, or nothing is dispatched to it
    HELD_DOWN   it went up and down too often
    LEFT        it is being left, and is well again: its eviction is taken back
    KEPT        keeps its replicas, and gets no more: a target that looks dead, or of which a part leaves
    DONE        a Job has ended there: keeps its replicas for ever, in whatever affinity term, and gets no more
    OWN         is to be left, and keeps replicas without another place, in whatever affinity term
    NEVER       gets and keeps nothing

The scheduler is asked with the first rank, and with the next one only where it finds no place. A kept target is no part
of the question, nor are the groups that it fills; OWN fills none.

Holds: S2, S3, S11, C1, C2. Karmada asks once, with all clusters.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum

import msgspec

from kubeapi.codec import encode
from kubeapi.toleration import untolerated_taint
from leeward.api.cluster import Cluster
from leeward.api.policy import Placement
from leeward.api.work import Binding, ResourceBindingSpec, TargetCluster
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.cluster_health.flap_damping import is_held_down, tolerating_hold_down
from leeward.core.eviction.due_evictions import decide_stay
from leeward.core.placement.concern import is_unplaced
from leeward.core.scheduling import ClusterArrays, Placed, Trace, Unplaceable, schedule
from leeward.core.scheduling.affinity import is_in_term
from leeward.core.scheduling.cluster_arrays import ClusterView
from leeward.core.scheduling.selection import is_limited
from leeward.core.scheduling.spread_fields import constraints_beside

NOBODY_ALIVE = Unplaceable("Error", "no cluster that is alive would hold a copy", {})


class ClusterRank(IntEnum):
    TAKES = 0
    TRIED = 1
    HELD_DOWN = 2
    LEFT = 3
    KEPT = 4
    DONE = 5
    OWN = 6
    NEVER = 7


Ranks = Mapping[str, ClusterRank]
"""Ranks of clusters; all others have the first one, or are held down."""
NO_RANKS: Ranks = {}


def done_in(ended: Iterable[str], spec: ResourceBindingSpec, clusters: Mapping[str, Cluster]) -> Ranks:
    """Ranks of the clusters in which a Job has `ended` that is to be done once, and not in each cluster."""
    return {name: ClusterRank.DONE for name in ended if is_limited(spec, clusters)}


def has_ended(binding: Binding, done: Ranks) -> bool:
    """Tells whether all parts of a Job have ended that have a place, and none lacks one."""
    return set() < binding.spec.assigned.keys() <= done.keys() and not is_unplaced(binding)


@dataclass(frozen=True, slots=True)
class RankedQuestion:
    """A question to the scheduler, rank by rank up to `upto`.

    `fails_over`: it is asked for copies that leave. Then no staying copy moves, and no result is in clusters that look
    dead alone. `around`: in any affinity term.
    """

    binding: Binding
    fleet: ClusterArrays
    now: datetime
    upto: ClusterRank = ClusterRank.LEFT
    trace: Trace | None = None
    fails_over: bool = True
    around: bool = False

    def ask(self, spec: ResourceBindingSpec, ranks: Ranks) -> Placed | Unplaceable:
        """A place for the replicas that `spec` lacks."""
        result = self._ask_up_to(ClusterRank.TAKES, spec, ranks)
        for rank in (ClusterRank.TRIED, ClusterRank.HELD_DOWN, ClusterRank.LEFT):
            if isinstance(result, Placed) or rank > self.upto:
                return result
            if rank in ranks.values() or (rank is ClusterRank.HELD_DOWN and self._is_held_down(result)):
                result = self._ask_up_to(rank, spec, ranks)
        return result

    def _is_held_down(self, result: Unplaceable) -> bool:
        """Tells whether clusters that are held down were not considered."""
        return any(is_held_down(self.fleet[name]) for name in result.rejected)

    def _ask_up_to(self, rank: ClusterRank, spec: ResourceBindingSpec, ranks: Ranks) -> Placed | Unplaceable:
        kept = tuple(target for target in spec.clusters if rank < ranks.get(target.name, rank) < ClusterRank.NEVER)
        held = sum(target.replicas for target in kept)
        if spec.is_divided and held >= spec.replicas:
            if self.fails_over:
                return NOBODY_ALIVE
            if held == spec.replicas:
                return _joined(Placed((), self.binding.status.scheduler_observing_affinity_name), kept)
            kept = ()
        asked = _asked_of(rank, spec, ranks)
        filling = [target.name for target in kept if ranks[target.name] is not ClusterRank.OWN]
        result = schedule(
            _without_kept(asked, kept, len(filling)),
            self.binding.status,
            candidates(asked, self.fleet, self.now, [name for name, each in ranks.items() if each > rank]),
            keep_assigned=self.fails_over,
            trace=self.trace,
            around=self.around,
            beside=tuple(self.fleet[name] for name in filling if name in self.fleet),
        )
        if isinstance(result, Unplaceable):
            return result
        unfit = {*self._lost(result), *self._outside(spec, result.affinity_name, kept, ranks)}
        if unfit:
            return self._ask_up_to(rank, spec, {**ranks, **dict.fromkeys(unfit, ClusterRank.NEVER)})
        return _joined(result, kept) if result.clusters or not self.fails_over else NOBODY_ALIVE

    def _lost(self, result: Placed) -> Iterator[str]:
        """Clusters of a failover's result that look dead: their taint is another controller's write."""
        return (t.name for t in result.clusters if self.fails_over and is_copy_lost(self.fleet.get(t.name)))

    def _outside(
        self, spec: ResourceBindingSpec, term: str, kept: tuple[TargetCluster, ...], ranks: Ranks
    ) -> Iterator[str]:
        """Targets that may keep nothing, since they are not in the affinity term of the result."""
        bound = (target.name for target in kept if ranks[target.name] < ClusterRank.DONE)
        return (name for name in bound if not is_in_term(spec, term, self.fleet.get(name)))


def _asked_of(rank: ClusterRank, spec: ResourceBindingSpec, ranks: Ranks) -> ResourceBindingSpec:
    """The part of `spec` that this rank is asked for: no targets that keep nothing, no evictions that it takes back."""
    out = {name for name, each in ranks.items() if each is ClusterRank.NEVER or each is rank is ClusterRank.LEFT}
    if out:
        clusters = tuple(target for target in spec.clusters if ranks.get(target.name) is not ClusterRank.NEVER)
        tasks = tuple(task for task in spec.graceful_eviction_tasks if task.from_cluster not in out)
        spec = msgspec.structs.replace(spec, clusters=clusters, graceful_eviction_tasks=tasks)
    return tolerating_hold_down(spec) if rank >= ClusterRank.HELD_DOWN else spec


def find_replacement(
    binding: Binding,
    left: ResourceBindingSpec,
    fleet: ClusterArrays,
    now: datetime,
    ranks: Ranks = NO_RANKS,
    upto: ClusterRank = ClusterRank.TRIED,
    trace: Trace | None = None,
) -> Placed | Unplaceable:
    """A place for all that is missing in `left`. Targets that are lost, or leave in part, get no more. `trace` is told
    why."""
    parted = {task.from_cluster for task in left.graceful_eviction_tasks if left.is_divided}
    kept = (t.name for t in left.clusters if t.name in parted or is_copy_lost(fleet.get(t.name)))
    of_kept = {name: max(ClusterRank.KEPT, ranks.get(name, ClusterRank.KEPT)) for name in kept}
    return RankedQuestion(binding, fleet, now, upto, trace).ask(left, {**ranks, **of_kept})


def candidates(
    spec: ResourceBindingSpec, fleet: ClusterArrays, now: datetime, but: Collection[str] = ()
) -> ClusterView:
    """All clusters but these, and but those that a copy would have to leave again at once (C1)."""
    tolerations = spec.tolerations
    targets = {target.name for target in spec.clusters}

    def leaves_at(cluster: Cluster) -> datetime | None:
        taints = cluster.taints
        tolerated = untolerated_taint(taints, tolerations) is None
        return decide_stay(taints, tolerations, now).due if tolerated else None

    return fleet.staying(encode(tolerations), leaves_at, now, targets, but)


def is_copy_lost(cluster: Cluster | None) -> bool:
    """Tells whether a copy in the cluster counts as lost: the cluster looks dead, or leaves the fleet."""
    return cluster is None or cluster.is_being_deleted or looks_dead(cluster)


def _joined(result: Placed, kept: tuple[TargetCluster, ...]) -> Placed:
    """The result with the targets that keep something, by name."""
    if not kept:
        return result
    return Placed(tuple(sorted((*result.clusters, *kept), key=lambda target: target.name)), result.affinity_name)


def _without_kept(spec: ResourceBindingSpec, kept: tuple[TargetCluster, ...], filling: int) -> ResourceBindingSpec:
    """The part that is left to place: neither these replicas, nor so many groups of a constraint on clusters."""
    if not kept:
        return spec
    placement = spec.placement or Placement()
    constraints = constraints_beside(placement.spread_constraints, filling, len(kept))
    held = sum(target.replicas for target in kept)
    return msgspec.structs.replace(
        spec,
        clusters=tuple(target for target in spec.clusters if target not in kept),
        replicas=spec.replicas - held if spec.is_divided else spec.replicas,
        placement=msgspec.structs.replace(placement, spread_constraints=constraints),
    )
