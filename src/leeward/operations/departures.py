"""Departures from one cluster: which of its applications move, are due at which instant, are held, or stay."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kubeapi.core import Taint, Toleration
from leeward.api.cluster import Cluster
from leeward.api.names import NOT_READY_TAINT
from leeward.api.work import Binding, is_application
from leeward.core.cluster_health.condition_taints import NO_EXECUTE
from leeward.core.cluster_health.outage import departures_in, held_when_due
from leeward.core.cluster_health.watched_time import WatchedTime
from leeward.core.eviction.due_evictions import decide_stay
from leeward.core.eviction.held_reasons import Hold
from leeward.operations.findings import hold_of


@dataclass(slots=True)
class Departures:
    """Numbers of applications. `due` leave at their instants, `kept` foresee a hold at theirs; `resting` are never
    due, and each of `holds` is held already."""

    moving: int = 0
    due: Counter[datetime] = field(default_factory=Counter[datetime])
    kept: Counter[datetime | None] = field(default_factory=Counter["datetime | None"])
    holds: Counter[Hold] = field(default_factory=Counter[Hold])
    resting: int = 0

    @property
    def total(self) -> int:
        return self.moving + self.due.total() + self.kept.total() + self.holds.total() + self.resting


def departures_from(
    cluster: Cluster, bindings: Iterable[Binding], now: datetime, watched: WatchedTime, *, is_braked: bool = False
) -> Departures:
    """`is_braked`: the brake holds all that a taint of its outage would drive out."""
    found = Departures()
    for binding in filter(is_application, bindings):
        spec = binding.spec
        if any(task.from_cluster == cluster.name for task in spec.graceful_eviction_tasks):
            found.moving += 1
        elif any(target.name == cluster.name for target in spec.clusters):
            marked = departures_in(binding.status.aggregated_status).get(cluster.name)
            hold, due = hold_of(binding), decide_stay(cluster.taints, spec.tolerations, now, watched).due or marked
            if hold is not None:
                found.holds[hold[0]] += 1
            elif is_braked and not _tolerates_for_ever(spec.tolerations, now):
                found.holds[Hold.HELD] += 1
            elif held_when_due(binding, cluster.name):
                found.kept[due] += 1
            elif due is not None:
                found.due[due] += 1
            else:
                found.resting += 1
    return found


def _tolerates_for_ever(tolerations: Sequence[Toleration], now: datetime) -> bool:
    taint = Taint(NOT_READY_TAINT, effect=NO_EXECUTE, time_added=now)
    return decide_stay((taint,), tolerations, now).due is None
