"""The condition `Ready`, from probes: a change must last for a threshold before it counts.

Karmada: pkg/util/helper (condition cache); same, proven by its recorded cases.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec

from kubeapi.meta import wire_time
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition, find_condition
from leeward.api.names import NOT_OBSERVED_CONDITION
from leeward.core.cluster_health.watched_time import was_away

READY = "Ready"

Sight = Literal["healthy", "unhealthy", "not serving", "unreachable", "refused", "too large"]
"""Results of a probe: ok; an answer other than ok; ok, but reads fail; no answer; an answer that credentials or
decoding made worthless; one that is beyond a bound. A probe that could not look has none."""

UNCOLLECTED, TOO_LARGE = "StatusCollectionFailed", "ResponseTooLarge"
UNCOLLECTED_REASONS = frozenset((UNCOLLECTED, TOO_LARGE))
"""Reasons of `Ready`, and of what begins to be so: it could not be looked, which is doubt and no outage."""

NO_ANSWER = "no answer in time, and no refusal"
"""End of the message of a cluster that is not reachable and does not refuse, as one behind a cut is."""

NAME_NOT_FOUND = "NameNotFound"
NAME_HOLDS = timedelta(minutes=10)
"""Time for which a resolver that does not know a name is taken for wrong, and not the cluster for gone."""
BEFORE_ALL = datetime.min.replace(tzinfo=UTC)
"""Instant since which that has been the same which needs no threshold."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Seconds that a change must last before it counts."""

    failure_seconds: float
    success_seconds: float


@dataclass(frozen=True, slots=True)
class HealthMemory:
    """The status that was observed last, and since when it has been the same."""

    status: str
    since: datetime


def ready_condition(sight: Sight, detail: str = "") -> Condition:
    """The condition that one probe by itself would justify."""
    match sight:
        case "healthy":
            return _ready("True", "ClusterReady", "cluster is healthy and ready to accept workloads")
        case "unhealthy":
            message = "cluster is reachable but health endpoint responded without ok"
            return _ready("False", "ClusterNotReady", message)
        case "not serving":
            return _ready("False", "ClusterNotServing", detail or "cluster says that it is ready, but serves no reads")
        case "unreachable":
            how = f": {detail}" if detail == NO_ANSWER else ""
            return _ready("False", "ClusterNotReachable", f"cluster is not reachable{how}")
        case "refused":
            return _ready("False", UNCOLLECTED, detail or "the cluster's status could not be read")
        case "too large":
            return _ready("False", TOO_LARGE, detail or "the cluster answers more than is read of a member")


def is_uncollected(condition: Condition) -> bool:
    """Tells whether the condition says no more than that it could not be looked: that is doubt, and no outage."""
    return condition.status != "True" and condition.reason in UNCOLLECTED_REASONS


def not_observed(failure: str, *, is_missing_name: bool = False) -> Condition:
    """The condition of a cluster at which nobody could look. Its time counts for no threshold. Holds: S13.

    `is_missing_name`: a resolver says that the name does not exist, and counts for `NAME_HOLDS` as one that is wrong.
    """
    reason = NAME_NOT_FOUND if is_missing_name else "LocalFailure"
    message = (
        f"could not look, and not for a fault of the cluster: {failure}. Ready stays as seen last, nothing is evicted "
        "for what is not seen; look at open files (`ulimit -n`), memory, ports and DNS of who probes it"
    )
    return Condition(NOT_OBSERVED_CONDITION, "True", reason, message)


def missing_name(found: Condition | None, observed: Condition, now: datetime, frequency_seconds: float) -> Condition:
    """The condition after one more look that could not look. `found` is the one that stands.

    Only looks that found no name count for `NAME_HOLDS`: after one of them, another failure moves its beginning by the
    time of a look. So of a resolver that now and then does not answer, a missing name is still found missing.
    """
    if found is None:
        return observed
    if observed.reason != NAME_NOT_FOUND and found.reason == NAME_NOT_FOUND:
        since = found.last_transition_time
        if since is None or found.status != "True":
            return found
        moved = min(now, since + timedelta(seconds=frequency_seconds))
        return msgspec.structs.replace(found, last_transition_time=wire_time(moved))
    if observed.reason == found.reason and observed.status == found.status:
        return msgspec.structs.replace(observed, last_transition_time=found.last_transition_time)
    return observed


def name_is_gone(cluster: Cluster, failure: str, now: datetime) -> Condition | None:
    """The condition of a cluster whose name has not existed for `NAME_HOLDS`. It counts as unreachable from then on, as
    a managed cluster that was deleted with its DNS record. None before that (L2)."""
    found = find_condition(cluster.status.conditions, NOT_OBSERVED_CONDITION)
    if found is None or found.reason != NAME_NOT_FOUND or found.last_transition_time is None:
        return None
    if found.status == "True" and now < found.last_transition_time + NAME_HOLDS:
        return None
    minutes = int(NAME_HOLDS.total_seconds() // 60)
    message = f"its name has not existed for {minutes} minutes, and it counts as unreachable: {failure}"
    return Condition(NOT_OBSERVED_CONDITION, "False", NAME_NOT_FOUND, message)


def unobserved(cluster: Cluster) -> Condition | None:
    """The condition of a cluster at which nobody can look now; None where it says nothing any more: who has set it is
    not heard of."""
    ready, found = cluster.ready, find_condition(cluster.status.conditions, NOT_OBSERVED_CONDITION, "True")
    return None if ready is not None and ready.status == "Unknown" else found


def decide_ready(
    memory: HealthMemory | None, observed: Condition, current: Condition | None, now: datetime, thresholds: Thresholds
) -> tuple[HealthMemory | None, Condition]:
    """The memory to keep and the condition that holds now, after one more observation.

    The very first observation counts at once. Between True and not True the current condition stays until the observed
    status has been the same for the threshold; False and Unknown change places at once. An observation by a clock that
    was ahead, and has been set right, counts from now. One from before another leader made the current condition True
    or False counts from then, so that two of them do not toss it to and fro (C1).
    """
    if memory is None:
        return HealthMemory(observed.status, BEFORE_ALL), observed
    if current is None:
        return memory, observed
    since = min(memory.since, now) if memory.status == observed.status else now
    if (observed.status == "True") == (current.status == "True"):
        return HealthMemory(observed.status, since), observed
    since = max(since, _decided_at(current, now))
    memory = HealthMemory(observed.status, since)
    seconds = thresholds.success_seconds if observed.status == "True" else thresholds.failure_seconds
    still_doubted = since != BEFORE_ALL and now < since + timedelta(seconds=seconds)
    return memory, current if still_doubted else observed


def without_missed(
    memory: HealthMemory, before: tuple[datetime, float], now: tuple[datetime, float], frequency_seconds: float
) -> tuple[HealthMemory, tuple[datetime, float]]:
    """The memory and the instant of the last look without looks between that could not look (S13).

    These count for nothing, and end nothing: a look after them counts as one. So a dead cluster is found dead (L2),
    though the way to it is seen now and then alone.
    """
    missed = max(0.0, now[1] - before[1] - frequency_seconds)
    moved = before[0] + timedelta(seconds=missed), before[1] + missed
    if memory.since == BEFORE_ALL:
        return memory, moved
    return HealthMemory(memory.status, memory.since + timedelta(seconds=missed)), moved


def watched_memory(
    memory: HealthMemory,
    before: tuple[datetime, float],
    now: tuple[datetime, float],
    longest_seconds: float,
    frequency_seconds: float,
    thresholds: Thresholds,
    stood_still_seconds: float = 0.0,
) -> HealthMemory:
    """The memory without the unwatched time between two looks, each by wall clock and monotonic seconds.

    The seconds in which this process stood still move the beginning of the observed status. So do a pause of more than
    `longest_seconds` and a step of the wall clock; after those, the status must also be seen twice more, since one look
    alone completes no threshold. Holds: S13.
    """
    if memory.since == BEFORE_ALL:
        return memory
    still = timedelta(seconds=stood_still_seconds)
    ran = now[0] - still, now[1] - stood_still_seconds
    if stood_still_seconds <= longest_seconds and not was_away(before, ran, longest_seconds):
        return HealthMemory(memory.status, memory.since + still)
    watched = min(max(0.0, ran[1] - before[1]), longest_seconds)
    since = memory.since + (now[0] - before[0]) - timedelta(seconds=watched)
    shortest = min(thresholds.failure_seconds, thresholds.success_seconds) - frequency_seconds
    return HealthMemory(memory.status, max(since, now[0] - timedelta(seconds=max(0.0, shortest))))


def _decided_at(current: Condition, now: datetime) -> datetime:
    """Instant at which it was decided to be True or False. Unknown is the word of who hears nothing, and no
    observation."""
    at = current.last_transition_time
    return BEFORE_ALL if current.status == "Unknown" or at is None or at > now else at


def _ready(status: str, reason: str, message: str) -> Condition:
    return Condition(type=READY, status=status, reason=reason, message=message)
