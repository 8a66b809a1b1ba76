"""What must leave a cluster: NoExecute taints against tolerations, to the second.

Karmada: pkg/controllers/cluster (taint manager), pkg/util/helper (taints); same, proven by its recorded cases.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from leeward.api.cluster import Cluster
from leeward.api.core import Taint, Toleration
from leeward.api.policy import FailoverBehavior
from leeward.api.work import ResourceBindingSpec
from leeward.core.failover.taints import NO_EXECUTE
from leeward.core.toleration import tolerates

LAST_RESORT_SECONDS = 1800
"""How long taints must have stood before what they drive out may go to a cluster that is held down (C1)."""


@dataclass(frozen=True, slots=True)
class Stay:
    """How long a copy may stay under the taints: evict when `due` has come; None is for ever.

    `untolerated` names the taints that end it, for people.
    """

    due: datetime | None
    untolerated: tuple[Taint, ...] = ()

    def is_over(self, now: datetime) -> bool:
        return self.due is not None and self.due <= now


def decide_stay(taints: Sequence[Taint], tolerations: Sequence[Toleration], now: datetime) -> Stay:
    """A taint without a toleration ends the stay now. Else it ends at the earliest `timeAdded + tolerationSeconds`

    over all pairs of a taint and a toleration that was used and tolerates it.
    """
    harmful = [taint for taint in taints if taint.effect == NO_EXECUTE]
    used: list[Toleration] = []
    for taint in harmful:
        toleration = next((t for t in tolerations if tolerates(t, taint)), None)
        if toleration is None:
            return Stay(now, tuple(t for t in harmful if not any(tolerates(o, t) for o in tolerations)))
        used.append(toleration)
    ends = [
        (taint.time_added + timedelta(seconds=toleration.toleration_seconds), taint)
        for toleration in used
        if toleration.toleration_seconds is not None
        for taint in harmful
        if taint.time_added is not None and tolerates(toleration, taint)
    ]
    if not ends:
        return Stay(None)
    due = min(end for end, _ in ends)
    return Stay(due, tuple(dict.fromkeys(taint for end, taint in ends if end == due)))


@dataclass(frozen=True, slots=True)
class Eviction:
    """A cluster that the binding leaves now, and what makes it leave: taints, or `why` in words, for people."""

    cluster: str
    taints: tuple[Taint, ...] = ()
    why: str = "where the copy has failed"

    @property
    def cause(self) -> str:
        return f"which has the taint {', '.join(map(str, self.taints))}" if self.taints else self.why


def due_evictions(
    spec: ResourceBindingSpec, fleet: Mapping[str, Cluster], now: datetime
) -> tuple[tuple[Eviction, ...], datetime | None]:
    """The targets whose stay is over, and when the next one's ends."""
    tolerations = spec.placement.cluster_tolerations if spec.placement else ()
    due: list[Eviction] = []
    later: list[datetime] = []
    for target in spec.clusters:
        cluster = fleet.get(target.name)
        if cluster is None:
            continue
        stay = decide_stay(cluster.spec.taints, tolerations, now)
        if stay.is_over(now):
            due.append(Eviction(target.name, stay.untolerated))
        elif stay.due is not None:
            later.append(stay.due)
    return tuple(due), min(later, default=None)


def last_resort_at(due: Sequence[Eviction], now: datetime) -> datetime:
    """From when on what leaves may go to clusters that are held down, where no other takes it."""
    since = (min((t.time_added or now for t in eviction.taints), default=now) for eviction in due)
    return max(since, default=now) + timedelta(seconds=LAST_RESORT_SECONDS)


def replicas_in(spec: ResourceBindingSpec, cluster: str) -> int:
    return sum(target.replicas for target in spec.clusters if target.name == cluster)


PurgeMode = Literal["Gracefully", "Directly"]


def purge_mode(failover: FailoverBehavior | None, default: str) -> PurgeMode:
    """`Gracefully` or `Directly`: the policy's word, else the flag's."""
    if failover is not None and failover.cluster is not None:
        return failover.cluster.purge_mode or "Gracefully"
    return "Directly" if default == "Directly" else "Gracefully"
