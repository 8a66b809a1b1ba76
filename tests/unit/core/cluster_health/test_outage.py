"""Instant since which nothing is known of a cluster, and what is said of it."""

import msgspec
import pytest

from leeward.api.cluster import Cluster, NodeSummary
from leeward.api.meta import Condition, find_condition
from leeward.api.names import (
    CLUSTER_OUTAGE_CONDITION,
    FAILING_CONDITION,
    LAST_SEEN_CONDITION,
    LEAVES_AT,
    NOT_SEEN_SINCE,
    OUTAGE_ANNOTATION,
)
from leeward.api.work import AggregatedStatusItem, ResourceBindingStatus
from leeward.core.cluster_health.outage import (
    Outage,
    OutageReport,
    Outcome,
    Outlook,
    has_outage,
    not_seen_since,
    with_last_seen,
    with_report,
)
from tests.builders import at, cluster

READY, NOT_READY = (Condition("Ready", status, "Test", "", at(90)) for status in ("True", "False"))
UNKNOWN = Condition("Ready", "Unknown", "ClusterStatusUnknown", "", at(90))
LAST_SEEN = Condition(
    LAST_SEEN_CONDITION, "False", "Test", "the cluster has not been observed since lastTransitionTime", at(60)
)
DOUBT = Condition(FAILING_CONDITION, "True", "ClusterNotReachable", "", at(70))
OTHER = Condition("Other", "True", "Test", "", at(1))


def with_conditions(*conditions: Condition, began: str = "") -> Cluster:
    there = cluster("m1")
    annotations = {OUTAGE_ANNOTATION: began} if began else {}
    return msgspec.structs.replace(
        there,
        metadata=msgspec.structs.replace(there.metadata, annotations=annotations),
        status=msgspec.structs.replace(there.status, conditions=conditions),
    )


BEGAN = "2026-01-01T00:00:30Z"


@pytest.mark.parametrize(
    ("there", "since"),
    [
        (with_conditions(), None),
        (with_conditions(READY), None),
        (with_conditions(READY, LAST_SEEN, began=BEGAN), None),
        (with_conditions(NOT_READY), 90),
        (with_conditions(NOT_READY, LAST_SEEN), 60),
        (with_conditions(NOT_READY, msgspec.structs.replace(LAST_SEEN, last_transition_time=None)), 90),
        (with_conditions(NOT_READY, began=BEGAN), 90),
        (with_conditions(UNKNOWN, began=BEGAN), 30),
        (with_conditions(UNKNOWN), 90),
        (with_conditions(UNKNOWN, LAST_SEEN, began=BEGAN), 60),
    ],
    ids=[
        "never reported of", "ready", "ready again", "since Ready turned", "last seen", "last seen at an unknown time",
        "a probe's clock", "silent since the outage began", "silent", "silent and last seen",
    ],
)  # fmt: skip
def test_nothing_is_known_since_it_was_seen_last(there: Cluster, since: float | None) -> None:
    assert not_seen_since(there) == (None if since is None else at(since))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((READY, OTHER), (NOT_READY, OTHER),
         (NOT_READY, OTHER, msgspec.structs.replace(LAST_SEEN, last_transition_time=at(90)))),
        ((READY, DOUBT), (NOT_READY,), (NOT_READY, msgspec.structs.replace(LAST_SEEN, last_transition_time=at(70)))),
        ((READY, msgspec.structs.replace(DOUBT, status="False")), (NOT_READY,),
         (NOT_READY, msgspec.structs.replace(LAST_SEEN, last_transition_time=at(90)))),
        ((READY, LAST_SEEN), (NOT_READY, LAST_SEEN, OTHER),
         (NOT_READY, OTHER, msgspec.structs.replace(LAST_SEEN, last_transition_time=at(90)))),
        ((READY,), (UNKNOWN,),
         (UNKNOWN, msgspec.structs.replace(LAST_SEEN, reason="ClusterStatusUnknown", last_transition_time=at(90)))),
        ((NOT_READY, LAST_SEEN), (UNKNOWN, LAST_SEEN), (UNKNOWN, LAST_SEEN)),
        ((), (NOT_READY, LAST_SEEN), (NOT_READY, LAST_SEEN)),
        ((NOT_READY, LAST_SEEN), (READY, LAST_SEEN, OTHER), (READY, OTHER)),
        ((READY,), (LAST_SEEN, OTHER), (OTHER,)),
    ],
    ids=[
        "it is lost", "it was in doubt before", "it was in none", "an old mark goes", "its agent is silent",
        "it is lost still", "it was never seen", "it is back", "nothing is said of it",
    ],
)  # fmt: skip
def test_it_is_marked_when_it_ceases_to_be_ready_and_until_it_is_again(
    before: tuple[Condition, ...], after: tuple[Condition, ...], expected: tuple[Condition, ...]
) -> None:
    assert with_last_seen(before, after, at(90)) == expected


def test_it_was_last_seen_no_later_than_it_ceased_to_be_ready() -> None:
    """The control plane was restored meanwhile, to when it was Ready (seed 10150)."""
    marked = msgspec.structs.replace(LAST_SEEN, last_transition_time=at(90))
    assert with_last_seen((READY,), (NOT_READY,), at(180)) == (NOT_READY, marked)
    doubted = msgspec.structs.replace(DOUBT, last_transition_time=at(170))
    assert with_last_seen((READY, doubted), (NOT_READY,), at(180)) == (NOT_READY, marked)


@pytest.mark.parametrize(
    ("ready", "nodes", "lost"),
    [
        (READY, None, False),
        (READY, NodeSummary(3, 1), False),
        (READY, NodeSummary(3, 0), True),
        (READY, NodeSummary(0, 0), False),
        (NOT_READY, NodeSummary(3, 3), True),
        (NOT_READY, None, True),
    ],
)
def test_a_cluster_is_lost_when_it_is_not_ready_or_none_of_its_nodes_is(
    ready: Condition, nodes: NodeSummary | None, *, lost: bool
) -> None:
    there = with_conditions(ready)
    there = msgspec.structs.replace(there, status=msgspec.structs.replace(there.status, node_summary=nodes))
    assert has_outage(there) is lost


def test_only_outages_that_were_not_told_are_news() -> None:
    first, second = (Outlook(Outage(name, at(30)), Outcome.TOLERATED) for name in ("a", "b"))
    report = OutageReport((first, second))
    assert list(report.news(None)) == [first, second]
    assert list(report.news(OutageReport((first,)).condition)) == [second]
    assert list(report.news(report.condition)) == []


def test_a_report_is_told_as_a_condition_and_as_marks_of_what_is_not_seen_and_leaves() -> None:
    leaves = Outlook(Outage("m1", at(30)), Outcome.EVICTION, at(330), ("m3",))
    report = OutageReport((leaves,), {"m1": at(30), "m2": at(60)})
    items = tuple(AggregatedStatusItem(cluster_name=name, status={"replicas": 1}) for name in ("m1", "m2", "m3"))
    status = ResourceBindingStatus(conditions=(OTHER,), aggregated_status=items)
    told = with_report(status, report, at(90))
    condition = find_condition(told.conditions, CLUSTER_OUTAGE_CONDITION)
    assert condition is not None
    assert (condition.reason, condition.last_transition_time) == ("EvictionExpected", at(90))
    assert [item.status for item in told.aggregated_status] == [
        {"replicas": 1, NOT_SEEN_SINCE: "2026-01-01T00:00:30Z", LEAVES_AT: "2026-01-01T00:05:30Z"},
        {"replicas": 1, NOT_SEEN_SINCE: "2026-01-01T00:01:00Z"},
        {"replicas": 1},
    ]
    assert with_report(told, OutageReport(), at(120)) == status, "what is over is told no more"
