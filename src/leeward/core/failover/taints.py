"""The taints that a cluster's condition calls for, and when.

    Ready=False    not-ready:NoSchedule at once; not-ready:NoExecute `eviction_seconds` after that was seen here
    Ready=Unknown  unreachable:NoSchedule at once; unreachable:NoExecute `eviction_seconds` after the last sign of life
    no condition   not-ready:NoSchedule
    Ready=True     none of the four

The instants that the clocks start from lie in the Cluster itself (the NoSchedule taint's `timeAdded`, an annotation),
so that a restart neither forgets nor restarts them. Taints of others are never touched.

Karmada: pkg/controllers/cluster (taintClusterByCondition, processTaintBaseEviction of 1.4); same, except that a
status that merely could not be collected never leads to NoExecute (what runs there probably still runs).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.core import Taint
from leeward.api.meta import format_time, parse_time, wire_time
from leeward.api.names import LAST_SEEN_ANNOTATION, NOT_READY_TAINT, UNREACHABLE_TAINT

NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"
_AUTOMATIC = {(key, effect) for key in (NOT_READY_TAINT, UNREACHABLE_TAINT) for effect in (NO_SCHEDULE, NO_EXECUTE)}


@dataclass(frozen=True, slots=True)
class TaintDecision:
    """What `spec.taints` and our annotations are to be (a None annotation is to be removed)."""

    taints: tuple[Taint, ...]
    annotations: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    wake_at: datetime | None = None


def decide_taints(
    cluster: Cluster, now: datetime, *, last_seen: datetime | None, eviction_seconds: float, failover: bool = True
) -> TaintDecision:
    """`last_seen` is when a sign of life of a Pull cluster was received last, if that is known.

    With `failover` off no NoExecute taint is added; one that is there leaves with the outage.
    """
    ready = cluster.ready
    if ready is not None and ready.status == "True":
        return _clear(cluster)
    unreachable = ready is not None and ready.status == "Unknown"
    key = UNREACHABLE_TAINT if unreachable else NOT_READY_TAINT
    stamp = wire_time(now)
    kept = tuple(t for t in cluster.spec.taints if (t.key, t.effect) not in _AUTOMATIC or t.key == key)
    no_schedule = _find(kept, key, NO_SCHEDULE) or Taint(key=key, effect=NO_SCHEDULE, time_added=stamp)
    annotations = _remember_last_seen(cluster, last_seen or now) if unreachable else _forget_last_seen(cluster)
    taints = _with(kept, no_schedule)
    if not failover or ready is None or ready.reason == "StatusCollectionFailed" or _find(kept, key, NO_EXECUTE):
        return TaintDecision(taints, annotations)
    start = _last_seen(cluster, annotations) if unreachable else no_schedule.time_added
    due = (start or stamp) + timedelta(seconds=eviction_seconds)
    if now < due:
        return TaintDecision(taints, annotations, due)
    return TaintDecision(_with(taints, Taint(key=key, effect=NO_EXECUTE, time_added=stamp)), annotations)


def _clear(cluster: Cluster) -> TaintDecision:
    taints = tuple(t for t in cluster.spec.taints if (t.key, t.effect) not in _AUTOMATIC)
    return TaintDecision(taints, _forget_last_seen(cluster))


def _find(taints: tuple[Taint, ...], key: str, effect: str) -> Taint | None:
    return next((t for t in taints if t.key == key and t.effect == effect), None)


def _with(taints: tuple[Taint, ...], taint: Taint) -> tuple[Taint, ...]:
    return taints if _find(taints, taint.key, taint.effect) else (*taints, taint)


def _remember_last_seen(cluster: Cluster, last_seen: datetime) -> Mapping[str, str | None]:
    """Kept from the first moment of the outage on; removed when it ends."""
    if LAST_SEEN_ANNOTATION in cluster.metadata.annotations:
        return {}
    return {LAST_SEEN_ANNOTATION: format_time(last_seen)}


def _forget_last_seen(cluster: Cluster) -> Mapping[str, str | None]:
    return {LAST_SEEN_ANNOTATION: None} if LAST_SEEN_ANNOTATION in cluster.metadata.annotations else {}


def _last_seen(cluster: Cluster, fresh: Mapping[str, str | None]) -> datetime | None:
    text = fresh.get(LAST_SEEN_ANNOTATION) or cluster.metadata.annotations.get(LAST_SEEN_ANNOTATION)
    try:
        return parse_time(text) if text else None
    except ValueError:
        return None


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
