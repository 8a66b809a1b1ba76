"""Foretold loss of a cluster, and the cluster whose turn it is to be looked at."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from leeward.core.loss_coverage import (
    REST,
    TURN,
    LossCoverage,
    loss_condition,
    next_losses,
    next_turn,
    same_room,
    standing_coverage,
)
from tests.builders import cluster

NOW = datetime(2026, 1, 1, tzinfo=UTC)
WHY = "`leeward what-if --fail eu` says why"


@pytest.mark.parametrize(
    ("coverage", "status", "reason", "message"),
    [
        (LossCoverage("eu", 0, 0, 0), "True", "NothingRunsHere", "nothing runs here that would have to move"),
        (
            LossCoverage("eu", 3, 0, 0),
            "True",
            "RoomElsewhere",
            "if this cluster is lost, the other clusters can run what runs here",
        ),
        (
            LossCoverage("eu", 3, 1, 1, "Deployment a/b"),
            "False",
            "RoomMissing",
            "if this cluster is lost, 1 replica of 1 application cannot move; Deployment a/b loses the most replicas; "
            + WHY,
        ),
        (
            LossCoverage("eu", 3, 2, 5),
            "False",
            "RoomMissing",
            "if this cluster is lost, 5 replicas of 2 applications cannot move; " + WHY,
        ),
        (
            LossCoverage("eu", 3, 3, 5, "x", braked=True),
            "False",
            "BrakeWouldHold",
            "if this cluster is lost, most of the fleet is, and the brake stops all evictions; " + WHY,
        ),
    ],
)
def test_the_condition_says_what_would_become_of_what_runs_there(
    coverage: LossCoverage, status: str, reason: str, message: str
) -> None:
    said = loss_condition(coverage)
    assert (said.type, said.status, said.reason, said.message) == ("leeward.dev/LossCovered", status, reason, message)


def test_of_what_is_lost_or_leaves_it_is_not_told_what_would_be_if_it_were_lost() -> None:
    said = loss_condition(LossCoverage("eu", 3, 0, 0))
    ready, not_ready = (
        msgspec.structs.replace(
            each, status=msgspec.structs.replace(each.status, conditions=(*each.status.conditions, said))
        )
        for each in (cluster("eu"), cluster("eu", ready="False"))
    )
    leaving = msgspec.structs.replace(ready, metadata=msgspec.structs.replace(ready.metadata, deletion_timestamp=NOW))
    assert [standing_coverage(each) for each in (ready, not_ready, leaving, cluster("eu"))] == [said, None, None, None]


def test_who_was_never_looked_at_comes_first_then_who_waits_longest() -> None:
    due = {"a": NOW, "b": NOW - timedelta(minutes=1), "c": None, "d": NOW - timedelta(minutes=1)}
    assert next_losses(due, {}) == ["c", "b", "d", "a"]


def test_a_turn_has_no_more_bindings_than_its_bound_but_one_cluster_at_least() -> None:
    due = dict.fromkeys("abc")
    assert next_losses(due, {"a": 4, "b": 6, "c": 1}, most=10) == ["a", "b"]
    assert next_losses(due, {"a": 4, "b": 7, "c": 1}, most=10) == ["a"]
    assert next_losses(due, {"a": 11, "b": 0, "c": 1}, most=10) == ["a"]
    assert next_losses(dict.fromkeys("ab"), {}, most=1) == ["a", "b"], "nothing runs there"
    assert next_losses({}, {}) == []


def test_what_a_placement_does_not_ask_of_a_cluster_is_no_reason_to_look_again() -> None:
    one = cluster("eu")
    renamed = msgspec.structs.replace(one, metadata=msgspec.structs.replace(one.metadata, resource_version="9"))
    assert same_room(one, renamed)
    labelled = msgspec.structs.replace(one, metadata=msgspec.structs.replace(one.metadata, labels={"a": "b"}))
    assert not same_room(one, labelled)
    assert not same_room(one, cluster("eu", region="west"))
    without_room = msgspec.structs.replace(one.status, resource_summary=None, api_enablements=())
    assert not same_room(one, msgspec.structs.replace(one, status=without_room))


def test_a_look_that_takes_long_is_followed_by_a_long_pause() -> None:
    quick, slow = timedelta(seconds=0.5), timedelta(seconds=20)
    assert next_turn(NOW, quick) == NOW + TURN
    assert next_turn(NOW, slow) - (NOW + slow) == REST * slow
