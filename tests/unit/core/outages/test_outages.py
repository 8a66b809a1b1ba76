"""Records of outages: what one look after another makes of them, how large they get, and who takes them over."""

from collections.abc import Mapping
from datetime import timedelta

import pytest
from msgspec.structs import replace

from kubeapi.codec import decode, encode
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.outage import ClusterOutage, MoveState, OutagePhase, OutageStatus, RecoveryTimes, StepKind
from leeward.api.policy import Placement
from leeward.api.work import ReplicaRequirements
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.outages.fold import fold, newly_recovered
from leeward.core.outages.observation import OutageObservation
from leeward.core.outages.outage_steps import FIRST_STEPS, MOST_STEPS, with_step
from leeward.core.outages.record import (
    MOST_LISTED,
    MOST_POINTS,
    OutageRecord,
    begin,
    goes_on,
    recall,
    render,
)
from leeward.core.outages.recovery import MOST_TIMES, duration, with_recovery
from leeward.core.outages.sight import ApplicationKey, ClusterSight, CopySight, decide_state, sight_of
from leeward.core.outages.writing import PAUSES, PROGRESS_COLLECT, QUIET, SETTLED_COLLECT, Pace, Urgency, urgency_of
from tests.builders import NOW, aggregated, at, binding, divided, duplicated
from tests.unit.core.outages.looks import (
    NO_EXECUTE,
    elsewhere,
    gone,
    held,
    here,
    key,
    look,
    lost,
    states,
    with_sight,
)

LARGEST_BYTES = 300_000
"""A fifth of what etcd takes."""


def test_the_same_look_twice_changes_nothing() -> None:
    for sight in (here(), gone(), gone(is_replaced=True), here(due_at=at(10), hold=held(HeldReason.NO_PLACE_TO_GO))):
        once = look(begin(lost()), 700, lost(NO_EXECUTE), sight)
        twice = look(once, 800, lost(NO_EXECUTE), sight)
        assert render(twice) == render(once)
        assert newly_recovered(once, twice) == []


def test_what_leaves_together_is_one_step_and_what_leaves_later_another() -> None:
    record = look(begin(lost()), 700, lost(NO_EXECUTE), *(gone(f"a{n}", 630 + n) for n in range(5)), gone("late", 900))
    waves = [step for step in record.status.steps if step.kind is StepKind.LEFT]
    assert [(wave.at, wave.until, wave.applications) for wave in waves] == [
        (at(630), at(634), 5),
        (at(900), at(900), 1),
    ]
    record = look(record, 705, lost(NO_EXECUTE), gone("a1", 631, is_replaced=True), gone("a2", 632))
    waves = [step for step in record.status.steps if step.kind is StepKind.LEFT]
    assert [(wave.healthy, wave.healthy_at) for wave in waves] == [(1, at(705)), (0, None)]
    assert states(record) == {"applications": 6, "moved": 1, "moving": 5}


@pytest.mark.parametrize("placement", [duplicated("member1", "member2"), divided({"member1": 1, "member2": 1})])
def test_what_is_scaled_to_none_while_its_cluster_is_lost_leaves_nothing_unfinished(placement: Placement) -> None:
    cluster = lost(NO_EXECUTE)
    asks_for_none = aggregated(binding(placement, 0, replica_requirements=ReplicaRequirements()))
    sight = sight_of(asks_for_none, cluster, {"member1": cluster}, lambda _: None, at(700))
    record = look(begin(cluster), 600, cluster, here("nginx", uid="uid-1"))
    record = fold(record, OutageObservation(at(700), cluster, {key("nginx"): sight}))
    assert states(record) == {"applications": 1, "moved": 1}
    assert look(record, 800, lost(ready_since=at(790))).status.phase is OutagePhase.OVER


def test_what_has_no_place_has_not_moved() -> None:
    cluster = lost(NO_EXECUTE)
    placeless = aggregated(binding(duplicated("member1"), 2, replica_requirements=ReplicaRequirements()))
    assert not sight_of(placeless, cluster, {"member1": cluster}, lambda _: None, at(700)).is_replaced


def test_an_application_recovers_once_and_stays_moved() -> None:
    before = look(begin(lost()), 640, lost(NO_EXECUTE), gone())
    after = look(before, 650, lost(NO_EXECUTE), gone(is_replaced=True))
    assert [each.recovery_seconds for each in newly_recovered(before, after)] == [650]
    again = look(after, 660, lost(NO_EXECUTE), gone(is_replaced=False))
    assert (newly_recovered(after, again), again.status.recovery.count) == ([], 1)
    assert states(again) == {"applications": 1, "moved": 1}


def test_an_eviction_that_is_withdrawn_is_told() -> None:
    record = look(begin(lost()), 640, lost(NO_EXECUTE), gone())
    record = look(record, 700, lost(ready_since=at(690)), here())
    assert states(record) == {"applications": 1, "returned": 1}
    assert [step.kind for step in record.status.steps][-2:] == [StepKind.RETURNED, StepKind.WITHDRAWN]
    assert record.status.phase is OutagePhase.OVER


def test_an_outage_is_not_over_while_old_copies_are_there() -> None:
    record = look(begin(lost()), 640, lost(NO_EXECUTE), gone(is_replaced=True))
    back = lost(ready_since=at(690))
    record = look(record, 700, back, with_sight(gone(is_replaced=True), task=None))
    assert (record.status.phase, record.status.lasted) == (OutagePhase.RETURNED, "11m30s")
    record = look(record, 730, back, with_sight(gone(is_replaced=True), task=None, is_behind=False))
    assert (record.status.phase, record.status.cleaned_at) == (OutagePhase.OVER, at(730))


def test_an_application_that_is_deleted_is_concerned_no_more() -> None:
    record = look(begin(lost()), 40, lost(), here("web"), here("other"))
    record = fold(record, OutageObservation(at(50), lost(), {key("web"): None}))
    assert states(record) == {"applications": 1, "due": 1}


def test_another_application_of_the_same_name_is_not_the_one_that_was_there() -> None:
    record = look(begin(lost()), 700, lost(NO_EXECUTE), here(uid="a"))
    assert states(look(record, 800, lost(NO_EXECUTE), elsewhere(uid="b"))) == {}
    assert states(look(record, 800, lost(NO_EXECUTE), elsewhere(uid="a"))) == {"applications": 1, "moving": 1}


def test_who_takes_over_knows_another_application_by_its_younger_binding() -> None:
    record = recall(render(look(begin(lost()), 700, lost(NO_EXECUTE), gone(made_at=at(10)))))
    for made, named in ((10, ["web"]), (750, [])):
        seen = look(record, 800, lost(NO_EXECUTE), elsewhere(made_at=at(made)), whole=True)
        assert [each.name for each in render(seen).status.listed] == named


@pytest.mark.parametrize(
    ("sight", "told"),
    [
        (elsewhere(made_at=at(-10)), "moving"),
        (elsewhere(made_at=at(10)), ""),
        (elsewhere(), "moving"),
        (here(made_at=at(10)), "due"),
        (gone(made_at=at(10)), "moving"),
    ],
    ids=["it has left unseen", "made since then, elsewhere", "of no age", "made since then, here", "it leaves"],
)
def test_who_takes_over_knows_what_was_made_anew_elsewhere_before_it_had_left(sight: CopySight, told: str) -> None:
    record = recall(render(look(begin(lost()), 100, lost(), here(made_at=at(-10)))))
    expected = {"applications": 1, told: 1} if told else {}
    assert states(look(record, 800, lost(NO_EXECUTE), sight, whole=True)) == expected


def test_what_was_deleted_before_somebody_took_over_has_not_moved() -> None:
    record = recall(render(look(begin(lost()), 100, lost(), here("web"), here("other"))))
    seen: Mapping[ApplicationKey, CopySight | None] = {key("web"): None, key("other"): here("other")}
    record = fold(record, OutageObservation(at(800), lost(NO_EXECUTE), seen, is_whole=True))
    assert states(record) == {"applications": 1, "due": 1}


def test_an_outage_is_not_over_while_an_eviction_is_held() -> None:
    record = look(begin(lost()), 700, lost(NO_EXECUTE), gone())
    back, missing = lost(ready_since=at(900)), held(HeldReason.REPLACEMENT_MISSING)
    record = look(record, 900, back, gone(hold=missing))
    assert (states(record), record.status.phase) == ({"applications": 1, "held": 1}, OutagePhase.RETURNED)
    record = look(record, 950, back, with_sight(gone(is_replaced=True), task=None, is_behind=False))
    assert (states(record), record.status.phase) == ({"applications": 1, "moved": 1}, OutagePhase.OVER)


def test_an_outage_ends_no_earlier_than_it_began_whatever_a_clock_says() -> None:
    record = look(begin(lost()), 700, lost(NO_EXECUTE), here())
    record = look(record, 900, lost(ready_since=at(-3_600)), here())
    assert record.status.returned_at == record.status.failed_at


def test_a_cluster_fails_again_no_earlier_than_it_failed_whatever_a_restored_control_plane_says() -> None:
    """The cluster's object tells of an earlier look than the outage that goes on (seed 727)."""
    record = look(begin(lost()), 700, lost(ready_since=at(690)))
    restored = lost()
    earlier = [replace(each, last_transition_time=at(-30)) for each in restored.status.conditions]
    again = look(record, 710, replace(restored, status=replace(restored.status, conditions=tuple(earlier))))
    assert (again.status.failures, again.status.failed_at) == (record.status.failures + 1, NOW)


@pytest.mark.parametrize("reason", HeldReason)
def test_every_reason_is_held_kept_or_due(reason: HeldReason) -> None:
    there = ClusterSight(lost(NO_EXECUTE), at(700))
    state, told, _ = decide_state(here(due_at=at(630), hold=held(reason)), None, there)
    assert state in (MoveState.HELD, MoveState.KEPT, MoveState.DUE)
    assert told == reason
    not_due = decide_state(here(due_at=at(900), hold=held(reason)), None, there)
    assert not_due == (MoveState.DUE, "", ""), "the condition speaks of another cluster"


def test_what_stays_without_being_due_says_why() -> None:
    def reason_of(sight: CopySight, there: ClusterSight) -> tuple[MoveState, str]:
        return decide_state(sight, None, there)[:2]

    dead = lost()
    not_seen = Condition("Ready", "False", "StatusCollectionFailed", "", at(30))
    unseen = replace(dead, status=replace(dead.status, conditions=(not_seen, dead.status.conditions[1])))
    assert reason_of(here(tolerated_seconds=None), ClusterSight(dead, NOW)) == (MoveState.KEPT, "Tolerated")
    assert reason_of(here(), ClusterSight(dead, NOW, evicts=False)) == (MoveState.KEPT, "EvictionDisabled")
    assert reason_of(here(), ClusterSight(unseen, NOW)) == (MoveState.KEPT, "StatusCollectionFailed")
    assert reason_of(here(), ClusterSight(dead, NOW, braked=True)) == (MoveState.HELD, "BrakeEngaged")


def test_times_are_counted_exactly_while_they_are_few_and_bounded_when_many() -> None:
    times = RecoveryTimes()
    for seconds in (10, 30, 20):
        times = with_recovery(times, seconds)
    assert (times.count, times.median_seconds, times.worst_seconds, times.worst) == (3, 20, 30, "30s")
    for seconds in range(601, 3601, 3):
        times = with_recovery(times, seconds)
    assert times.count == sum(each.count for each in times.times) == 1003
    assert len(times.times) <= MOST_TIMES
    assert times.worst_seconds == 3598, "the worst is exact"
    assert abs(times.median_seconds - 2098) <= 16


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59, "59s"), (682, "11m22s"), (3600, "1h0m0s"), (90061, "25h1m1s")]
)
def test_durations_read_as_kubectl_writes_them(seconds: int, text: str) -> None:
    assert duration(seconds) == text


def crowd(number: int, *, moved: bool) -> OutageRecord:
    message = "not evicted from member1, because there is no place to go: " + "long " * 500
    condition = replace(held(HeldReason.NO_PLACE_TO_GO), message=message)
    record = look(begin(lost()), 40, lost(), *(here(f"application-{n:05}") for n in range(number)))
    for n in range(number):
        name = f"application-{n:05}"
        sight = gone(name, 630 + n, is_replaced=True) if moved else here(name, due_at=at(630), hold=condition)
        record = look(record, 640 + 40 * n, lost(NO_EXECUTE), sight)
    return record


@pytest.mark.parametrize("moved", [True, False])
def test_d9_an_object_stays_small_however_many_applications_there_are(moved: bool) -> None:
    record = crowd(600, moved=moved)
    outage = render(record)
    assert outage.status.applications == 600
    assert len(outage.status.listed) == MOST_LISTED
    assert len(outage.status.curve) <= MOST_POINTS
    assert len(outage.status.steps) <= MOST_STEPS
    assert len(encode(outage)) < LARGEST_BYTES
    assert decode(encode(outage), ClusterOutage) == outage


def test_who_takes_over_counts_those_that_nobody_can_name_as_moved() -> None:
    record = crowd(MOST_LISTED + 50, moved=True)
    outage = render(record)
    taken = recall(decode(encode(outage), ClusterOutage))
    known = [gone(each.name, is_replaced=True) for each in outage.status.listed[:10]]
    taken = look(taken, 20_000, lost(NO_EXECUTE), *known, whole=True)
    assert states(taken) == states(record) == {"applications": MOST_LISTED + 50, "moved": MOST_LISTED + 50}
    assert taken.status.recovery == record.status.recovery
    assert newly_recovered(recall(outage), taken) == []


def test_of_many_steps_the_first_and_the_last_are_kept() -> None:
    status = OutageStatus()
    for n in range(MOST_STEPS + 10):
        status = with_step(status, at(n), StepKind.FAILED_AGAIN)
    assert [step.at for step in status.steps[:FIRST_STEPS]] == [at(n) for n in range(FIRST_STEPS)]
    assert (len(status.steps), status.omitted_steps, status.steps[-1].at) == (MOST_STEPS, 10, at(MOST_STEPS + 9))


def test_an_outage_that_is_over_goes_on_for_ten_minutes() -> None:
    record = look(begin(lost()), 40, lost(), here())
    outage = render(look(record, 100, lost(ready_since=at(90)), here()))
    assert outage.status.phase is OutagePhase.OVER

    def failing_since(seconds: float) -> Cluster:
        cluster = lost()
        ready, seen = cluster.status.conditions
        conditions = (ready, replace(seen, last_transition_time=at(seconds)))
        return replace(cluster, status=replace(cluster.status, conditions=conditions))

    assert goes_on(outage, failing_since(90 + 599))
    assert not goes_on(outage, failing_since(90 + 601))
    assert not goes_on(outage, lost(ready_since=at(90)))


def test_news_are_written_at_once_and_the_rest_ever_later() -> None:
    pace, due = Pace().changed(NOW, Urgency.NEWS)
    assert due == NOW
    pace, now, waited = pace.wrote(NOW), NOW, list[float]()
    for _ in range(len(PAUSES) + 1):
        pace, due = pace.changed(now, Urgency.SETTLED)
        waited.append((due - now).total_seconds())
        now = due
        pace = pace.wrote(now)
    assert waited == [10, 60, 120, 300, 300]
    later = now + timedelta(seconds=1)
    pace, last = pace.changed(later, Urgency.SAID_ELSEWHERE)
    pace, sooner = pace.changed(later, Urgency.PROGRESS)
    _, urgent = pace.changed(later, Urgency.NEWS)
    assert urgent == later < sooner < last
    fresh = Pace(wrote_at=now, writes=9)
    (_, settled), (_, moving) = (fresh.changed(now + QUIET, each) for each in (Urgency.SETTLED, Urgency.PROGRESS))
    assert settled == now + QUIET + SETTLED_COLLECT, "after five quiet minutes the pauses are short again"
    assert moving == now + QUIET + PROGRESS_COLLECT, "those who are on the way are waited for"


def test_a_taint_alone_is_worth_no_write() -> None:
    record = look(begin(lost()), 40, lost(), here())
    tainted = look(record, 340, lost(NO_EXECUTE), here(due_at=at(630)))
    assert urgency_of(None, render(record)) is Urgency.NEWS
    assert urgency_of(render(record), render(tainted)) is Urgency.SAID_ELSEWHERE
    left = look(tainted, 640, lost(NO_EXECUTE), gone())
    assert urgency_of(render(tainted), render(left)) is Urgency.PROGRESS
    there = look(left, 650, lost(NO_EXECUTE), gone(is_replaced=True))
    assert urgency_of(render(tainted), render(there)) is Urgency.SETTLED
    back = look(left, 700, lost(ready_since=at(690)), here())
    assert urgency_of(render(left), render(back)) is Urgency.NEWS
