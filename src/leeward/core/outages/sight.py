"""Sight of one application: what of its binding and its Works an outage of one cluster concerns, and its state by that.

A state is read from what others have decided and written: eviction tasks, the condition EvictionHeld, taints. A
replacement is healthy when it may be relied upon (`copies.availability`), as for the end of an eviction.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from kubeapi.core import Taint
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition, find_condition
from leeward.api.names import EVICTION_HELD_CONDITION, NOT_READY_TAINT, REPLACEMENT_HELD_CONDITION
from leeward.api.outage import MoveState
from leeward.api.work import Binding, GracefulEvictionTask, ResourceBindingSpec, Work
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.cluster_health.condition_taints import CONDITION_TAINTS, NO_EXECUTE, key_of
from leeward.core.cluster_health.outage import Outcome, held_when_due
from leeward.core.cluster_health.watched_time import ALWAYS, WatchedTime
from leeward.core.copies.availability import availability, wanted_by_itself
from leeward.core.copies.evidence import is_current
from leeward.core.eviction.blocked_evictions import why_braked
from leeward.core.eviction.due_evictions import decide_stay
from leeward.core.eviction.held_reasons import HOLDS, HeldReason, Hold

ApplicationKey = tuple[str, str]
"""Namespace and name of its binding; the namespace is empty for a ClusterResourceBinding."""
TOLERATED, NOT_EVICTED, NOT_COLLECTED = "Tolerated", "EvictionDisabled", "StatusCollectionFailed"
"""Reasons why something stays where nothing is due, as the condition ClusterOutage says them."""


@dataclass(frozen=True, slots=True)
class CopySight:
    """The copy of an application in the cluster, and what replaces it.

    `uid` is that of its template, `made_at` when its binding was made. `tolerated_seconds` is how long it tolerates
    what evicts, None for ever; `due_at` is when it is due, where that is known. `is_replaced`: all that is elsewhere is
    seen to serve. `is_behind`: it has left, and its old copy is not known to be cleaned up. `scheduled_at` is when its
    binding was scheduled last. `held_then` is why it will be held when it is due, where its binding foresees that.
    """

    kind: str
    name: str
    namespace: str
    targets: Mapping[str, int]
    is_here: bool
    uid: str = ""
    made_at: datetime | None = None
    task: GracefulEvictionTask | None = None
    hold: Condition | None = None
    tolerated_seconds: int | None = 0
    due_at: datetime | None = None
    is_replaced: bool = False
    is_behind: bool = False
    scheduled_at: datetime | None = None
    held_then: str = ""

    @property
    def left_at(self) -> datetime | None:
        """Instant at which it left: its task began, or where that is finished, it was last scheduled."""
        if self.task is not None:
            return self.task.creation_timestamp
        return None if self.is_here else self.scheduled_at

    @property
    def has_left(self) -> bool:
        """Tells whether it has left, as a whole or in part."""
        return self.task is not None or not self.is_here


@dataclass(frozen=True, slots=True)
class ClusterSight:
    """The lost cluster as applications are judged by: `braked` holds what is automatic, `evicts` is the switch."""

    cluster: Cluster
    now: datetime
    braked: bool = False
    evicts: bool = True


def sight_of(
    binding: Binding,
    lost: Cluster,
    clusters: Mapping[str, Cluster],
    work_in: Callable[[str], Work | None],
    now: datetime,
    watched: WatchedTime = ALWAYS,
) -> CopySight:
    """`work_in` gives the binding's Work in a cluster."""
    spec, name = binding.spec, lost.name
    targets = spec.assigned
    task = next((task for task in spec.graceful_eviction_tasks if task.from_cluster == name), None)
    holding = (EVICTION_HELD_CONDITION, REPLACEMENT_HELD_CONDITION)
    held = [find_condition(binding.status.conditions, each, "True") for each in holding]
    has_left = task is not None or name not in targets
    tolerated, due_at = _toleration(spec, lost, now, watched)
    return CopySight(
        kind=spec.resource.kind,
        name=spec.resource.name,
        namespace=spec.resource.namespace,
        targets=targets,
        is_here=name in targets,
        uid=spec.resource.uid,
        made_at=binding.metadata.creation_timestamp,
        task=task,
        hold=next((each for each in held if each is not None), None),
        tolerated_seconds=tolerated,
        due_at=due_at,
        is_replaced=has_left and _is_replaced(binding, name, clusters, work_in),
        is_behind=task is not None or (name not in targets and work_in(name) is not None),
        scheduled_at=binding.status.last_scheduled_time,
        held_then=held_when_due(binding, name),
    )


def _toleration(
    spec: ResourceBindingSpec, lost: Cluster, now: datetime, watched: WatchedTime
) -> tuple[int | None, datetime | None]:
    """Seconds for which the outage is tolerated from its NoExecute taint on, and the end of that, once the taint is
    there."""
    automatic = [taint for taint in lost.taints if key_of(taint) in CONDITION_TAINTS and taint.effect == NO_EXECUTE]
    taint = automatic[0] if automatic else Taint(key=NOT_READY_TAINT, effect=NO_EXECUTE)
    beginning = decide_stay((msgspec.structs.replace(taint, time_added=now),), spec.tolerations, now).due
    tolerated = None if beginning is None else int((beginning - now).total_seconds())
    return tolerated, decide_stay(automatic, spec.tolerations, now, watched).due


def _is_replaced(
    binding: Binding, left: str, clusters: Mapping[str, Cluster], work_in: Callable[[str], Work | None]
) -> bool:
    spec = binding.spec
    others = [target for target in spec.clusters if target.name != left]
    if spec.is_divided and sum(target.replicas for target in spec.clusters) < spec.replicas:
        return False
    return (
        (bool(others) or spec.asks_for_none)
        and is_current(binding)
        and all(_serves(work_in(t.name), clusters.get(t.name), t.replicas) for t in others)
    )


def _serves(work: Work | None, cluster: Cluster | None, replicas: int) -> bool:
    """Tells whether all replicas of a copy surely serve, or all that its own cluster wants. One whose own rollout
    stands still may, as for the end of an eviction."""
    known = availability(work, cluster, replicas)
    return known.is_whole or known.at_least >= max(1, replicas) or wanted_by_itself(work, cluster) > 0


_STATES = {Hold.HELD: MoveState.HELD, Hold.KEPT: MoveState.KEPT, Hold.WAITING: MoveState.DUE}


def decide_state(sight: CopySight, before: MoveState | None, there: ClusterSight) -> tuple[MoveState, str, str]:
    """The state, and the reason and the sentence of what is held or kept. What has moved stays so, unless it is there
    again when the cluster is lost anew."""
    if before is MoveState.MOVED and (not sight.is_here or there.cluster.is_ready):
        return MoveState.MOVED, "", ""
    hold = _hold_of(sight, there)
    if sight.has_left:
        if sight.is_replaced and not (sight.is_here and hold is not None):
            return MoveState.MOVED, "", ""
        if hold is not None and hold[0] is MoveState.HELD:
            return hold
        return MoveState.MOVING, "", ""
    if there.cluster.is_ready:
        return MoveState.RETURNED, "", ""
    return hold or _of_what_is_not_due(sight, there)


def _hold_of(sight: CopySight, there: ClusterSight) -> tuple[MoveState, str, str] | None:
    """Hold by the condition EvictionHeld, where it speaks of this cluster: something is due, or on its way out."""
    is_due = sight.due_at is not None and sight.due_at <= there.now
    if there.cluster.is_ready and sight.task is None:
        return None
    if sight.hold is None or not (is_due or sight.has_left):
        return None
    reason, message = sight.hold.reason, sight.hold.message
    state = MoveState.DUE if reason == HeldReason.NOT_CONFIRMED else _STATES[HOLDS.get(reason, Hold.HELD)]
    return state, reason, message


def _of_what_is_not_due(sight: CopySight, there: ClusterSight) -> tuple[MoveState, str, str]:
    if not looks_dead(there.cluster):
        return MoveState.KEPT, NOT_COLLECTED, "a cluster that could not be observed is not taken for dead"
    if not there.evicts:
        return MoveState.KEPT, NOT_EVICTED, "evictions are switched off"
    if sight.tolerated_seconds is None:
        return MoveState.KEPT, TOLERATED, "the policy tolerates the outage for ever"
    if there.braked:
        return MoveState.HELD, HeldReason.BRAKE_ENGAGED.value, why_braked(HeldReason.BRAKE_ENGAGED.value)
    return MoveState.DUE, Outcome.HELD.value if sight.held_then else "", sight.held_then
