"""Applications of an outage: what one look after another says of each."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from leeward.api.outage import ClusterOutage, MoveState, OutageApplication, OutageStatus, StepKind
from leeward.api.work import GracefulEvictionTask
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.outages.applications import next_application
from leeward.core.outages.record import begin, recall, render
from leeward.core.outages.sight import ClusterSight, CopySight
from tests.builders import at
from tests.unit.core.outages.looks import NO_EXECUTE, elsewhere, gone, held, here, key, look, lost, states, with_sight

DEAD, BACK = lost(NO_EXECUTE), lost(ready_since=at(690))
TARGETS = {"member1": 2, "member2": 1, "member3": 4}
"""Places of an application before the outage."""
NOT_CONFIRMED, NO_PLACE, NO_GAIN = (
    held(reason) for reason in (HeldReason.NOT_CONFIRMED, HeldReason.NO_PLACE_TO_GO, HeldReason.NOTHING_TO_GAIN)
)


def known(state: MoveState = MoveState.DUE, **fields: object) -> OutageApplication:
    app = OutageApplication("Deployment", "web", state, "default", replicas=2, tolerated_seconds=300)
    return replace(app, **fields)


def after(
    before: OutageApplication | None,
    sight: CopySight,
    *,
    back: bool = False,
    seconds: float = 900,
    failed: float = 0,
    targets: Mapping[str, int] | None = None,
) -> OutageApplication:
    there = ClusterSight(BACK if back else DEAD, at(seconds))
    return next_application(before, sight, there, targets or TARGETS, OutageStatus(failed_at=at(failed)))


def task(replicas: int | None) -> GracefulEvictionTask:
    return GracefulEvictionTask("member1", "Taint", "x", replicas=replicas, creation_timestamp=at(630))


@pytest.mark.parametrize(
    ("sight", "targets", "replicas"),
    [
        (here(), {"member1": 2, "member2": 1}, 2),
        (with_sight(gone(), task=task(4)), {"member2": 3}, 4),
        (with_sight(gone(), task=task(None)), {"member2": 3}, 0),
        (here(), {"member1": 0, "member2": 1}, 0),
        (with_sight(here(), task=task(5)), {"member1": 2}, 2),
        (elsewhere(), {"member2": 3}, 0),
    ],
    ids=["it is here", "it has left", "nobody counts", "it asks for none", "a part has left", "it has left unseen"],
)
def test_what_is_new_says_how_many_replicas_were_here(
    sight: CopySight, targets: Mapping[str, int], replicas: int
) -> None:
    found = after(None, sight, targets=targets)
    assert (found.kind, found.name, found.namespace) == ("Deployment", "web", "default")
    assert (found.replicas, found.tolerated_seconds) == (replicas, 300)


MOVED = known(MoveState.MOVED, left_at=at(630), healthy_at=at(650), recovery_seconds=650, to={"member2": 2})


def test_what_is_here_again_when_its_cluster_fails_anew_has_not_left() -> None:
    assert after(MOVED, here(due_at=at(1_100)), failed=800) == known(due_at=at(1_100))


@pytest.mark.parametrize(
    ("sight", "failed", "back"),
    [(gone(), 800, False), (with_sight(here(), task=task(2), is_replaced=True), 630, False), (here(), 800, True)],
    ids=["it is not here again", "it left in that second", "its cluster is well"],
)
def test_what_has_moved_stays_so_where(sight: CopySight, failed: float, *, back: bool) -> None:
    assert after(MOVED, sight, failed=failed, back=back) == MOVED


@pytest.mark.parametrize(
    ("before", "sight", "back", "expected"),
    [
        (known(MoveState.HELD, reason="Why", message="so"), here(due_at=at(800), hold=NOT_CONFIRMED), False,
            (MoveState.HELD, "Why", "so", at(800))),
        (known(MoveState.KEPT, reason="Why", message="so"), here(due_at=at(800), hold=NOT_CONFIRMED), False,
            (MoveState.KEPT, "Why", "so", None)),
        (known(), here(due_at=at(800), hold=NOT_CONFIRMED), False,
            (MoveState.DUE, "NotConfirmed", "because of NotConfirmed", at(800))),
        (known(MoveState.HELD, reason="Why", message="so"), here(), True, (MoveState.RETURNED, "Why", "so", None)),
        (known(reason="Why", message="so"), here(due_at=at(800)), True, (MoveState.RETURNED, "", "", None)),
        (known(MoveState.HELD, reason="Why", message="so"), here(due_at=at(800), hold=NO_GAIN), False,
            (MoveState.KEPT, "NothingToGain", "because of NothingToGain", None)),
        (known(MoveState.HELD, reason="Why", message="so"), here(due_at=at(950)), False,
            (MoveState.DUE, "", "", at(950))),
        (known(), gone(due_at=at(800), hold=NO_PLACE), False,
            (MoveState.HELD, "NoPlaceToGo", "because of NoPlaceToGo", None)),
        (known(), gone(due_at=at(800)), False, (MoveState.MOVING, "", "", None)),
    ],
    ids=[
        "held, not confirmed", "kept, not confirmed", "due, not confirmed", "held, and well again",
        "due, and well again", "held, then kept", "held, then due", "held on its way", "on its way",
    ],
)  # fmt: skip
def test_why_it_stays_is_told_until_something_else_is_known(
    before: OutageApplication, sight: CopySight, expected: tuple[object, ...], *, back: bool
) -> None:
    found = after(before, sight, back=back)
    assert (found.state, found.reason, found.message, found.due_at) == expected


def test_what_others_got_for_it_is_told_once_it_has_left() -> None:
    grown = {"member1": 2, "member2": 9}
    assert after(known(), here(targets=grown)).to == {}, "a user has scaled up"
    moved = with_sight(gone(), targets={"member2": 2, "member3": 4, "member4": 0, "member5": 3})
    found = after(known(), moved)
    assert found.to == {"member2": 1, "member4": 0, "member5": 3}
    nowhere = after(found, with_sight(gone(), targets={"member3": 4}))
    assert nowhere.to == found.to, "what is known of it is kept"
    part = after(known(), with_sight(here(), targets={"member1": 9, "member3": 5}, task=task(1)))
    assert part.to == {"member3": 1}


def test_it_recovers_in_the_seconds_since_its_cluster_failed() -> None:
    assert after(known(), gone(is_replaced=True)).recovery_seconds == 900
    assert after(known(), gone(is_replaced=True), seconds=700, failed=700).recovery_seconds == 0
    assert after(known(), gone(is_replaced=True), seconds=700, failed=701).recovery_seconds == 0


# all that is seen in one look


def test_who_holds_evictions_for_all_is_asked_of_each() -> None:
    record = begin(lost())
    assert states(look(record, 400, DEAD, here(), braked=True)) == {"applications": 1, "held": 1}
    assert states(look(record, 400, DEAD, here(), evicts=False)) == {"applications": 1, "kept": 1}


def test_what_is_gone_or_was_never_here_hides_no_other() -> None:
    record = look(begin(lost()), 40, lost(), elsewhere(), here("other"), gone=("deleted",))
    assert set(record.applications) == {key("other")}


def test_places_are_those_before_the_outage_and_of_what_is_made_anew_its_own() -> None:
    record = look(begin(lost()), 40, lost(), here(uid="a"), here("other", uid="b"))
    left = look(record, 700, DEAD, gone(uid="a"), gone("other", uid="b"))
    assert [each.to for each in left.applications.values()] == [{"member2": 2}, {"member2": 2}]
    record = look(record, 50, lost(), gone=("web",))
    assert (set(record.before), dict(record.uids)) == ({key("other")}, {key("other"): "b"})
    anew = look(record, 60, lost(), here(uid="c", targets={"member1": 5}))
    assert anew.applications[key("web")].replicas == 5
    assert look(anew, 700, DEAD, gone("other", uid="b")).applications[key("other")].to == {"member2": 2}


def test_old_copies_are_waited_for_where_something_has_left_or_is_held_on_its_way() -> None:
    record = look(begin(lost()), 40, lost(), *(here(name) for name in "abcd"))
    waiting = (gone("a"), gone("b", is_replaced=True), gone("c", hold=NO_PLACE))
    record = look(record, 700, DEAD, *waiting, with_sight(elsewhere(hold=NO_PLACE), name="d", is_behind=True))
    assert record.behind == {key(name) for name in "abc"}


def test_old_copies_are_cleaned_up_when_the_last_one_is_seen_to_be() -> None:
    record = look(begin(lost()), 640, DEAD, gone("a", is_replaced=True), gone("b", is_replaced=True))
    done = [with_sight(gone(name, is_replaced=True), task=None, is_behind=False) for name in "ab"]
    record = look(record, 650, DEAD, done[0])
    assert record.cleaned_at is None
    record = look(record, 660, DEAD, done[1])
    record = look(look(record, 670, DEAD, *done), 700, BACK)
    assert (record.cleaned_at, record.status.cleaned_at) == (at(660), at(660))
    assert [(step.at, step.applications) for step in record.status.steps if step.kind is StepKind.CLEANED] == [
        (at(660), 2)
    ]


def counted(outage: ClusterOutage, number: int) -> ClusterOutage:
    return replace(outage, status=replace(outage.status, applications=number))


def test_what_was_counted_and_is_deleted_has_not_moved() -> None:
    outage = counted(render(look(begin(lost()), 640, DEAD, gone("a"), gone("b"))), 3)
    record = look(recall(outage), 650, DEAD, gone=("a", "c"))
    assert (record.expected, record.unnamed) == (2, 0)
    record = look(record, 660, DEAD, gone("b"), whole=True)
    assert (record.expected, record.unnamed, states(record)) == (None, 1, {"applications": 2, "moving": 1, "moved": 1})


@pytest.mark.parametrize(
    ("sight", "is_new"),
    [
        (elsewhere(made_at=at(630)), False),
        (elsewhere(made_at=at(631)), True),
        (elsewhere(), False),
    ],
)
def test_who_takes_over_takes_what_is_as_old_as_what_has_left_for_it(sight: CopySight, *, is_new: bool) -> None:
    record = recall(render(look(begin(lost()), 700, DEAD, gone())))
    assert (key("web") not in look(record, 800, DEAD, sight).applications) is is_new


def test_who_takes_over_takes_what_was_made_when_the_outage_began_for_what_was_here() -> None:
    record = recall(render(look(begin(lost()), 40, lost(), here())))
    assert key("web") in look(record, 800, DEAD, elsewhere(made_at=at(0))).applications
