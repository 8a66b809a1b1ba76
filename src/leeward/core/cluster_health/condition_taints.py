"""The taints that a cluster's condition calls for, and when.

    Ready=False    not-ready:NoSchedule at once; not-ready:NoExecute `eviction_seconds` after that was seen here
    Ready=Unknown  unreachable:NoSchedule at once; unreachable:NoExecute `eviction_seconds` after the last sign of life
    no condition   not-ready:NoSchedule, beside what is there
    Ready=True     none of the four

The two keys replace each other; an outage that changes its face goes on, with the clock that it has. That clock lies in
the Cluster itself (`standing_taints.py`), so a restart does not restart it. A date ahead, by a clock that has been set
right, counts from now. A taint that somebody has taken off within the outage comes back with the time that it had.
Taints of others are never touched; nor are those of the four that a ClusterTaintPolicy has added (`taint_policy`).

Karmada: pkg/controllers/cluster (taintClusterByCondition, processTaintBaseEviction of 1.4); same, but that an
uncollected status never leads to NoExecute, since the applications there probably still run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from kubeapi.core import Taint
from kubeapi.meta import format_time, parse_time, wire_time
from leeward.api.cluster import Cluster
from leeward.api.names import (
    CONDITION_TAINT_KEYS,
    NOT_READY_TAINT,
    OUTAGE_ANNOTATION,
    OUTAGE_CONFIRMED_ANNOTATION,
    POLICY_TAINTS_ANNOTATION,
    UNREACHABLE_TAINT,
)
from leeward.api.taint_record import listed_taints, taints_in_force
from leeward.core.cluster_health.ready_condition import is_uncollected
from leeward.core.cluster_health.watched_time import ALWAYS, WatchedTime

NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"

TaintKey = tuple[str, str]
"""Key and effect, by which taints are told apart."""

CONDITION_TAINTS = frozenset((key, effect) for key in CONDITION_TAINT_KEYS for effect in (NO_SCHEDULE, NO_EXECUTE))
"""The four, by key and effect."""


@dataclass(frozen=True, slots=True)
class TaintDecision:
    """Values that `spec.taints` and our annotations are to be (a None annotation is to be removed).

    `is_due`: NoExecute is, though it may be held back. `outage_since` is the start of the outage's clock.
    """

    taints: tuple[Taint, ...]
    annotations: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    wake_at: datetime | None = None
    is_due: bool = False
    outage_since: datetime | None = field(default=None, compare=False)


def decide_taints(
    cluster: Cluster,
    now: datetime,
    *,
    last_seen: datetime | None,
    eviction_seconds: float,
    failover: bool = True,
    could_not_look: bool = True,
    watched: WatchedTime = ALWAYS,
) -> TaintDecision:
    """`last_seen` is when a sign of life of a Pull cluster was received last, if that is known.

    The time-out runs over `watched` time alone.
    With `failover` off no NoExecute taint is added; one that is there leaves with the outage. With `could_not_look`
    off a status that could not be collected is an outage like others.
    """
    ready = cluster.ready
    cluster = with_standing_taints(cluster)
    automatic = owned_by_condition(cluster)
    others = tuple(t for t in cluster.spec.taints if key_of(t) not in automatic)
    if ready is not None and ready.status == "True":
        return TaintDecision(others, _outage_ends(cluster))
    key = UNREACHABLE_TAINT if ready is not None and ready.status == "Unknown" else NOT_READY_TAINT
    stamp = wire_time(now)
    no_schedule = _find(cluster, (key, NO_SCHEDULE)) or Taint(key=key, effect=NO_SCHEDULE, time_added=stamp)
    if ready is None:
        return TaintDecision(_in_place(cluster, cluster.spec.taints, (no_schedule,)), _outage_ends(cluster))
    if could_not_look and is_uncollected(ready):
        return TaintDecision(_in_place(cluster, others, (no_schedule,)), _outage_ends(cluster))
    begun = outage_since(cluster)
    since = begun if begun is not None and begun <= now else _outage_start(cluster, key, last_seen, now)
    is_noted = since == begun and OUTAGE_ANNOTATION in cluster.metadata.annotations
    annotations = {} if is_noted else {OUTAGE_ANNOTATION: format_time(since)}
    no_execute = _carried_over(cluster, key, stamp)
    due = wire_time(watched.moved(since)) + timedelta(seconds=eviction_seconds)
    if no_execute is None and failover and now >= due:
        no_execute = Taint(key=key, effect=NO_EXECUTE, time_added=stamp)
    taints = (no_schedule,) if no_execute is None else (no_schedule, no_execute)
    wake_at = due if no_execute is None and failover else None
    return TaintDecision(_in_place(cluster, others, taints), annotations, wake_at, now >= due, since)


def _outage_start(cluster: Cluster, key: str, last_seen: datetime | None, now: datetime) -> datetime:
    """Start of the outage by our own clock, which dates the conditions of Push clusters alone; a key that changes later
    starts now."""
    if key == UNREACHABLE_TAINT:
        return last_seen or now
    ready, is_new = cluster.ready, _find(cluster, (key, NO_SCHEDULE)) is None
    dated = ready.last_transition_time if ready is not None and cluster.spec.sync_mode == "Push" else None
    return min(dated, now) if dated is not None and is_new else now


def outage_since(cluster: Cluster) -> datetime | None:
    """Start of the present outage's clock; None when there is none, or nobody can read it.

    The record has it, too: who replaces a Cluster takes its annotations off.
    """
    try:
        return parse_time(cluster.metadata.annotations[OUTAGE_ANNOTATION])
    except (KeyError, ValueError):
        return None if cluster.is_ready else cluster.taint_record.outage_since


def with_standing_taints(cluster: Cluster) -> Cluster:
    """The cluster with the automatic taints that others have taken off, as they were. A policy adds its own."""
    record = cluster.taint_record
    taints = taints_in_force(cluster.spec.taints, record, is_ready=cluster.is_ready, listed="")
    return cluster if taints == cluster.spec.taints else cluster.with_taints(taints, {})


def _outage_ends(cluster: Cluster) -> Mapping[str, str | None]:
    ours = (OUTAGE_ANNOTATION, OUTAGE_CONFIRMED_ANNOTATION)
    return {name: None for name in ours if name in cluster.metadata.annotations}


def confirmation(cluster: Cluster, heartbeat: str) -> Mapping[str, str | None]:
    """The annotation that says that an outage was seen since this heartbeat began. Holds: S13."""
    present = cluster.metadata.annotations.get(OUTAGE_CONFIRMED_ANNOTATION)
    return {} if present == heartbeat else {OUTAGE_CONFIRMED_ANNOTATION: heartbeat}


def key_of(taint: Taint) -> TaintKey:
    return taint.key, taint.effect


def policy_taints(cluster: Cluster) -> frozenset[TaintKey]:
    """The taints that ClusterTaintPolicy objects have added, and that the condition therefore leaves alone."""
    noted = listed_taints(cluster.metadata.annotations.get(POLICY_TAINTS_ANNOTATION, ""))
    return noted | {entry.key for entry in cluster.taint_record.entries if entry.by_policy}


def owned_by_condition(cluster: Cluster) -> frozenset[TaintKey]:
    """The taints of the four that come and go by the cluster's condition, and by no policy."""
    return CONDITION_TAINTS - policy_taints(cluster)


def _find(cluster: Cluster, wanted: TaintKey) -> Taint | None:
    return next((taint for taint in cluster.spec.taints if key_of(taint) == wanted), None)


def _carried_over(cluster: Cluster, key: str, stamp: datetime) -> Taint | None:
    """The automatic NoExecute taint that is there already, under the key that holds now; dated `stamp` at most."""
    automatic = owned_by_condition(cluster)
    mine = [taint for taint in cluster.spec.taints if taint.effect == NO_EXECUTE and key_of(taint) in automatic]
    carried = next((msgspec.structs.replace(taint, key=key) for taint in mine if taint.key != key), None)
    found = _find(cluster, (key, NO_EXECUTE)) or carried
    if found is None or found.time_added is None or found.time_added <= stamp:
        return found
    return msgspec.structs.replace(found, time_added=stamp)


def _in_place(cluster: Cluster, others: tuple[Taint, ...], ours: tuple[Taint, ...]) -> tuple[Taint, ...]:
    """Taints that are there already keep their place, new ones come last."""
    new = {key_of(taint): taint for taint in ours}
    wanted = {*new, *map(key_of, others)}
    kept = tuple(new.pop(key_of(taint), taint) for taint in cluster.spec.taints if key_of(taint) in wanted)
    return (*kept, *new.values())


def describe_taints(taints: tuple[Taint, ...]) -> str:
    """The sentence of Karmada's TaintClusterSucceed event."""
    if not taints:
        return "cluster now does not have taints."
    listed = ",".join(f"{{Key:{t.key},Effect:{t.effect}}}" for t in taints)
    return f"cluster now has taints([{listed}])."


def stamp_no_execute(taints: tuple[Taint, ...], now: datetime) -> tuple[Taint, ...]:
    """NoExecute taints that someone added without `timeAdded` count from now."""
    return tuple(
        msgspec.structs.replace(t, time_added=wire_time(now)) if t.effect == NO_EXECUTE and not t.time_added else t
        for t in taints
    )
