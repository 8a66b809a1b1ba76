"""Targets of a failover that are left for the next cluster, and those that were never part of it."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import OVERRIDE_FAILED_CONDITION
from leeward.api.policy import Placement
from leeward.api.work import GracefulEvictionTask, ResourceBinding, Work
from leeward.core.cluster_health.watched_time import UNKEPT, Attention, Gap, WatchedTime
from leeward.core.eviction.stalled_replacements import StalledTarget, StalledTargets, find_stalled
from leeward.core.eviction.tasks import moves_on
from tests.builders import aggregated, at, binding, cluster, dead, divided, duplicated, fleet, table, targets, work

GRACE_SECONDS, BEGAN = 600.0, 1000.0
LOST = GracefulEvictionTask(
    "member1", "TaintUntolerated", "TaintManager", "Gracefully", replicas=3, creation_timestamp=at(BEGAN)
)
COPIES = duplicated("member1", "member2", "member3", "member4", groups=2)
SHARES = divided({"member1": 1, "member2": 1})
MEMBER2 = cluster("member2")


def made(name: str, ready: int | None, seconds: float) -> Work:
    of_copy = work(name, ready, reflected=seconds)
    return msgspec.structs.replace(
        of_copy, metadata=msgspec.structs.replace(of_copy.metadata, creation_timestamp=at(seconds))
    )


def stalled_of(
    bound: ResourceBinding,
    clusters: Mapping[str, Cluster],
    copies: Mapping[str, Work],
    seconds: float,
    attention: Attention = UNKEPT,
) -> StalledTargets:
    return find_stalled(bound, table(bound, clusters, copies, at(seconds)), at(seconds), GRACE_SECONDS, attention)


@pytest.mark.parametrize(
    ("placement", "seconds", "stalled"),
    [(COPIES, BEGAN - 600, []), (COPIES, BEGAN, ["member2"]), (SHARES, BEGAN - 600, ["member2"])],
    ids=["it was there before", "it was moved there", "a share, which may have grown"],
)
def test_s12_a_copy_that_was_there_before_the_failover_is_no_replacement(
    placement: Placement, seconds: float, stalled: list[str]
) -> None:
    bound = binding(placement, 3, targets(member2=3), (LOST,))
    copies = {"member2": made("member2", 2, seconds)}
    found = stalled_of(bound, fleet(cluster("member2")), copies, BEGAN + 601)
    assert [target.cluster for target in found.targets] == stalled


def test_what_is_suspended_is_not_expected_to_be_taken() -> None:
    bound = binding(COPIES, 3, targets(member2=3), (LOST,))
    copy = made("member2", 0, BEGAN)
    copies = {
        "member2": msgspec.structs.replace(copy, spec=msgspec.structs.replace(copy.spec, suspend_dispatching=True))
    }
    assert not stalled_of(bound, fleet(cluster("member2")), copies, BEGAN + 601).targets


def with_conditions(copy: Work, *conditions: Condition) -> Work:
    return msgspec.structs.replace(copy, status=msgspec.structs.replace(copy.status, conditions=conditions))


def refusing(seconds: float | None, generation: int = 1) -> Work:
    """A Work that its cluster does not take, since then; three replicas were reported as ready before."""
    since = None if seconds is None else at(seconds)
    refused = Condition("Applied", "False", "AppliedFailed", "disk full", since, observed_generation=generation)
    return with_conditions(made("member2", 3, BEGAN), refused)


def dispatched(copy: Work, seconds: float, status: str = "True") -> Work:
    dispatching = Condition("Dispatching", status, "Test", last_transition_time=at(seconds))
    return with_conditions(copy, *copy.status.conditions, dispatching)


def judged(
    placement: Placement,
    copy: Work | None,
    seconds: float,
    *tasks: GracefulEvictionTask,
    replicas: int = 3,
    there: Cluster | None = MEMBER2,
    attention: Attention = UNKEPT,
) -> StalledTargets:
    bound = binding(placement, replicas, targets(member2=replicas), tasks or (LOST,))
    copies = {} if copy is None else {"member2": copy}
    return stalled_of(bound, fleet(there) if there else {}, copies, seconds, attention)


LATE = BEGAN + GRACE_SECONDS + 1


@pytest.mark.parametrize("seconds", [BEGAN, BEGAN + 3600], ids=["its clock is right", "its clock is an hour ahead"])
def test_l2_a_cluster_that_gets_nothing_healthy_is_left_in_time_by_whatever_clock_it_says_so(seconds: float) -> None:
    found = judged(COPIES, work("member2", 0, reflected=seconds), LATE)
    assert [target.cluster for target in found.targets] == ["member2"]


@pytest.mark.parametrize("ahead", [-30.0, 60.0], ids=["a moment ago", "clocks that lie apart"])
def test_l2_a_cluster_that_has_said_something_since_has_the_whole_time_from_then_on(ahead: float) -> None:
    found = judged(COPIES, work("member2", 0, reflected=LATE + ahead), LATE)
    assert found == StalledTargets((), at(LATE + ahead + GRACE_SECONDS + 0.000001))


TWO_OF_THREE = "where 2 of 3 replicas became ready"


@pytest.mark.parametrize(
    ("placement", "copy", "expected"),
    [
        (COPIES, made("member2", 2, BEGAN), StalledTarget("member2", 0, 2, TWO_OF_THREE)),
        (SHARES, made("member2", 2, BEGAN), StalledTarget("member2", 2, 2, TWO_OF_THREE)),
        (COPIES, refusing(BEGAN), StalledTarget("member2", 0, 3, "which does not take it: disk full")),
        (COPIES, with_conditions(made("member2", 0, BEGAN)), StalledTarget("member2", 0, 0, "which has not taken it")),
        (SHARES, with_conditions(made("member2", 1, BEGAN)), StalledTarget("member2", 1, 3, "which has not taken it")),
    ],
    ids=["a copy", "a share", "it refuses", "it is silent", "a silent share"],
)  # fmt: skip
def test_l2_what_was_moved_and_does_not_serve_says_how_much_of_it_and_why(
    placement: Placement, copy: Work, expected: StalledTarget
) -> None:
    assert judged(placement, copy, LATE) == StalledTargets((expected,))
    in_time = judged(placement, copy, LATE - 1)
    assert in_time == StalledTargets((), at(BEGAN + GRACE_SECONDS + 0.000001)), "it has its whole time, and no more"


def test_l2_a_resource_without_replicas_is_not_healthy() -> None:
    copy = made("member2", None, BEGAN)
    (found,) = judged(COPIES, copy, LATE, replicas=0).targets
    assert found.why == "where the copy is not healthy"


@pytest.mark.parametrize(
    ("placement", "copy", "there"),
    [
        (COPIES, made("member2", 3, BEGAN), cluster("member2")),
        (SHARES, refusing(BEGAN), cluster("member2")),
        (COPIES, None, cluster("member2")),
        (COPIES, made("member2", 0, BEGAN), dead("member2")),
        (COPIES, made("member2", 0, BEGAN), None),
        (COPIES, dispatched(made("member2", 0, BEGAN), 0, "False"), cluster("member2")),
    ],
    ids=["healthy", "all of a share serves", "no Work yet", "its cluster is lost", "not listed", "suspended"],
)
def test_what_serves_or_cannot_be_judged_is_not_left_for_the_next(
    placement: Placement, copy: Work | None, there: Cluster | None
) -> None:
    assert judged(placement, copy, 100_000, there=there) == StalledTargets()


@pytest.mark.parametrize(
    ("generation", "failed", "expected"),
    [(1, None, []), (0, BEGAN, []), (1, BEGAN - 100, [BEGAN]), (1, BEGAN + 100, [BEGAN + 100])],
    ids=["nothing has failed", "not rendered yet", "it has failed before", "it has failed since"],
)
def test_l2_a_target_for_which_nothing_can_be_rendered_takes_nothing(
    generation: int, failed: float | None, expected: list[float]
) -> None:
    bound = aggregated(binding(COPIES, 3, targets(member2=3), (LOST,)), generation)
    if failed is not None:
        why = Condition(OVERRIDE_FAILED_CONDITION, "True", "ApplyOverridePolicyFailed", "no such field", at(failed))
        status = msgspec.structs.replace(bound.status, conditions=(*bound.status.conditions, why))
        bound = msgspec.structs.replace(bound, status=status)
    found = [stalled_of(bound, fleet(MEMBER2), {}, LATE + 100 * n) for n in range(2)]
    told = StalledTarget("member2", 0, 0, "for which nothing could be rendered: no such field")
    assert [each.targets for each in found] == [
        (told,) if any(at(since + GRACE_SECONDS) < at(LATE + 100 * n) for since in expected) else () for n in range(2)
    ]


@pytest.mark.parametrize(
    ("copy", "since"),
    [
        (made("member2", 2, 5_000), 5_000),
        (refusing(6_000), 6_000),
        (dispatched(refusing(6_000), 7_000), 7_000),
        (dispatched(refusing(6_000), 5_000), 6_000),
        (dispatched(refusing(None), 5_000), 5_000),
        (dispatched(with_conditions(made("member2", 0, BEGAN)), 8_000), 8_000),
        (refusing(BEGAN - 500), BEGAN),
    ],
    ids=[
        "its number has changed", "it has refused since", "it is dispatched since", "dispatched before", "undated",
        "silent since it is dispatched", "it refused before",
    ],
)  # fmt: skip
def test_a_target_has_its_time_from_when_it_could_take_it(copy: Work, since: float) -> None:
    copy = msgspec.structs.replace(copy, metadata=msgspec.structs.replace(copy.metadata, creation_timestamp=at(BEGAN)))
    assert judged(COPIES, copy, since + GRACE_SECONDS).targets == ()
    assert [target.cluster for target in judged(COPIES, copy, since + GRACE_SECONDS + 1).targets] == ["member2"]


def test_where_no_instant_is_known_a_target_has_its_time_from_the_failover() -> None:
    there = cluster("member2")
    ready = msgspec.structs.replace(there.status.conditions[0], last_transition_time=None)
    there = msgspec.structs.replace(there, status=msgspec.structs.replace(there.status, conditions=(ready,)))
    silent = with_conditions(made("member2", 0, BEGAN))
    undated = with_conditions(work("member2", 0))
    for copy in (refusing(None), silent, undated):
        assert judged(COPIES, copy, LATE - 1, there=there).targets == ()
        assert judged(COPIES, copy, LATE, there=there).targets


def test_a_target_that_is_well_or_was_there_before_hides_no_other() -> None:
    bound = binding(COPIES, 3, targets(member2=3, member3=3, member4=3), (LOST,))
    copies = {
        "member2": made("member2", 0, BEGAN - 600),
        "member3": made("member3", 3, BEGAN),
        "member4": made("member4", 0, BEGAN),
    }
    alive = fleet(cluster("member2"), cluster("member3"), cluster("member4"))
    found = stalled_of(bound, alive, copies, LATE)
    assert [target.cluster for target in found.targets] == ["member4"]


def test_a_cluster_that_is_ready_again_has_its_time_from_then() -> None:
    there = cluster("member2")
    ready = msgspec.structs.replace(there.status.conditions[0], last_transition_time=at(9_000))
    there = msgspec.structs.replace(there, status=msgspec.structs.replace(there.status, conditions=(ready,)))
    silent = with_conditions(made("member2", 0, BEGAN))
    assert judged(COPIES, silent, 9_000 + GRACE_SECONDS, there=there).targets == ()
    assert judged(COPIES, silent, 9_001 + GRACE_SECONDS, there=there).targets


@pytest.mark.parametrize(
    "tasks",
    [
        (msgspec.structs.replace(LOST, reason="Failback"),),
        (msgspec.structs.replace(LOST, suppress_deletion=True),),
        (msgspec.structs.replace(LOST, purge_mode="Never"),),
        (msgspec.structs.replace(LOST, creation_timestamp=None),),
    ],
    ids=["a way home", "held by a person", "never purged", "not dated"],
)
def test_only_what_this_control_plane_replaces_is_a_failover(tasks: tuple[GracefulEvictionTask, ...]) -> None:
    assert judged(COPIES, made("member2", 0, BEGAN), 100_000, *tasks) == StalledTargets()


@pytest.mark.parametrize("reason", ["TaintUntolerated", "ApplicationFailure", "AffinityTermLeft", "ReplacementFailed"])
def test_whatever_has_moved_the_copy_is_a_failover(reason: str) -> None:
    assert judged(COPIES, made("member2", 0, BEGAN), LATE, msgspec.structs.replace(LOST, reason=reason)).targets


def test_of_several_tasks_the_last_one_and_the_longest_grace_period_count() -> None:
    later = msgspec.structs.replace(LOST, from_cluster="member3", creation_timestamp=at(BEGAN + 300))
    longer = msgspec.structs.replace(LOST, from_cluster="member4", grace_period_seconds=900)
    due = BEGAN + 300 + 900
    copy = made("member2", 0, BEGAN + 10)
    assert judged(COPIES, copy, due, LOST, later, longer) == StalledTargets((), at(due + 0.000001))
    assert judged(COPIES, copy, due + 1, longer, later, LOST).targets


def test_a_copy_that_was_there_before_the_first_task_is_no_replacement_of_any() -> None:
    later = msgspec.structs.replace(LOST, creation_timestamp=at(BEGAN + 3_000))
    between = made("member2", 0, BEGAN + 1_500)
    assert judged(COPIES, between, BEGAN + 10_000, LOST, later).targets
    assert not judged(COPIES, made("member2", 0, BEGAN - 1_500), BEGAN + 10_000, LOST, later).targets


def test_s13_only_watched_time_counts_and_nothing_before_the_members_were_looked_at_again() -> None:
    copy = made("member2", 0, BEGAN)
    settling = Attention(heartbeat="h", settled_at=at(LATE + 60))
    assert judged(COPIES, copy, LATE, attention=settling) == StalledTargets((), at(LATE + 60))
    assert judged(COPIES, copy, LATE + 60, attention=settling).targets
    missed = Attention(WatchedTime((Gap(at(BEGAN + 100), at(BEGAN + 400)),)))
    assert judged(COPIES, copy, LATE, attention=missed) == StalledTargets((), at(BEGAN + 900.000001))
    assert judged(COPIES, copy, LATE + 300, attention=missed).targets


def test_each_target_is_judged_and_the_next_instant_is_that_of_the_first() -> None:
    bound = binding(SHARES, 9, targets(member2=3, member3=3, member4=3), (LOST,))
    copies = {
        "member2": made("member2", 0, 1_200),
        "member3": made("member3", 0, 1_100),
        "member4": made("member4", 0, BEGAN),
    }
    alive = fleet(cluster("member2"), cluster("member3"), cluster("member4"))
    found = stalled_of(bound, alive, copies, LATE)
    assert [target.cluster for target in found.targets] == ["member4"]
    assert found.wake_at == at(1_700.000001)


def test_l2_a_target_has_the_whole_time_for_a_new_release_and_no_more() -> None:
    copies = {"member2": made("member2", 0, 100)}

    def stalled(seconds: float, released: float | None, *tasks: GracefulEvictionTask) -> list[str]:
        came = None if released is None else at(released)
        moving = binding(COPIES, 3, targets(member2=3), tasks or (lost,))
        rows = table(moving, fleet(MEMBER2), copies, at(seconds))
        found = find_stalled(moving, rows, at(seconds), GRACE_SECONDS, released=came)
        return [target.cluster for target in found.targets]

    lost = msgspec.structs.replace(LOST, creation_timestamp=at(100))
    assert stalled(701, None) == ["member2"]
    assert stalled(701, 650) == []
    assert stalled(1251, 650) == ["member2"]
    later = msgspec.structs.replace(LOST, from_cluster="member3", creation_timestamp=at(900))
    assert stalled(1251, 650, lost, later) == [], "nor less than from the last of its tasks"
    assert stalled(1501, 650, lost, later) == ["member2"]


@pytest.mark.parametrize(
    ("changes", "moves"),
    [({}, True), ({"reason": "Failback", "producer": "Leeward"}, False), ({"suppress_deletion": True}, False)],
    ids=["a failover", "on the way home", "until somebody confirms"],
)
def test_the_replacement_of_a_failover_moves_on(changes: dict[str, Any], *, moves: bool) -> None:
    assert moves_on(msgspec.structs.replace(LOST, **changes)) is moves
