"""History of one application: what outages have made of it, and what was told of it in events; the newest first."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from kubeapi.core import Event
from leeward.api.outage import ClusterOutage, MoveState, OutageApplication
from leeward.core.rollout.state import RolloutStep
from leeward.operations.sentences import in_moments, long_span

MOST_LINES = 100

WORDS: Mapping[str, str] = {
    "ApplyPolicySucceed": "Claimed",
    "ClusterOutage": "Cluster lost",
    "DescheduleBindingSucceed": "Descheduled",
    "EvictWorkloadFromClusterFailed": "Not evicted",
    "EvictWorkloadFromClusterSucceed": "Left",
    "EvictWorkloadFromClusterUnfinished": "Still leaving",
    "PreemptPolicySucceed": "Claimed anew",
    "ScheduleBindingFailed": "Not placed",
    "ScheduleBindingSucceed": "Placed",
    "SyncFailed": "Not applied",
    "SyncSucceed": "Applied",
}
"""Words for the reasons of events that come most; of others the reason is taken apart."""
TOLD_BY_TURNS = ("RolloutProgressed", "RolloutStopped")
_PAST = {"Failed": "failed"}
_ROUTINE = re.compile(r"Succeed$|^WorkDispatching$")
"""Reasons of events that tell no more than that a step went well, where `WORDS` has no word for it."""
_WITHIN = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CLAIM = re.compile(r"^Apply policy\((.+)\) succeed$")
_SCHEDULERS_TEXT = re.compile(r" (?:\d+ replicas? stays?|Not evicted).* because there is no place to go: .*$")
_RESULT = re.compile(r"scheduled successfully\. Result: \{(.+)\}$")


class HistoryLine(msgspec.Struct, frozen=True, rename="camel"):
    """`word` is what happened in one word; `outage` the Outage that it belongs to, or empty."""

    at: datetime
    word: str
    sentence: str
    outage: str = ""


def history_of(
    kind: str,
    namespace: str,
    name: str,
    outages: Iterable[ClusterOutage],
    events: Iterable[Event],
    turns: Sequence[RolloutStep] = (),
) -> list[HistoryLine]:
    """`turns` of its rollouts, which outlast their events."""
    lines = [HistoryLine(turn.at, _word(f"Rollout{turn.reason}"), turn.message) for turn in turns]
    lines += _of_events(each for each in events if not turns or each.reason not in TOLD_BY_TURNS)
    for outage in outages:
        for each in outage.status.listed:
            if (each.kind, each.namespace, each.name) == (kind, namespace, name):
                lines += _of_outage(outage, each)
    return sorted(dict.fromkeys(lines), key=lambda line: line.at, reverse=True)[:MOST_LINES]


def _of_outage(outage: ClusterOutage, each: OutageApplication) -> Iterator[HistoryLine]:
    cluster, name = outage.spec.cluster, outage.name
    if each.left_at is not None:
        to = ", ".join(f"{place}:{number}" for place, number in each.to.items())
        yield HistoryLine(each.left_at, "Moving", f"the application left {cluster}{', to ' + to if to else ''}", name)
    if each.healthy_at is not None:
        took = "" if each.recovery_seconds is None else f", {long_span(each.recovery_seconds)} after the first failure"
        yield HistoryLine(each.healthy_at, "Moved", f"the replacement for {cluster} was healthy{took}", name)
    if each.state in (MoveState.HELD, MoveState.KEPT) and each.message:
        at = outage.spec.since
        yield HistoryLine(at, each.state.value, f"{cluster} failed: {_sentence(each.message, at)}", name)


def _of_events(events: Iterable[Event]) -> Iterator[HistoryLine]:
    for event in events:
        at = event.last_timestamp or event.first_timestamp or event.metadata.creation_timestamp
        if at is not None and (event.reason in WORDS or not _ROUTINE.search(event.reason)):
            again = f" ({event.count} times)" if event.count > 1 else ""
            yield HistoryLine(at, _word(event.reason), f"{_sentence(event.message, at)}{again}")


def _word(reason: str) -> str:
    """`ScheduleBindingSucceed` as people say it."""
    if reason in WORDS:
        return WORDS[reason]
    words = _WITHIN.sub(" ", reason).split()
    return " ".join([*words[:1], *(word if word.isupper() else _PAST.get(word, word.lower()) for word in words[1:])])


def _sentence(message: str, at: datetime) -> str:
    """Message of an event: the cause without the scheduler's text, the places of a placement, the policy of a claim."""
    if (placed := _RESULT.search(message)) is not None:
        return f"the application is placed in {placed[1]}"
    if (claimed := _CLAIM.search(message)) is not None:
        return f"policy {claimed[1]} claims the template"
    return in_moments(_SCHEDULERS_TEXT.sub("", message), at)
