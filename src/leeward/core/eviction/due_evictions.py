"""Due evictions: NoExecute taints against tolerations, to the second.

Karmada: pkg/controllers/cluster (taint manager), pkg/util/helper (taints); same, proven by its recorded cases.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from kubeapi.core import Taint, Toleration
from kubeapi.toleration import tolerates
from leeward.api.cluster import Cluster
from leeward.api.names import (
    CONDITION_TAINT_KEYS,
    DRAIN_BUDGET_ANNOTATION,
    OUTAGE_CONFIRMED_ANNOTATION,
    POLICY_TAINTS_CONFIRMED_ANNOTATION,
)
from leeward.api.policy import FailoverBehavior
from leeward.api.purge_mode import DEFAULT_PURGE_MODE, PurgeMode
from leeward.api.work import ResourceBindingSpec
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.cluster_health.condition_taints import CONDITION_TAINTS, NO_EXECUTE, key_of, policy_taints
from leeward.core.cluster_health.pending_condition import is_recovering
from leeward.core.cluster_health.ready_condition import unobserved
from leeward.core.cluster_health.watched_time import ALWAYS, UNKEPT, Attention, WatchedTime

CENTURIES = 10**10
"""Seconds; the largest number that the API takes means for ever."""
MOST_DIGITS = 9
"""Most digits of a drain's budget: more is no bound for anybody, and Python reads no number of thousands of digits."""
LAST_RESORT_SECONDS = 1800
"""Seconds for which taints must have stood before what they drive out may go to a cluster that is held down (C1)."""


@dataclass(frozen=True, slots=True)
class Stay:
    """Time that a copy may stay under the taints: it is evicted when `due` has come; None is for ever.

    `untolerated` names the taints that end it, for people.
    """

    due: datetime | None
    untolerated: tuple[Taint, ...] = ()

    def is_over(self, now: datetime) -> bool:
        return self.due is not None and self.due <= now


def decide_stay(
    taints: Sequence[Taint], tolerations: Sequence[Toleration], now: datetime, watched: WatchedTime = ALWAYS
) -> Stay:
    """A taint without a toleration ends the stay now. Else it ends at the earliest `timeAdded + tolerationSeconds`

    over all pairs of a taint and a toleration that was used and tolerates it. Time that nobody watched does not count.
    """
    harmful = [taint for taint in taints if taint.effect == NO_EXECUTE]
    used: list[Toleration] = []
    for taint in harmful:
        toleration = next((t for t in tolerations if tolerates(t, taint)), None)
        if toleration is None:
            return Stay(now, tuple(t for t in harmful if not any(tolerates(o, t) for o in tolerations)))
        used.append(toleration)
    ends = [
        (watched.moved(taint.time_added) + timedelta(seconds=max(-CENTURIES, min(seconds, CENTURIES))), taint)
        for toleration in used
        if (seconds := toleration.toleration_seconds) is not None
        for taint in harmful
        if taint.time_added is not None and tolerates(toleration, taint)
    ]
    if not ends:
        return Stay(None)
    due = min(end for end, _ in ends)
    return Stay(due, tuple(dict.fromkeys(taint for end, taint in ends if end == due)))


@dataclass(frozen=True, slots=True)
class Eviction:
    """A cluster that the binding leaves now, and the cause: taints, or `why` in words, for people."""

    cluster: str
    taints: tuple[Taint, ...] = ()
    why: str = "where the copy has failed"

    @property
    def cause(self) -> str:
        return f"which has the taint {', '.join(map(str, self.taints))}" if self.taints else self.why


@dataclass(frozen=True, slots=True)
class DueEvictions:
    """The targets whose stay is over, and when the next one's ends.

    `unconfirmed` would be over as well, but its outage was not seen anew since the present heartbeat began.
    """

    due: tuple[Eviction, ...] = ()
    next_due: datetime | None = None
    unconfirmed: tuple[Eviction, ...] = ()


def due_evictions(
    spec: ResourceBindingSpec, fleet: Mapping[str, Cluster], now: datetime, attention: Attention = UNKEPT
) -> DueEvictions:
    """Copies that must leave now, by taints that count. Without a heartbeat no record of taints is kept. Holds: S13."""
    tolerations = spec.tolerations
    due: list[Eviction] = []
    later: list[datetime] = []
    unconfirmed: list[Eviction] = []
    for target in spec.clusters:
        cluster = fleet.get(target.name)
        if cluster is not None and not attention.is_kept:
            cluster = cluster.without_record
        if cluster is None or not cluster.has_no_execute:
            continue
        counting = [taint for taint in cluster.taints if may_evict(taint, cluster, attention)]
        stay = decide_stay(counting, tolerations, now, attention.time)
        if stay.is_over(now):
            due.append(Eviction(target.name, stay.untolerated))
            continue
        if stay.due is not None:
            later.append(stay.due)
        if len(counting) == len(cluster.taints):
            continue
        full = decide_stay(cluster.taints, tolerations, now, attention.time)
        if full.is_over(now):
            unconfirmed.append(Eviction(target.name, full.untolerated))
        elif full.due is not None:
            later.append(full.due)
    return DueEvictions(tuple(due), min(later, default=None), tuple(unconfirmed))


def may_evict(taint: Taint, cluster: Cluster, attention: Attention) -> bool:
    """Tells whether a taint may evict. A taint of the control plane, or of a ClusterTaintPolicy, rests on a condition.

    That must have been seen anew since the present heartbeat began. The cluster must not answer again meanwhile, nor be
    out of sight for a failure of our own. Taints by hand are a person's wish. Holds: S13.
    """
    if not attention.is_kept or taint.effect != NO_EXECUTE:
        return True
    if key_of(taint) in policy_taints(cluster):
        confirmed = cluster.metadata.annotations.get(POLICY_TAINTS_CONFIRMED_ANNOTATION)
    elif key_of(taint) in CONDITION_TAINTS:
        confirmed = None if cluster.is_ready else cluster.metadata.annotations.get(OUTAGE_CONFIRMED_ANNOTATION)
    else:
        return True
    is_seen = not is_recovering(cluster) and unobserved(cluster) is None
    return attention.is_now and confirmed == attention.heartbeat and is_seen


def is_automatic(eviction: Eviction, cluster: Cluster) -> bool:
    """Tells whether a judgement of the cluster (ours, or a policy's) makes the copy leave, and no person's wish."""
    policies = policy_taints(cluster)
    return all(taint.key in CONDITION_TAINT_KEYS or key_of(taint) in policies for taint in eviction.taints)


def last_resort_at(due: Sequence[Eviction], now: datetime) -> datetime:
    """Instant from which on a leaving copy may go to clusters that are held down, where no other takes it."""
    since = (min((t.time_added or now for t in eviction.taints), default=now) for eviction in due)
    return max(since, default=now) + timedelta(seconds=LAST_RESORT_SECONDS)


def replicas_in(spec: ResourceBindingSpec, cluster: str) -> int:
    return sum(target.replicas for target in spec.clusters if target.name == cluster)


def drain_budget(cluster: Cluster | None) -> int | None:
    """Number of bindings that may be on their way out of a drained cluster at the same time. None is any number, as for
    a cluster that looks dead: it is left as others are."""
    text = "" if cluster is None else cluster.metadata.annotations.get(DRAIN_BUDGET_ANNOTATION, "")
    if cluster is None or not text.isdecimal() or len(text) > MOST_DIGITS or looks_dead(cluster):
        return None
    return max(int(text), 1)


def purge_mode_of(failover: FailoverBehavior | None, default: PurgeMode) -> PurgeMode:
    """Purge mode of evictions by taints: the policy's word, else the flag's."""
    if failover is not None and failover.cluster is not None:
        return PurgeMode(failover.cluster.purge_mode or DEFAULT_PURGE_MODE)
    return PurgeMode(default)
