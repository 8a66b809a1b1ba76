"""Targets that are awaited after a copy has gone without an eviction task that tells of it."""

import msgspec
import pytest

from leeward.api.policy import Placement
from leeward.api.work import GracefulEvictionTask, ReplicaRequirements, TargetCluster, Work
from leeward.core.cluster_health.watched_time import UNKEPT, Attention, WatchedTime
from leeward.core.eviction.stalled_replacements import StalledTargets, await_targets, find_stalled
from tests.builders import at, binding, cluster, divided, duplicated, fleet, table, targets, work

GRACE_SECONDS = 600.0
COPIES, SHARES = duplicated("a", "b", "c", groups=1), divided({"a": 1, "b": 1, "c": 1})
ALIVE = fleet(cluster("a"), cluster("b"), cluster("c"))
Targets = tuple[TargetCluster, ...]
LOST = GracefulEvictionTask("a", "TaintUntolerated", "TaintManager", "Gracefully", creation_timestamp=at(100))


def made(name: str, ready: int, seconds: float) -> Work:
    copy = work(name, ready, reflected=seconds)
    return msgspec.structs.replace(
        copy, metadata=msgspec.structs.replace(copy.metadata, creation_timestamp=at(seconds))
    )


@pytest.mark.parametrize(
    ("placement", "before", "after", "awaited"),
    [
        (COPIES, targets(a=3), targets(b=3), ["b"]),
        (COPIES, targets(), targets(b=3), []),
        (COPIES, targets(a=3, b=3), targets(b=3), []),
        (COPIES, targets(b=3), targets(b=3, c=3), []),
        (SHARES, targets(a=1, b=2), targets(b=3), ["b"]),
        (SHARES, targets(a=1, b=1, c=1), targets(b=1, c=2), ["c"]),
    ],
    ids=["it moves", "it is the first", "one goes, the other stays", "one comes", "a share grows", "another one does"],
)
def test_what_grows_while_something_goes_is_awaited(
    placement: Placement, before: Targets, after: Targets, awaited: list[str]
) -> None:
    bound = binding(placement, 3, before)
    assert await_targets(bound, after, (), ALIVE, {}, at(100)) == dict.fromkeys(awaited, at(100))


def test_what_replaces_what_left_at_an_instant_that_nobody_knows_is_awaited_from_now_on() -> None:
    undated = msgspec.structs.replace(LOST, creation_timestamp=None)
    bound = binding(COPIES, 3, targets(b=3), (undated,))
    for copies in ({}, {"b": made("b", 1, 99)}):
        assert await_targets(bound, targets(b=3), (), ALIVE, copies, at(100)) == {"b": at(100)}
    there = {"b": made("b", 1, 0)}
    assert await_targets(bound, targets(b=3), (), ALIVE, there, at(100)) == {}, "it was there before"


def test_what_is_seen_healthy_is_awaited_no_more() -> None:
    bound, known = binding(COPIES, 3, targets(b=3)), {"b": at(100), "c": at(100)}
    ready, short = ({"b": made("b", count, 150)} for count in (3, 2))
    assert await_targets(bound, targets(b=3), (), ALIVE, ready, at(200), known) == {}
    assert await_targets(bound, targets(b=3), (), ALIVE, short, at(200), known) == {"b": at(100)}


def test_nothing_is_awaited_where_no_replicas_are_asked_for() -> None:
    bound = binding(SHARES, 0, targets(a=3), replica_requirements=ReplicaRequirements())
    assert await_targets(bound, targets(b=0), (), ALIVE, {}, at(100)) == {}


@pytest.mark.parametrize(
    ("placement", "made_at", "reason", "awaited"),
    [
        (COPIES, 150, "TaintUntolerated", ["b"]),
        (COPIES, -600, "TaintUntolerated", []),
        (SHARES, -600, "TaintUntolerated", ["b"]),
        (COPIES, 150, "Failback", []),
        (COPIES, 150, "SomebodyElses", []),
    ],
    ids=["moved there", "it was there before", "a share", "on the way home", "another's eviction"],
)
def test_what_a_task_that_ends_by_time_was_to_be_replaced_by_is_awaited_since_then(
    placement: Placement, made_at: float, reason: str, awaited: list[str]
) -> None:
    task = msgspec.structs.replace(LOST, reason=reason)
    bound, copies = binding(placement, 3, targets(b=3), (task,)), {"b": made("b", 0, made_at)}
    assert await_targets(bound, targets(b=3), (), ALIVE, copies, at(900)) == dict.fromkeys(awaited, at(100))
    assert await_targets(bound, targets(b=3), (task,), ALIVE, copies, at(900)) == {}


def test_an_awaited_target_stalls_after_the_grace_period_of_watched_time() -> None:
    bound, copies = binding(COPIES, 3, targets(b=3)), {"b": made("b", 0, 100)}
    awaited = {"b": at(100)}

    def judged(seconds: float, attention: Attention = UNKEPT) -> StalledTargets:
        return find_stalled(
            bound, table(bound, ALIVE, copies, at(seconds)), at(seconds), GRACE_SECONDS, attention, awaited
        )

    assert [target.cluster for target in judged(700.1).targets] == ["b"]
    assert judged(700).targets == ()
    assert judged(700).wake_at == at(700.000001)
    unwatched = Attention(WatchedTime(), "hub", settled_at=at(800))
    assert judged(700.1, unwatched).targets == ()
    other = {"c": at(100)}
    assert (
        find_stalled(bound, table(bound, ALIVE, copies, at(900)), at(900), GRACE_SECONDS, UNKEPT, other).targets == ()
    )
