"""Targets that are awaited after a copy has gone without an eviction task that tells of it."""

import msgspec
import pytest

from kubeapi.codec import encode
from leeward.api.names import AWAITED_TARGETS_ANNOTATION
from leeward.api.policy import Placement
from leeward.api.work import Binding, GracefulEvictionTask, ReplicaRequirements, TargetCluster, Work
from leeward.core.cluster_health.watched_time import UNKEPT, Attention, WatchedTime
from leeward.core.eviction.awaited_targets import await_targets, awaited_targets_patch, parse_awaited_targets
from leeward.core.eviction.stalled_replacements import StalledTargets, find_stalled
from tests.builders import at, binding, cluster, divided, duplicated, fleet, table, targets, work

GRACE_SECONDS = 600.0
COPIES, SHARES = duplicated("a", "b", "c", groups=1), divided({"a": 1, "b": 1, "c": 1})
ALIVE = fleet(cluster("a"), cluster("b"), cluster("c"))
Targets = tuple[TargetCluster, ...]
LOST = GracefulEvictionTask("a", "TaintUntolerated", "TaintManager", "Gracefully", creation_timestamp=at(100))


def awaiting(bound: Binding, text: str) -> Binding:
    annotations = {**bound.metadata.annotations, AWAITED_TARGETS_ANNOTATION: text}
    return msgspec.structs.replace(bound, metadata=msgspec.structs.replace(bound.metadata, annotations=annotations))


def remembered(**since: float) -> str:
    """Memory of the release that asked for 3 replicas."""
    return encode({"replicas": 3, "since": {name: at(seconds) for name, seconds in since.items()}}).decode()


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


def test_what_is_awaited_since_this_instant_is_known_and_what_lies_ahead_is_not() -> None:
    bound = awaiting(binding(COPIES, 3, targets(b=3, c=3)), remembered(b=200, c=201))
    assert parse_awaited_targets(bound, at(200)) == {"b": at(200)}


def test_what_is_seen_healthy_is_awaited_no_more() -> None:
    bound = awaiting(binding(COPIES, 3, targets(b=3)), remembered(b=100, c=100))
    known = parse_awaited_targets(bound, at(200))
    assert set(known) == {"b", "c"}
    ready = {"b": made("b", 3, 150)}
    assert await_targets(bound, targets(b=3), (), ALIVE, ready, at(200)) == {}
    assert await_targets(bound, targets(b=3), (), ALIVE, {"b": made("b", 2, 150)}, at(200)) == {"b": known["b"]}
    assert awaited_targets_patch(bound, {}) == {AWAITED_TARGETS_ANNOTATION: None}
    assert awaited_targets_patch(bound, known) == {}


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


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"since": {"b": 1}}',
        '{"since": {"b": "9999-12-31T23:59:59Z"}}',
        '{"since": {"b": "2025-01-01T00:00:00"}}',
    ],
)
def test_what_cannot_be_read_and_what_is_to_come_is_not_awaited(text: str) -> None:
    assert parse_awaited_targets(awaiting(binding(COPIES, 3), text), at(100)) == {}


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


def test_what_is_kept_can_be_read_again() -> None:
    awaited = {"c": at(100.5), "b": at(50)}
    patch = awaited_targets_patch(binding(COPIES, 3), awaited)
    assert patch == {AWAITED_TARGETS_ANNOTATION: remembered(b=50, c=100.5)}
    text = patch[AWAITED_TARGETS_ANNOTATION]
    assert text is not None
    assert parse_awaited_targets(awaiting(binding(COPIES, 3), text), at(200)) == awaited


def test_another_release_has_the_whole_time_again() -> None:
    bound = awaiting(binding(COPIES, 3, targets(b=3)), remembered(b=100))
    resource = msgspec.structs.replace(bound.spec.resource, resource_version="2")
    released = msgspec.structs.replace(bound, spec=msgspec.structs.replace(bound.spec, resource=resource))
    assert parse_awaited_targets(bound, at(900)) == {"b": at(100)}
    awaited = await_targets(released, targets(b=3), (), ALIVE, {}, at(900))
    assert awaited == {"b": at(900)}
    kept = awaited_targets_patch(released, awaited)[AWAITED_TARGETS_ANNOTATION]
    assert kept is not None
    assert parse_awaited_targets(awaiting(released, kept), at(1000)) == awaited
