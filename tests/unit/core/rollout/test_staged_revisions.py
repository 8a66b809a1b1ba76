"""Decisions of rollouts: which revision each cluster is to have, and why not all of them have the new one."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from leeward.api.rollout import parse_rollout
from leeward.core.rollout.rollout_decision import KEPT, Reason, RolloutDecision, Standing
from leeward.core.rollout.staged_revisions import decide_rollout
from leeward.core.rollout.state import Progress, RolloutSight, RolloutState, Wishes

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STRATEGY = parse_rollout(
    "{stages: [{name: canary, clusters: [a], healthyFor: 5m}, {name: rest, maxUnavailable: 2}], progressDeadline: 10m}"
)
BACK = parse_rollout("{stages: [{clusters: [a]}, {}], onFailure: Rollback}")
OLD, NEW, OTHER = "old", "new", "other"
UNDER_WAY = RolloutState(target=NEW, proven=OLD)


def serving(revision: str | None = OLD) -> Standing:
    return Standing(revision, RolloutSight.SERVING)


def failing(revision: str | None = OLD) -> Standing:
    return Standing(revision, RolloutSight.NOT_SERVING)


def unseen(revision: str | None = OLD) -> Standing:
    return Standing(revision, RolloutSight.UNSEEN)


def since(minutes: float, sight: RolloutSight = RolloutSight.SERVING) -> Progress:
    at = NOW - timedelta(minutes=minutes)
    return Progress(sight=sight, since=at, updated=at)


def decide(
    before: RolloutState | None, standings: Mapping[str, Standing], wishes: Wishes | None = None, target: str = NEW
) -> RolloutDecision:
    """The decision on a rollout that has begun."""
    before = structs.replace(before, began=before.began or NOW) if before is not None else None
    return decide_rollout(STRATEGY, before, target, standings, wishes or Wishes(), NOW, (OLD, NEW, OTHER))


def test_a_first_deployment_goes_everywhere() -> None:
    found = decide(None, {"a": failing(None), "b": failing(None)})
    assert found.revisions == {"a": NEW, "b": NEW}
    assert found.reason is Reason.COMPLETE
    assert found.state.proven == NEW


def test_a_change_begins_in_the_first_stage() -> None:
    found = decide(RolloutState(target=OLD, proven=OLD), {"a": serving(), "b": serving(), "c": serving()})
    assert found.revisions == {"a": NEW, "b": OLD, "c": OLD}
    assert (found.reason, found.stage) == (Reason.PROGRESSING, "canary")
    assert found.state.clusters.keys() == {"a"}


@pytest.mark.parametrize(("minutes", "updated"), [(4.9, set[str]()), (5, {"b", "c"})])
def test_the_next_stage_comes_when_the_last_one_has_served_for_its_time(minutes: float, updated: set[str]) -> None:
    before = RolloutState(target=NEW, proven=OLD, clusters={"a": since(minutes)})
    found = decide(before, {"a": serving(NEW), "b": serving(), "c": serving(), "d": serving()})
    assert {name for name, each in found.revisions.items() if each == NEW} == {"a", *updated}
    if not updated:
        assert found.wake_at == NOW + timedelta(minutes=5 - minutes)


def test_the_last_stage_makes_the_revision_the_proven_one() -> None:
    before = RolloutState(target=NEW, proven=OLD, clusters={"a": since(9), "b": since(2)})
    found = decide(before, {"a": serving(NEW), "b": serving(NEW)})
    assert (found.reason, found.state.proven, found.state.previous) == (Reason.COMPLETE, NEW, OLD)
    assert not found.state.clusters


def test_a_cluster_without_a_copy_gets_the_proven_revision() -> None:
    before = RolloutState(target=NEW, proven=OLD, clusters={"a": since(9)})
    found = decide(before, {"a": serving(NEW), "b": failing(None)})
    assert found.revisions == {"a": NEW, "b": OLD}
    unknown = decide(RolloutState(target=NEW), {"a": serving(KEPT), "b": failing(None)})
    assert unknown.revisions == {"a": KEPT, "b": NEW}


def test_what_cannot_be_seen_stops_a_rollout_and_has_not_failed() -> None:
    before = RolloutState(target=NEW, proven=OLD, clusters={"a": since(60, RolloutSight.NOT_SERVING)})
    found = decide(before, {"a": unseen(NEW), "b": serving()})
    assert (found.reason, found.revisions) == (Reason.OUTAGE, {"a": NEW, "b": OLD})
    elsewhere = decide(UNDER_WAY, {"a": serving(), "b": unseen()})
    assert (elsewhere.reason, elsewhere.revisions) == (Reason.OUTAGE, {"a": OLD, "b": OLD})


def test_what_is_seen_not_to_serve_by_the_deadline_has_failed() -> None:
    before = RolloutState(target=NEW, proven=OLD, clusters={"a": since(10, RolloutSight.NOT_SERVING)})
    found = decide(before, {"a": failing(NEW), "b": serving()})
    assert (found.reason, found.revisions) == (Reason.FAILED, {"a": NEW, "b": OLD})
    back = decide_rollout(BACK, before, NEW, {"a": failing(NEW), "b": serving()}, Wishes(), NOW, (OLD, NEW))
    assert (back.reason, back.revisions, back.state.failed) == (Reason.ROLLED_BACK, {"a": OLD, "b": OLD}, NEW)
    unknown = decide_rollout(BACK, before, NEW, {"a": failing(NEW), "b": serving()}, Wishes(), NOW, (NEW,))
    assert unknown.reason is Reason.FAILED


def test_a_cure_waits_for_nobody_who_was_ill_before() -> None:
    at_rest = RolloutState(target=OLD, proven=OLD)
    found = decide(at_rest, {"a": serving(), "b": failing(), "c": failing()})
    assert found.revisions == {"a": NEW, "b": OLD, "c": OLD}
    assert found.state.ill_before == ("b", "c")
    fell_ill = decide(UNDER_WAY, {"a": serving(), "b": failing()})
    assert (fell_ill.reason, fell_ill.revisions) == (Reason.NOT_SERVING, {"a": OLD, "b": OLD})


def in_rest(ill: tuple[str, ...] = ()) -> RolloutState:
    return RolloutState(target=NEW, proven=OLD, ill_before=ill, clusters={"a": since(9, RolloutSight.SERVING)})


@pytest.mark.parametrize("others", [{"b": failing()}, {"b": serving(), "c": serving(), "d": failing()}])
def test_a_replacement_that_starts_waits_with_the_proven_revision(others: dict[str, Standing]) -> None:
    """A starting copy counts as unavailable: there is room for one other."""
    found = decide(in_rest(), {"a": serving(NEW), **others})
    ill = [name for name, each in others.items() if each == failing()]
    assert [found.revisions[name] for name in ill] == [OLD]
    assert sum(found.revisions[name] == NEW for name in others) == min(1, len(others) - 1)
    if len(others) == 1:
        assert (found.reason, "b does not serve" in found.message) == (Reason.NOT_SERVING, True)


def test_a_failover_next_to_a_change_that_does_not_serve_is_no_part_of_it() -> None:
    before = RolloutState(target=NEW, proven=OLD, clusters={"a": since(5, RolloutSight.NOT_SERVING)})
    for began in (before, in_rest()):
        first = decide(began, {"a": failing(NEW), "b": serving(), "d": failing(None)})
        again = decide(first.state, {"a": failing(NEW), "b": serving(), "d": failing()})
        assert (first.revisions["d"], again.revisions["d"]) == (OLD, OLD)


def test_a_replacement_is_not_ill_from_before_though_its_cluster_was_to_have_a_copy_then() -> None:
    first = decide(RolloutState(target=OLD, proven=OLD), {"a": serving(), "d": failing(None)})
    assert not first.state.ill_before
    left = decide(in_rest(ill=("d",)), {"a": serving(NEW), "b": serving()})
    assert not left.state.ill_before


@pytest.mark.parametrize(
    ("standing", "is_ill"), [(failing(), True), (failing(OTHER), False), (failing(KEPT), False)], ids=str
)
def test_a_copy_that_serves_in_part_waits_for_room(standing: Standing, is_ill: bool) -> None:
    partly = replace(standing, serves_some=True)
    before = in_rest(ill=("b", "c", "d") if is_ill else ())
    one = {"a": serving(NEW), "b": standing, "c": standing, "d": standing}
    assert {decide(before, one).revisions[name] for name in "bcd"} == {NEW}
    some = {"a": serving(NEW), "b": partly, "c": partly, "d": partly}
    updated = [name for name in "bcd" if decide(before, some).revisions[name] == NEW]
    assert len(updated) == (0 if standing.revision == KEPT else 2)


SOAKING = parse_rollout(
    "{stages: [{name: canary, clusters: [a], healthyFor: 1h, pause: true}, {name: rest, clusters: [b, c]}]}"
)


def soak(before: RolloutState, standings: Mapping[str, Standing], approved: str = "") -> RolloutDecision:
    return decide_rollout(SOAKING, before, NEW, standings, Wishes(approved=approved), NOW, (OLD, NEW))


@pytest.mark.parametrize("first", [serving(), unseen()])
@pytest.mark.parametrize("left", [{"b": serving(), "c": serving()}, dict[str, Standing]()], ids=["others", "none"])
def test_a_stage_that_was_emptied_before_it_was_done_holds_the_change(
    first: Standing, left: dict[str, Standing]
) -> None:
    """Neither a copy that failed over, nor one that leaves, makes its stage a proven one."""
    began = soak(RolloutState(target=OLD, proven=OLD), {"a": first, "b": serving()})
    assert (began.stage, began.state.stage) == ("canary", "canary")
    held = soak(began.state, {"a": Standing(NEW, RolloutSight.UNSEEN, is_target=False), **left})
    assert (held.reason, held.stage, held.state.proven) == (Reason.WAITING, "canary", OLD)
    assert {held.revisions[name] for name in left} <= {OLD}
    assert "leeward rollout resume" in held.message
    assert soak(held.state, left).reason is Reason.WAITING
    resumed = soak(held.state, left, approved=f"{NEW}/canary")
    assert resumed.reason is (Reason.PROGRESSING if left else Reason.COMPLETE)
    returned = soak(held.state, {"a": serving(), "b": serving()})
    assert (returned.reason, returned.revisions) == (Reason.PROGRESSING, {"a": NEW, "b": OLD})


def test_the_approval_of_a_later_stage_holds_for_the_stages_before_it() -> None:
    """A binding remembers one approval: the one of the second stage took that of the first away."""
    stages = (
        "{stages: [{name: one, clusters: [a], pause: true}, {name: two, clusters: [b], pause: true}, {name: rest}]}"
    )
    before = RolloutState(target=NEW, proven=OLD, clusters={"a": since(9), "b": since(5)}, stage="two")
    there = {"a": serving(NEW), "b": serving(NEW), "c": serving()}
    asked = {"one": (Reason.WAITING, "two"), "two": (Reason.PROGRESSING, "rest"), "": (Reason.WAITING, "one")}
    for stage, expected in asked.items():
        wishes = Wishes(approved=f"{NEW}/{stage}")
        found = decide_rollout(parse_rollout(stages), before, NEW, there, wishes, NOW, (OLD, NEW))
        assert (found.reason, found.stage) == expected
    other = Wishes(approved=f"{OLD}/two")
    found = decide_rollout(parse_rollout(stages), before, NEW, there, other, NOW, (OLD, NEW))
    assert (found.reason, found.stage) == (Reason.WAITING, "one")


def test_a_stage_without_clusters_from_the_beginning_is_passed_over() -> None:
    found = soak(RolloutState(target=OLD, proven=OLD), {"b": serving(), "c": serving()})
    assert (found.stage, found.state.stage, found.revisions) == ("rest", "rest", {"b": NEW, "c": OLD})
    left = soak(found.state, {"d": serving()})
    assert (left.reason, left.stage) == (Reason.WAITING, "rest")


def test_a_stage_that_was_reached_is_remembered_while_an_earlier_one_has_a_new_cluster() -> None:
    reached = RolloutState(target=NEW, proven=OLD, stage="rest")
    found = soak(reached, {"a": serving(), "b": serving()})
    assert (found.stage, found.state.stage) == ("canary", "rest")
    last = soak(RolloutState(target=NEW, proven=OLD), {"d": serving()})
    assert (last.stage, last.revisions) == ("rest-2", {"d": NEW})
    assert soak(last.state, {"d": serving(NEW)}).reason is Reason.PROGRESSING
    assert soak(last.state, {}).reason is Reason.WAITING


def test_what_a_superseded_change_has_broken_holds_up_no_other() -> None:
    before = RolloutState(target=OTHER, proven=OLD, clusters={"a": since(9), "b": since(3, RolloutSight.NOT_SERVING)})
    found = decide(before, {"a": serving(OTHER), "b": failing(OTHER), "c": serving()})
    assert found.revisions == {"a": NEW, "b": OTHER, "c": OLD}


def test_a_revision_that_is_taken_back_leaves_the_one_before() -> None:
    done = RolloutState(target=NEW, proven=NEW, previous=OLD)
    found = decide(done, {"a": serving(NEW), "b": serving(NEW)}, Wishes(undone=NEW))
    assert (found.reason, found.revisions) == (Reason.UNDONE, {"a": OLD, "b": OLD})
    after = decide(found.state, {"a": serving(), "b": serving()}, Wishes(undone=NEW), target=OTHER)
    assert (after.revisions, after.state.proven) == ({"a": OTHER, "b": OLD}, OLD)


def test_a_change_back_to_what_is_proven_goes_everywhere() -> None:
    found = decide(UNDER_WAY, {"a": failing(NEW), "b": serving()}, target=OLD)
    assert (found.reason, found.revisions) == (Reason.COMPLETE, {"a": OLD, "b": OLD})


def test_a_copy_that_leaves_is_not_updated_and_nobody_waits_for_it() -> None:
    leaving = Standing(OLD, RolloutSight.UNSEEN, is_target=False)
    found = decide(UNDER_WAY, {"a": serving(), "b": serving(), "c": leaving})
    assert found.revisions == {"a": NEW, "b": OLD, "c": OLD}


REVISIONS = st.sampled_from([None, OLD, NEW, OTHER, KEPT])
STANDINGS = st.builds(Standing, REVISIONS, st.sampled_from(RolloutSight), st.booleans())
STATES = st.builds(
    RolloutState,
    target=st.sampled_from([OLD, NEW, OTHER]),
    proven=st.sampled_from(["", OLD, NEW]),
    previous=st.sampled_from(["", OLD, OTHER]),
    began=st.sampled_from([None, NOW]),
    failed=st.sampled_from(["", NEW]),
    clusters=st.dictionaries(
        st.sampled_from("abcd"), st.builds(since, st.integers(0, 20), st.sampled_from(RolloutSight))
    ),
)
WISHES = st.builds(
    Wishes, paused=st.booleans(), approved=st.just(f"{NEW}/canary"), undone=st.sampled_from(["", NEW, OLD])
)


@given(st.none() | STATES, st.dictionaries(st.sampled_from("abcd"), STANDINGS), WISHES, st.sampled_from(["", "blind"]))
def test_no_serving_cluster_gets_an_unproven_revision_before_its_turn(
    before: RolloutState | None, standings: dict[str, Standing], wishes: Wishes, blind: str
) -> None:
    """The clusters that get a revision under way are of one stage, and it has room."""
    found = decide_rollout(STRATEGY, before, NEW, standings, wishes, NOW, (OLD, NEW, OTHER), blind)
    assert found.revisions.keys() == standings.keys()
    if (
        found.reason is Reason.COMPLETE
        or not found.state.is_under_way
        or not any(each.revision for each in standings.values())
    ):
        return
    given_new = {n for n, each in found.revisions.items() if each == NEW and standings[n].revision not in (NEW, None)}
    assert not given_new or (given_new <= {"a"}) or (not given_new & {"a"})
    assert not (blind and given_new)
    assert not (wishes.paused and given_new)
    assert all(standings[name].sight is not RolloutSight.UNSEEN for name in given_new)
    assert sum(standings[name].sight is RolloutSight.SERVING for name in given_new) <= 2


@given(st.none() | STATES, st.dictionaries(st.sampled_from("abcd"), STANDINGS), WISHES)
def test_a_decision_comes_to_rest(before: RolloutState | None, standings: dict[str, Standing], wishes: Wishes) -> None:
    """The same is decided again, as long as nothing else is seen."""
    first = decide_rollout(STRATEGY, before, NEW, standings, wishes, NOW, (OLD, NEW, OTHER))
    again = decide_rollout(STRATEGY, first.state, NEW, standings, wishes, NOW, (OLD, NEW, OTHER))
    assert again.revisions == first.revisions or first.state.clusters != again.state.clusters


def test_a_change_that_nobody_can_judge_yet_is_the_one_that_a_person_takes_back() -> None:
    """A person says undo while the brake is engaged: the revision that runs is not taken back in its place."""
    before = RolloutState(target=OLD, proven=OLD, previous=OTHER, began=NOW)
    running = {"a": serving(OLD), "b": serving(OLD)}
    held = decide_rollout(STRATEGY, before, NEW, running, Wishes(), NOW, (OLD, NEW), "blind")
    assert (held.state.target, held.state.proven, held.state.began) == (NEW, OLD, None)
    assert held.revisions == {"a": OLD, "b": OLD}
    back = decide_rollout(STRATEGY, held.state, NEW, running, Wishes(undone=NEW), NOW, (OLD, NEW), "blind")
    assert (back.reason, back.revisions) == (Reason.UNDONE, {"a": OLD, "b": OLD})


def test_who_is_ill_when_a_change_comes_is_asked_once_they_can_be_seen() -> None:
    before = RolloutState(target=OLD, proven=OLD, began=NOW)
    ill = {"a": Standing(OLD, RolloutSight.NOT_SERVING), "b": serving(OLD)}
    held = decide_rollout(STRATEGY, before, NEW, ill, Wishes(), NOW, (OLD, NEW), "blind")
    assert held.state.ill_before == ()
    begun = decide_rollout(STRATEGY, held.state, NEW, ill, Wishes(), NOW, (OLD, NEW))
    assert (begun.state.ill_before, begun.state.began) == (("a",), NOW)


def test_a_revision_before_that_nobody_has_contents_of_is_not_taken_for_proven() -> None:
    """Then a replacement would start with the new one."""
    before = RolloutState(target=OLD, proven=OLD, previous=OTHER, began=NOW)
    running = {"a": serving(OLD), "b": Standing(None, RolloutSight.UNSEEN)}
    found = decide_rollout(STRATEGY, before, NEW, running, Wishes(undone=OLD), NOW, (OLD, NEW))
    assert found.state.proven == OLD
    assert found.revisions["b"] == OLD


@pytest.mark.parametrize("blind", ["", "blind"])
def test_an_application_without_a_copy_begins_anew_with_what_is_asked_for(blind: str) -> None:
    """A revision that runs nowhere proves nothing, and nobody has its contents."""
    before = RolloutState(target=OLD, proven=OLD, previous=OTHER, began=NOW)
    found = decide_rollout(STRATEGY, before, NEW, {"a": serving(None)}, Wishes(), NOW, (NEW,), blind)
    assert (found.revisions, found.state.proven) == ({"a": NEW}, NEW)
    after = decide_rollout(
        STRATEGY, found.state, OTHER, {"a": serving(NEW), "b": unseen(None)}, Wishes(), NOW, (NEW, OTHER)
    )
    assert after.revisions["b"] == NEW, "and is what the next change falls back to"
