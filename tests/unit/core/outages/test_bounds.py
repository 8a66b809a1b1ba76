"""Bounds and words of an outage's object: steps, waves, the curve, the list, recovery times, and when it is written."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from msgspec.structs import replace

from leeward.api.outage import (
    MoveState,
    OutageApplication,
    OutageCounts,
    OutageStatus,
    OutageStep,
    RecoveryTimes,
    StepKind,
)
from leeward.api.work import GracefulEvictionTask
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.outages.outage_steps import ApplicationChange, with_told
from leeward.core.outages.record import (
    MOST_POINTS,
    OutageRecord,
    begin,
    goes_on,
    is_lost,
    recall,
    render,
    untold,
    with_point,
)
from leeward.core.outages.recovery import MOST_TIMES, duration, with_recovery
from leeward.core.outages.writing import PAUSES, PROGRESS_COLLECT, QUIET, SETTLED_COLLECT, Pace, Urgency
from tests.builders import NOW, at
from tests.unit.core.outages.looks import NO_EXECUTE, gone, held, here, look, lost, with_sight

DEAD, BACK = lost(NO_EXECUTE), lost(ready_since=at(690))
NO_PLACE, NO_GAIN = held(HeldReason.NO_PLACE_TO_GO), held(HeldReason.NOTHING_TO_GAIN)


def steps_of(record: OutageRecord, *kinds: StepKind) -> list[OutageStep]:
    return [step for step in record.status.steps if step.kind in kinds]


# steps


def test_a_wave_is_told_as_a_whole() -> None:
    sights = (gone("a", 630, tolerated_seconds=60), gone("b", 630, tolerated_seconds=60), gone("c", 634))
    before = look(begin(lost()), 40, lost(), *(here(name) for name in "abc"))
    record = look(before, 700, DEAD, *sights)
    wave = OutageStep(at(630), StepKind.LEFT, until=at(634), applications=3, to=("member2",))
    assert steps_of(record, StepKind.LEFT) == [wave], "they did not tolerate it equally long"
    record = look(before, 700, DEAD, *sights[:2])
    assert steps_of(record, StepKind.LEFT) == [
        replace(wave, until=at(630), applications=2, tolerated_seconds=60),
    ]
    assert steps_of(look(before, 700, DEAD, sights[0]), StepKind.LEFT)[0].tolerated_seconds == 60
    assert steps_of(look(before, 700, DEAD, *sights[1:]), StepKind.LEFT)[0].tolerated_seconds is None
    third = gone("c", 630, tolerated_seconds=300)
    assert steps_of(look(record, 710, DEAD, third), StepKind.LEFT)[0].tolerated_seconds is None


def test_a_toleration_is_told_only_of_what_a_taint_evicts() -> None:
    before = look(begin(lost()), 40, lost(), here("a"), here("b"))
    by_failover = GracefulEvictionTask("member1", "ApplicationFailure", "x", creation_timestamp=at(630))
    for sight in (with_sight(gone("a"), task=by_failover), with_sight(gone("a"), task=None)):
        (wave,) = steps_of(look(before, 640, DEAD, sight), StepKind.LEFT)
        assert wave.tolerated_seconds is None
        (wave,) = steps_of(look(before, 640, DEAD, gone("b"), sight), StepKind.LEFT)
        assert (wave.applications, wave.tolerated_seconds) == (2, None)


@pytest.mark.parametrize(
    ("left", "waves"),
    [
        (599, [(599, 599, 1), (630, 634, 2)]),
        (600, [(600, 634, 3)]),
        (631, [(630, 634, 3)]),
        (664, [(630, 664, 3)]),
        (665, [(630, 634, 2), (665, 665, 1)]),
    ],
)
def test_what_leaves_within_half_a_minute_of_a_wave_is_of_it(left: float, waves: list[tuple[int, int, int]]) -> None:
    record = look(begin(lost()), 40, lost(), *(here(name) for name in ("a", "b", "late")))
    record = look(record, 700, DEAD, gone("a", 630), gone("b", 634))
    record = look(record, 710, DEAD, with_sight(gone("late", left), targets={"member3": 2}))
    told = steps_of(record, StepKind.LEFT)
    assert [(step.at, step.until, step.applications) for step in told] == [(at(a), at(b), n) for a, b, n in waves]
    assert {name for step in told for name in step.to} == {"member2", "member3"}


def test_each_reason_is_told_once_with_how_many_it_holds() -> None:
    record = look(begin(lost()), 40, lost(), *(here(name) for name in ("well", "a", "b", "c")))
    due = {"due_at": at(630)}
    record = look(record, 700, DEAD, here("well"), here("a", hold=NO_PLACE, **due), here("c", hold=NO_GAIN, **due))
    record = look(record, 705, DEAD, here("b", hold=NO_PLACE, **due))
    assert steps_of(record, StepKind.HELD, StepKind.KEPT) == [
        OutageStep(at(700), StepKind.HELD, "NoPlaceToGo", "because of NoPlaceToGo", applications=2),
        OutageStep(at(700), StepKind.KEPT, "NothingToGain", "because of NothingToGain", applications=1),
    ]


def test_what_is_held_is_told_with_the_instant_of_its_condition_and_not_of_the_look() -> None:
    record = look(begin(lost()), 40, lost(), here("a"), here("b"))
    since = {700: at(633), 720: at(20)}
    for seconds, hold, name in ((700, NO_PLACE, "a"), (720, NO_GAIN, "b")):
        told = replace(hold, last_transition_time=since[seconds])
        record = look(record, seconds, DEAD, here(name, hold=told, due_at=at(630)))
    (is_held,), (kept,) = steps_of(record, StepKind.HELD), steps_of(record, StepKind.KEPT)
    assert (is_held.at, kept.at) == (at(633), at(20))
    earlier = replace(NO_PLACE, last_transition_time=at(-5))
    (step,) = steps_of(look(begin(lost()), 700, DEAD, here("a", hold=earlier, due_at=at(630))), StepKind.HELD)
    assert step.at == at(700), "that was said before this failure"


def test_what_is_held_twice_for_one_reason_is_counted_once_and_by_who_takes_over_too() -> None:
    due, waiting = {"due_at": at(630)}, here("a", due_at=at(900))
    record = look(begin(lost()), 40, lost(), here("a"), here("b"))
    record = look(record, 700, DEAD, here("a", hold=NO_PLACE, **due))
    record = look(look(record, 710, DEAD, here("a", hold=NO_GAIN, **due)), 720, DEAD, waiting)
    for taken in (record, recall(render(record))):
        again = look(taken, 730, DEAD, here("a", hold=NO_PLACE, **due))
        (step,) = steps_of(again, StepKind.HELD)
        assert (step.at, step.applications) == (at(700), 1)
        both = look(again, 740, DEAD, here("b", hold=NO_PLACE, **due))
        (step,) = steps_of(both, StepKind.HELD)
        assert step.applications == 2
        left = look(look(both, 750, DEAD, here("b", hold=NO_GAIN, **due)), 760, DEAD, here("b", due_at=at(900)))
        (step,) = steps_of(look(left, 770, DEAD, here("b", hold=NO_PLACE, **due)), StepKind.HELD)
        assert step.applications == 2


def test_what_is_held_anew_after_another_failure_is_told_in_one_more_step() -> None:
    earlier = OutageStep(at(700), StepKind.HELD, "Why", "so", applications=1)
    status = OutageStatus(failed_at=at(710), steps=(earlier,))
    for seconds in (720, 730):
        status = with_told(status, [change(MoveState.HELD, "Why")], at(seconds))
    assert [(step.at, step.applications) for step in status.steps] == [(at(700), 1), (at(720), 2)]


def test_what_is_withdrawn_is_told_and_not_what_was_never_on_its_way() -> None:
    record = look(begin(lost()), 640, DEAD, here("stays"), gone("a"), gone("b"), gone("moved"))
    done = with_sight(gone("moved", is_replaced=True), task=None, is_behind=False)
    record = look(record, 700, BACK, here("stays"), here("a"), here("b"), done)
    assert steps_of(record, StepKind.WITHDRAWN) == [OutageStep(at(700), StepKind.WITHDRAWN, applications=2)]


def change(state: MoveState, reason: str) -> ApplicationChange:
    after = OutageApplication("Deployment", "web", state, reason=reason, message="so")
    return ApplicationChange(None, after, here())


@pytest.mark.parametrize(
    ("failed", "told"),
    [(700, [(700, 2)]), (701, [(700, 1), (720, 1)]), (None, [(700, 1), (720, 1)])],
    ids=["since the last failure", "before it", "nobody knows when it failed"],
)
def test_what_was_told_before_the_last_failure_is_told_again(failed: float | None, told: list[tuple[int, int]]) -> None:
    earlier = OutageStep(at(700), StepKind.HELD, "Why", "so", applications=1)
    status = OutageStatus(failed_at=None if failed is None else at(failed), steps=(earlier,))
    after = with_told(status, [change(MoveState.HELD, "Why")], at(720))
    assert [(step.at, step.applications) for step in after.steps] == [(at(when), n) for when, n in told]


# the record and its object


def test_a_cluster_is_lost_that_was_ready_once_is_not_so_and_does_not_leave() -> None:
    there = lost()
    never = replace(there, status=replace(there.status, kubernetes_version=""))
    leaving = replace(there, metadata=replace(there.metadata, deletion_timestamp=at(1)))
    unsaid = replace(there, status=replace(there.status, conditions=()))
    well_and_leaving = replace(BACK, metadata=leaving.metadata)
    clusters = (there, BACK, never, leaving, unsaid, well_and_leaving, replace(BACK, status=never.status))
    assert [is_lost(each) for each in clusters] == [True, False, False, False, False, False, False]


def test_an_outage_that_lasts_goes_on_whatever_is_seen_and_one_that_is_over_less_than_ten_minutes() -> None:
    running = render(look(begin(lost()), 40, lost(), here()))
    assert goes_on(running, BACK)
    over = render(look(recall(running), 700, BACK, here(), whole=True))
    ready, seen = lost().status.conditions
    anew = [
        replace(
            lost(), status=replace(lost().status, conditions=(ready, replace(seen, last_transition_time=at(690 + n))))
        )
        for n in (599, 600)
    ]
    assert [goes_on(over, each) for each in anew] == [True, False]


def test_what_a_record_holds_is_its_object_and_what_the_object_lists_its_applications() -> None:
    record = look(begin(lost()), 700, DEAD, here("a"), gone("b"))
    outage = render(record)
    assert (outage.api_version, outage.kind) == ("leeward.dev/v1alpha1", "Outage")
    assert outage.metadata.name == record.name == "member1-20260101-000000"
    taken = recall(outage)
    assert (taken.name, taken.spec, taken.applications) == (record.name, record.spec, record.applications)
    assert (taken.status.listed, taken.expected) == ((), 2)


def test_what_follows_from_taints_alone_is_told_elsewhere() -> None:
    record = look(begin(lost()), 40, lost(), here())
    bare, told = (
        render(look(record, 700, there, here(due_at=due))).status for there, due in ((lost(), None), (DEAD, at(930)))
    )
    assert told != bare
    assert untold(told) == bare


def listed(name: str, state: MoveState, recovery: int | None = None, namespace: str = "") -> OutageApplication:
    return OutageApplication("Deployment", name, state, namespace, recovery_seconds=recovery)


def test_who_needs_somebody_is_listed_first_and_then_the_slowest() -> None:
    expected = (
        listed("z", MoveState.HELD),
        listed("y", MoveState.MOVING),
        listed("x", MoveState.MOVED, 30),
        listed("w", MoveState.MOVED, 10),
        listed("v", MoveState.MOVED, 1),
        listed("a", MoveState.MOVED),
        listed("b", MoveState.MOVED),
        listed("a", MoveState.MOVED, namespace="default"),
        listed("u", MoveState.KEPT),
        listed("t", MoveState.DUE),
        listed("s", MoveState.RETURNED),
    )
    applications = {("", f"{n}"): each for n, each in enumerate(reversed(expected))}
    record = replace_applications(begin(lost()), applications)
    assert render(record).status.listed == expected


def replace_applications(record: OutageRecord, applications: dict[tuple[str, str], OutageApplication]) -> OutageRecord:
    return OutageRecord(record.name, record.spec, record.status, applications)


def curve(*points: tuple[float, int]) -> tuple[OutageCounts, ...]:
    return tuple(OutageCounts(at(seconds), due=due) for seconds, due in points)


@pytest.mark.parametrize(
    ("before", "point", "after"),
    [
        ((), (10, 1), ((10, 1),)),
        (((10, 1),), (20, 2), ((10, 1), (20, 2))),
        (((10, 1),), (20, 1), ((10, 1),)),
        (((0, 1), (10, 2), (20, 3)), (20, 4), ((0, 1), (10, 2), (20, 4))),
    ],
    ids=["the first", "another", "nothing new", "in the same second"],
)
def test_a_curve_has_a_point_where_something_is_new(
    before: Sequence[tuple[float, int]], point: tuple[float, int], after: Sequence[tuple[float, int]]
) -> None:
    (added,) = curve(point)
    assert with_point(OutageStatus(curve=curve(*before)), added).curve == curve(*after)


def test_of_a_curve_that_is_full_each_second_point_goes_but_for_the_last() -> None:
    full = [(float(n), n % 2) for n in range(MOST_POINTS)]
    (added,) = curve((MOST_POINTS, 0))
    thinned = with_point(OutageStatus(curve=curve(*full)), added).curve
    assert thinned == (*curve(*full[:-1:2]), *curve(full[-1]), added)
    assert [point.at for point in thinned[:2]] == [at(0), at(2)]
    spare = with_point(OutageStatus(curve=curve(*full[1:])), added)
    assert spare.curve == (*curve(*full[1:]), added)


# recovery times


def recovered(*seconds: int) -> RecoveryTimes:
    times = RecoveryTimes()
    for each in seconds:
        times = with_recovery(times, each)
    return times


@pytest.mark.parametrize(
    ("seconds", "median"), [((7,), 7), ((10, 20), 10), ((10, 20, 30), 20), ((40, 10, 30, 20), 20), ((5, 5, 5, 9), 5)]
)
def test_the_median_is_the_lower_one_of_two_in_the_middle(seconds: tuple[int, ...], median: int) -> None:
    assert recovered(*seconds).median_seconds == median


def test_times_are_rounded_up_by_twos_once_they_are_too_many() -> None:
    exact = recovered(*range(1, MOST_TIMES + 1))
    assert [each.seconds for each in exact.times] == list(range(1, MOST_TIMES + 1))
    rounded = with_recovery(exact, MOST_TIMES + 1)
    assert [each.seconds for each in rounded.times] == list(range(2, MOST_TIMES + 3, 2))
    assert {each.count for each in rounded.times} == {1, 2}
    wide = recovered(*range(1, 4 * MOST_TIMES + 2, 4))
    assert all(each.seconds % 8 == 0 for each in wide.times), "so coarse as they have to be, and no coarser"
    assert len(wide.times) > MOST_TIMES / 2


@pytest.mark.parametrize(("seconds", "text"), [(3540, "59m0s"), (7260, "2h1m0s"), (-5, "0s"), (60, "1m0s")])
def test_durations_are_whole_and_never_less_than_nothing(seconds: int, text: str) -> None:
    assert duration(seconds) == text


# when it is written


def test_what_was_to_be_written_earlier_is() -> None:
    pace, due = Pace().changed(NOW, Urgency.SETTLED)
    assert (pace, due) == (Pace(NOW + SETTLED_COLLECT, writes=1), NOW + SETTLED_COLLECT)
    later = NOW + timedelta(seconds=1)
    assert pace.changed(later, Urgency.SAID_ELSEWHERE) == (pace, due)


@pytest.mark.parametrize(
    ("pace", "urgency", "writes"),
    [
        (Pace(), Urgency.PROGRESS, 1),
        (Pace(wrote_at=NOW - QUIET, writes=9), Urgency.PROGRESS, 1),
        (Pace(wrote_at=NOW - QUIET + timedelta(seconds=1), writes=9), Urgency.PROGRESS, 9),
        (Pace(wrote_at=NOW, writes=9), Urgency.NEWS, 0),
    ],
    ids=["the first", "after a quiet time", "in between", "news"],
)
def test_writes_are_counted_from_the_news_on_or_from_a_quiet_time(pace: Pace, urgency: Urgency, writes: int) -> None:
    noted, due = pace.changed(NOW, urgency)
    assert noted == Pace(due, pace.wrote_at, writes)
    assert noted.wrote(NOW) == Pace(None, NOW, writes + 1)


def test_the_pause_before_a_write_counts_from_the_last_one() -> None:
    wrote_at = NOW - timedelta(seconds=5)
    waits = [Pace(wrote_at=wrote_at, writes=n).changed(NOW, Urgency.SETTLED)[1] for n in (1, 2, 3, 4, 5)]
    assert waits == [NOW + SETTLED_COLLECT, *(wrote_at + pause for pause in (*PAUSES[1:], PAUSES[-1]))]
    assert Pace(wrote_at=wrote_at, writes=1).changed(NOW, Urgency.PROGRESS)[1] == NOW + PROGRESS_COLLECT
