"""Status of a binding after a decision: what was scheduled, what is held back, and since when."""

import msgspec
import pytest

from leeward.api.meta import Condition
from leeward.api.work import AggregatedStatusItem, ResourceBinding, ResourceBindingStatus
from leeward.core.binding_status import status_after
from leeward.core.cluster_health.outage import Outage, OutageReport, Outcome, Outlook
from leeward.core.placement import Decision
from leeward.core.scheduling import Placed, Unplaceable
from tests.builders import at, binding, duplicated, targets

OLDER = binding(duplicated("a", "b"), 2, targets(a=2))
BOUND = msgspec.structs.replace(OLDER, metadata=msgspec.structs.replace(OLDER.metadata, generation=7))
HELD = Condition("leeward.dev/EvictionHeld", "True", "NoPlaceToGo", "not evicted from a")
OTHER = Condition("FullyApplied", "True", "FullyAppliedSuccess", "all of it", at(1))
SUCCESS = Condition("Scheduled", "True", "Success", "Binding has been scheduled successfully.")
NOTHING_SAID = ResourceBindingStatus()
PLACED = Placed(targets(b=2), "t1")


def dated(condition: Condition, seconds: float) -> Condition:
    return msgspec.structs.replace(condition, last_transition_time=at(seconds))


def after(
    decision: Decision,
    before: ResourceBindingStatus = NOTHING_SAID,
    bound: ResourceBinding = BOUND,
    seconds: float = 60.5,
) -> ResourceBindingStatus:
    return status_after(before, bound, decision, at(seconds))


def test_a_result_is_told_with_what_was_observed() -> None:
    before = ResourceBindingStatus(conditions=(OTHER,))
    assert after(Decision(targets(b=2), (), PLACED), before) == ResourceBindingStatus(
        scheduler_observed_generation=7,
        scheduler_observing_affinity_name="t1",
        last_scheduled_time=at(60),
        conditions=(OTHER, dated(SUCCESS, 60)),
    )


def test_what_does_not_fit_is_told_and_nothing_counts_as_observed() -> None:
    before = ResourceBindingStatus(
        scheduler_observed_generation=6,
        scheduler_observing_affinity_name="t0",
        last_scheduled_time=at(5),
        conditions=(OTHER,),
    )
    failed = Condition("Scheduled", "False", "NoClusterFit", "0/2 clusters are available", at(60))
    result = after(Decision((), (), Unplaceable("FitError", "0/2 clusters are available", {})), before)
    assert result == msgspec.structs.replace(before, conditions=(OTHER, failed))


@pytest.mark.parametrize(
    ("result", "observed", "last", "waiting", "expected"),
    [
        (PLACED, 6, 5, None, 60),
        (PLACED, 7, 5, None, 5),
        (PLACED, 7, None, None, 60),
        (None, 6, 5, None, 5),
        (None, 6, None, None, 60),
        (None, 6, 5, 30, 30),
        (None, 6, 30, 5, 30),
        (None, 6, None, 30, 30),
    ],
    ids=[
        "news", "for a generation that was observed", "never before", "what stands", "and was never dated",
        "a later one waits to be written", "an earlier one does", "only one that waits",
    ],
)  # fmt: skip
def test_it_was_scheduled_when_there_was_something_new(
    result: Placed | None, observed: int, last: float | None, waiting: float | None, expected: float
) -> None:
    before = ResourceBindingStatus(
        scheduler_observed_generation=observed, last_scheduled_time=None if last is None else at(last)
    )
    ahead = ResourceBindingStatus(last_scheduled_time=None if waiting is None else at(waiting))
    found = after(Decision(targets(b=2), (), result), before, msgspec.structs.replace(BOUND, status=ahead))
    assert (found.last_scheduled_time, found.scheduler_observed_generation) == (at(expected), 7)


def test_a_result_that_stands_is_in_the_term_that_it_was_in() -> None:
    bound = msgspec.structs.replace(BOUND, status=ResourceBindingStatus(scheduler_observing_affinity_name="t3"))
    found = after(Decision(targets(b=2), ()), bound=bound)
    assert (found.scheduler_observing_affinity_name, found.conditions) == ("t3", (dated(SUCCESS, 60),))


def test_what_is_held_is_told_as_long_as_it_is() -> None:
    foreign = Decision(targets(b=2), (), held=HELD, foreign=True)
    before = ResourceBindingStatus(conditions=(OTHER,))
    held = after(foreign, before)
    assert held == ResourceBindingStatus(conditions=(OTHER, dated(HELD, 60)))
    later = after(foreign, held, seconds=99)
    assert later == held, "since then"
    assert after(Decision(targets(b=2), (), foreign=True), held) == before
    apart = Decision(targets(b=2), (), held=HELD, foreign=True, foreign_held=True)
    assert after(apart, before) == before, "another process says it"
    assert after(Decision(targets(b=2), (), foreign=True, foreign_held=True), held) == held


def test_outages_are_told_where_there_is_something_new_to_say() -> None:
    item = AggregatedStatusItem(cluster_name="a", status={"replicas": 2})
    before = ResourceBindingStatus(conditions=(OTHER,), aggregated_status=(item,))
    report = OutageReport((Outlook(Outage("a", at(30)), Outcome.TOLERATED),), {"a": at(30)})
    told = after(Decision(targets(a=2), (), outage=report, foreign=True), before)
    assert told.conditions == (
        OTHER,
        Condition(
            "leeward.dev/ClusterOutage",
            "True",
            "Tolerated",
            "a is down (since 2026-01-01T00:00:30Z): the copy in a stays, because the policy tolerates "
            "the outage for ever.",
            at(60),
        ),
    )
    (marked,) = told.aggregated_status
    assert marked.status == {"replicas": 2, "leeward.dev/notSeenSince": "2026-01-01T00:00:30Z"}
    assert after(Decision(targets(a=2), (), foreign=True), told) == told, "what was said stands"
    assert after(Decision(targets(a=2), (), outage=OutageReport(), foreign=True), told) == before


@pytest.mark.parametrize(("reason", "since"), [("NoPlaceToGo", 5), ("BrakeEngaged", 60)])
def test_a_hold_lasts_since_its_reason_holds(reason: str, since: float) -> None:
    before = ResourceBindingStatus(conditions=(dated(HELD, 5), OTHER))
    held = msgspec.structs.replace(HELD, reason=reason)
    assert after(Decision(targets(a=2), (), PLACED, held=held), before).conditions[:2] == (dated(held, since), OTHER)
