"""A cluster comes back before its eviction is finished: what returns, at whose expense, and what goes on."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Literal

import msgspec
import pytest

from kubeapi.core import Taint
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION, FLAPPING_TAINT
from leeward.api.policy import ClusterAffinityTerm, Placement, SpreadConstraint
from leeward.api.work import GracefulEvictionTask, ResourceBinding, Work
from leeward.core.cluster_health.watched_time import ALWAYS, Gap, WatchedTime
from leeward.core.eviction.withdrawal import Returns, Withdrawal
from tests.builders import (
    aggregated,
    at,
    binding,
    cluster,
    dead,
    divided,
    duplicated,
    fleet,
    table,
    targets,
    wanting,
    work,
    works,
)
from tests.rooms import AGGREGATED

GRACE_SECONDS = 600.0
SHARES = divided({"a": 1, "b": 1, "c": 1, "d": 1})
COPIES = duplicated("a", "b", "c", "d", groups=2)
A, B, C, D = (cluster(name) for name in "abcd")
ALIVE = (A, B, C, D)


def task(name: str, replicas: int | None, **fields: object) -> GracefulEvictionTask:
    opened = GracefulEvictionTask(
        name, "TaintUntolerated", "TaintManager", "Gracefully", replicas=replicas, creation_timestamp=at(0)
    )
    return msgspec.structs.replace(opened, **fields)


def moved(placement: Placement, *tasks: GracefulEvictionTask, replicas: int = 4, **held: int) -> ResourceBinding:
    return aggregated(binding(placement, replicas, targets(**held), tasks))


def withdraw(
    bound: ResourceBinding,
    copies: Mapping[str, Work],
    *clusters: Cluster,
    seconds: float = 60,
) -> Withdrawal | None:
    return returns(bound, copies, *(clusters or ALIVE), seconds=seconds).find()


def returns(
    bound: ResourceBinding, copies: Mapping[str, Work], *clusters: Cluster, seconds: float, time: WatchedTime = ALWAYS
) -> Returns:
    there, now = fleet(*clusters), at(seconds)
    return Returns(bound, table(bound, there, copies, now), there, now, GRACE_SECONDS, time)


def result(found: Withdrawal | None) -> dict[str, int] | None:
    return None if found is None else {target.name: target.replicas for target in found.clusters}


LEFT = moved(SHARES, task("a", 2), b=4)
HALF = works({"a": 2, "b": 2})


def test_what_works_returns_and_what_is_not_there_yet_is_given_up() -> None:
    found = withdraw(LEFT, HALF)
    assert found == Withdrawal(("a",), targets(a=2, b=2), (), "")


def being_deleted(copy: Work) -> Work:
    metadata = msgspec.structs.replace(copy.metadata, deletion_timestamp=at(1))
    return msgspec.structs.replace(copy, metadata=metadata)


def leaving(there: Cluster) -> Cluster:
    metadata = msgspec.structs.replace(there.metadata, deletion_timestamp=at(1))
    return msgspec.structs.replace(there, metadata=metadata)


DRAINED = cluster("a", taints=(Taint("leeward.dev/drain", "NoExecute", time_added=at(0)),))
CORDONED = cluster("a", taints=(Taint("leeward.dev/cordon", "NoSchedule", time_added=at(0)),))


@pytest.mark.parametrize(
    ("bound", "copies", "clusters"),
    [
        (msgspec.structs.replace(LEFT, status=aggregated(LEFT, 0).status), HALF, ALIVE),
        (msgspec.structs.replace(LEFT, metadata=msgspec.structs.replace(
            LEFT.metadata, annotations={APPLIED_PLACEMENT_ANNOTATION: "{}"})), HALF, ALIVE),
        (moved(SHARES, task("a", 2, reason="SomebodyElse"), b=4), HALF, ALIVE),
        (moved(SHARES, task("a", 2, purge_mode="Never"), b=4), HALF, ALIVE),
        (LEFT, works({"b": 2}), ALIVE),
        (LEFT, {**HALF, "a": being_deleted(HALF["a"])}, ALIVE),
        (LEFT, works({"a": 1, "b": 2}), ALIVE),
        (LEFT, works({"a": None, "b": 2}), ALIVE),
        (LEFT, HALF, (B, C)),
        (LEFT, HALF, (leaving(A), B, C)),
        (LEFT, HALF, (dead("a"), B, C)),
        (LEFT, HALF, (DRAINED, B, C)),
        (LEFT, HALF, (CORDONED, B, C)),
        (LEFT, works({"a": 2, "b": 4}), ALIVE),
    ],
    ids=[
        "a spec that is not rendered", "a new placement", "another's eviction", "never purged", "no Work",
        "a Work that goes", "a part of it", "unhealthy", "not listed", "unjoined", "not back yet", "drained",
        "cordoned", "all is ready elsewhere",
    ],
)  # fmt: skip
def test_nothing_returns_that_is_not_known_to_be_worth_it(
    bound: ResourceBinding, copies: Mapping[str, Work], clusters: tuple[Cluster, ...]
) -> None:
    assert withdraw(bound, copies, *clusters) is None


def test_s1_a_purged_copy_that_is_well_comes_back_though_nothing_is_made_elsewhere() -> None:
    purged = moved(SHARES, task("a", 2, purge_mode="Directly"), b=4)
    not_made = msgspec.structs.replace(purged, status=aggregated(purged, 0).status)
    found = withdraw(not_made, HALF, *ALIVE)
    assert found is not None
    assert {target.name: target.replicas for target in found.clusters} == {"a": 2, "b": 2}
    beside = moved(SHARES, task("a", 2, purge_mode="Directly"), task("d", 1), b=4)
    assert withdraw(msgspec.structs.replace(beside, status=not_made.status), HALF) is not None, "one is purged"


@pytest.mark.parametrize("reason", ["TaintUntolerated", "AffinityTermLeft", "ApplicationFailure", "ReplacementFailed"])
def test_whatever_this_control_plane_evicts_it_may_withdraw(reason: str) -> None:
    assert result(withdraw(moved(SHARES, task("a", 2, reason=reason), b=4), HALF)) == {"a": 2, "b": 2}


@pytest.mark.parametrize(
    ("held", "ready", "replicas", "expected"),
    [
        ({"b": 4, "c": 2}, {"b": 4, "c": 0}, 2, {"a": 2, "b": 4}),
        ({"b": 4, "c": 2}, {"b": 2, "c": 1}, 2, {"a": 2, "b": 2, "c": 2}),
        ({"b": 4, "c": 2}, {"b": 3, "c": 1}, 2, {"a": 2, "b": 3, "c": 1}),
        ({"b": 3, "c": 3}, {"b": 1, "c": 1}, 2, {"a": 2, "b": 1, "c": 3}),
        ({"b": 4, "c": 2}, {"b": 9, "c": 0}, 2, {"a": 2, "b": 4}),
        ({"b": 4, "c": 2}, {"b": 4, "c": 1}, 2, {"a": 1, "b": 4, "c": 1}),
        ({"b": 4}, {"b": 3}, 2, {"a": 1, "b": 3}),
        ({"b": 4}, {"b": 2}, 4, {"a": 2, "b": 2}),
        ({"a": 1, "b": 3, "c": 2}, {"b": 3, "c": 0}, 2, {"a": 3, "b": 3}),
        ({"a": 1, "b": 4, "c": 1}, {"b": 4, "c": 0}, 1, {"a": 2, "b": 4}),
    ],
    ids=[
        "one is empty", "most is missing", "from both", "by name", "more than asked", "a part", "one of two",
        "half", "a part stayed", "one stayed and one returns",
    ],
)  # fmt: skip
def test_s3_as_many_return_as_do_not_serve_from_where_the_most_is_missing(
    held: dict[str, int], ready: dict[str, int | None], replicas: int, expected: dict[str, int] | None
) -> None:
    bound = moved(SHARES, task("a", replicas), replicas=sum(held.values()), **held)
    copies = works({"a": replicas + held.get("a", 0), **ready})
    assert result(withdraw(bound, copies)) == expected


def test_s2_a_part_that_would_be_no_placement_returns_for_all_of_a_copy_that_lacks_some() -> None:
    constraint = SpreadConstraint(spread_by_field="cluster", min_groups=1, max_groups=1)
    one = msgspec.structs.replace(SHARES, spread_constraints=(constraint,), replica_scheduling=AGGREGATED)
    for ready, expected in ((3, {"a": 4}), (4, None)):
        assert result(withdraw(moved(one, task("a", 4), b=4), works({"a": 4, "b": ready}))) == expected
    two = msgspec.structs.replace(one, spread_constraints=(msgspec.structs.replace(constraint, max_groups=2),))
    beside = moved(two, task("a", 5), replicas=6, b=4, c=2)
    assert result(withdraw(beside, works({"a": 5, "b": 3, "c": 2}))) == {"a": 4, "c": 2}, "c is whole"
    apart = moved(one, task("a", 4), replicas=6, b=4, c=2)
    found = withdraw(apart, works({"a": 4, "b": 3, "c": 2}))
    assert result(found) == {"a": 1, "b": 3, "c": 2}, "where neither is a placement, no more than is missing"


def test_what_stayed_has_to_be_healthy_together_with_what_returns() -> None:
    bound = moved(SHARES, task("a", 2), replicas=6, a=1, b=3, c=2)
    assert withdraw(bound, works({"a": 2, "b": 3, "c": 0})) is None
    assert withdraw(bound, works({"a": 3, "b": 3, "c": 0}), CORDONED, B, C) is None, "though a part is there"


def test_a_task_of_no_replicas_gives_nothing_back() -> None:
    for replicas in (4, 6):
        assert withdraw(moved(SHARES, task("a", None), replicas=replicas, b=4), works({"a": 0, "b": 3})) is None


def test_replicas_that_are_not_known_to_be_ready_are_given_up() -> None:
    bound = moved(SHARES, task("a", 2), replicas=6, b=4, c=2)
    copies = works({"a": 2, "b": 4, "c": 2})
    assert result(withdraw(bound, copies, A, B, dead("c"))) == {"a": 2, "b": 4}
    assert result(withdraw(bound, {name: copies[name] for name in "ab"})) == {"a": 2, "b": 4}


def test_s1_replicas_that_were_ready_when_they_were_seen_last_are_not_given_up() -> None:
    bound = moved(SHARES, task("a", 2), replicas=6, b=2, c=4)
    stale = {"b": work("b", 2, carried=0)}
    assert withdraw(bound, works({"a": 2, "c": 4}) | stale) is None
    assert result(withdraw(bound, works({"a": 2, "c": 2}) | stale)) == {"a": 2, "b": 2, "c": 2}


def test_s1_when_it_is_late_what_is_unknown_is_given_up_before_what_is_seen_ready() -> None:
    bound = moved(SHARES, task("a", 2), replicas=6, b=1, c=5)
    copies = works({"a": 2, "c": 4}) | {"b": work("b", 1, carried=0)}
    assert result(withdraw(bound, copies)) == {"a": 1, "b": 1, "c": 4}
    assert result(withdraw(bound, copies, seconds=GRACE_SECONDS + 1)) == {"a": 2, "c": 4}


def test_s1_a_late_return_shrinks_no_copy_that_may_serve_more_than_is_left_with_the_others() -> None:
    bound = moved(SHARES, task("a", 2), replicas=6, b=4, c=2)
    copies = works({"a": 2}) | works({"b": 4, "c": 2}, carried=0)
    assert withdraw(bound, copies, seconds=GRACE_SECONDS + 1) is None, "b may serve 4, and c none"


def test_l4_a_task_that_somebody_has_dated_to_the_end_of_time_is_not_late() -> None:
    last = task("a", 2, creation_timestamp=datetime.max.replace(tzinfo=UTC))
    assert result(withdraw(moved(SHARES, last, b=4), HALF)) is not None


@pytest.mark.parametrize(
    ("wanted", "reason", "returns"), [(1, "", True), (2, "", False), (1, "ReplacementFailed", False)]
)
def test_l1_a_copy_that_is_as_large_as_its_cluster_wants_returns(wanted: int, reason: str, returns: bool) -> None:
    left = task("a", 2, **({"reason": reason} if reason else {}))
    bound = moved(SHARES, left, replicas=6, b=3, c=3)
    found = withdraw(bound, works({"b": 1, "c": 1}) | {"a": wanting(wanted, work("a", 1))})
    assert result(found) == ({"a": 2, "b": 1, "c": 3} if returns else None)


def of_a_custom_kind(copy: Work, **fields: object) -> Work:
    """Work of the same copy, of a kind whose replicas nobody counts."""
    (told,) = copy.status.manifest_statuses
    named = msgspec.structs.replace(told, identifier=msgspec.structs.replace(told.identifier, kind="Batch"), **fields)
    return msgspec.structs.replace(copy, status=msgspec.structs.replace(copy.status, manifest_statuses=(named,)))


@pytest.mark.parametrize(
    ("ready", "expected"),
    [({"a": 4, "b": 4}, None), ({"a": 4, "b": None}, {"a": 4}), ({"a": None, "b": None}, None)],
    ids=["both are well", "the replacement is not", "neither is"],
)
def test_s1_a_healthy_replacement_whose_replicas_nobody_counts_is_not_given_up(
    ready: dict[str, int | None], expected: dict[str, int] | None
) -> None:
    copies = {name: of_a_custom_kind(copy) for name, copy in works(ready).items()}
    assert result(withdraw(moved(SHARES, task("a", 4), b=4), copies)) == expected


@pytest.mark.parametrize(
    ("replicas", "leaving_a", "held", "expected", "left"),
    [
        (6, 2, {"b": 4}, {"a": 2, "b": 4}, []),
        (6, 4, {"b": 4}, {"a": 2, "b": 4}, [2]),
        (6, 1, {"b": 4}, {"a": 1, "b": 4}, []),
        (6, 3, {"a": 1, "b": 4}, {"a": 2, "b": 4}, [2]),
        (9, 2, {"b": 4}, {"a": 2, "b": 4}, []),
    ],
    ids=["all of it", "a part", "the only one", "beside what stayed", "as much as there is"],
)
def test_what_found_no_place_is_taken_back_at_once(
    replicas: int, leaving_a: int, held: dict[str, int], expected: dict[str, int], left: list[int]
) -> None:
    other = task("d", 1, reason="SomebodyElse")
    bound = moved(SHARES, other, task("a", leaving_a), replicas=replicas, **held)
    copies = works({"a": leaving_a + held.get("a", 0), "b": 4})
    found = withdraw(bound, copies)
    assert found is not None
    assert (found.returned, result(found)) == (("a",), expected)
    assert found.tasks == (other, *(task("a", count) for count in left)), "whose grace period goes on"


def test_of_several_tasks_the_first_that_can_is_withdrawn_and_the_others_go_on() -> None:
    first, second, third = task("a", 1), task("c", 1), task("d", 1)
    bound = moved(SHARES, first, second, third, b=4)
    found = withdraw(bound, works({"a": None, "b": 2, "c": 1, "d": 1}))
    assert found == Withdrawal(("c",), targets(b=3, c=1), (first, third), "")


def test_what_has_taints_of_its_outage_yet_returns_as_long_as_they_are_tolerated() -> None:
    back = cluster("a", taints=(Taint("cluster.karmada.io/not-ready", "NoExecute", time_added=at(0)),))
    assert result(withdraw(LEFT, HALF, back, B, seconds=299)) == {"a": 2, "b": 2}
    assert withdraw(LEFT, HALF, back, B, seconds=300) is None


def test_a_way_home_that_is_under_way_holds_up_no_other_return() -> None:
    bound = moved(SHARES, task("c", 1, reason="Failback", producer="Leeward"), task("a", 2), b=4)
    found = withdraw(bound, works({"a": 2, "b": 2, "c": 1}))
    assert found is not None
    assert (found.returned, result(found)) == (("a",), {"a": 2, "b": 2})


HELD_DOWN = cluster("a", taints=(Taint(FLAPPING_TAINT, "NoSchedule", time_added=at(0)),))


@pytest.mark.parametrize(("seconds", "grace", "returns"), [(600, None, False), (601, None, True), (61, 60, True)])
def test_c1_a_cluster_that_is_held_down_keeps_its_copy_when_the_replacement_is_late(
    seconds: float, grace: int | None, *, returns: bool
) -> None:
    bound = moved(SHARES, task("a", 2, grace_period_seconds=grace), b=4)
    found = withdraw(bound, HALF, HELD_DOWN, B, seconds=seconds)
    assert found == (Withdrawal(("a",), targets(a=2, b=2), (), "") if returns else None), "no failback is given up"


def test_a_task_without_a_date_is_never_late() -> None:
    bound = moved(SHARES, task("a", 2, creation_timestamp=None), b=4)
    assert withdraw(bound, HALF, HELD_DOWN, B, seconds=100_000) is None


def made(name: str, ready: int | None, seconds: float) -> Work:
    copy = work(name, ready)
    return msgspec.structs.replace(
        copy, metadata=msgspec.structs.replace(copy.metadata, creation_timestamp=at(seconds))
    )


@pytest.mark.parametrize(
    ("placement", "copies", "expected"),
    [
        (COPIES, {"b": made("b", 3, 0), "c": made("c", 0, 0)}, {"a": 3, "b": 3}),
        (COPIES, {"b": made("b", 0, 0), "c": made("c", 0, 0)}, {"a": 3, "b": 3}),
        (COPIES, {"b": made("b", 0, 0), "c": made("c", 3, 0)}, {"a": 3, "c": 3}),
        (COPIES, {"b": made("b", 3, 0), "c": made("c", 3, 0)}, None),
        (COPIES, {"b": made("b", 2, -600), "c": made("c", 0, 0)}, {"a": 3, "b": 3}),
        (COPIES, {"b": made("b", 2, -600), "c": made("c", 2, 0)}, None),
        (COPIES, {"b": made("b", 1, -600), "c": made("c", 3, 0)}, None),
        (COPIES, {"b": made("b", 0, -600), "c": made("c", 3, 0)}, {"a": 3, "c": 3}),
        (COPIES, {"c": made("c", 3, 0)}, {"a": 3, "c": 3}),
        (duplicated("a", "b", "c"), {"b": made("b", 3, 0), "c": made("c", 0, 0)}, {"a": 3, "b": 3, "c": 3}),
        (duplicated("a", "b", "c"), {"b": made("b", 3, 0), "c": made("c", 3, 0)}, None),
    ],
    ids=[
        "one is not there yet", "by name", "the other", "both are well", "it serves more",
        "too much would be given up", "it served one before", "it serves nothing", "one has no Work",
        "there is room for all", "all others serve",
    ],
)  # fmt: skip
def test_s12_a_whole_copy_returns_for_the_least_of_those_that_are_neither_whole_nor_served_before(
    placement: Placement, copies: Mapping[str, Work], expected: dict[str, int] | None
) -> None:
    bound = moved(placement, task("a", 3), replicas=3, b=3, c=3)
    assert result(withdraw(bound, {"a": work("a", 3), **copies})) == expected


def constrained(*limits: tuple[Literal["cluster", "region"], int]) -> Placement:
    constraints = tuple(SpreadConstraint(spread_by_field=by, min_groups=1, max_groups=most) for by, most in limits)
    return msgspec.structs.replace(duplicated("a", "b", "c"), spread_constraints=constraints)


@pytest.mark.parametrize(
    ("placement", "expected"),
    [
        (constrained(("cluster", 1)), {"a": 3}),
        (constrained(("cluster", 2)), {"a": 3, "b": 3}),
        (constrained(("cluster", 0)), {"a": 3, "b": 3}),
        (constrained(("region", 1)), {"a": 3, "b": 3}),
        (constrained(("region", 1), ("cluster", 2)), {"a": 3, "b": 3}),
        (constrained(), {"a": 3, "b": 3}),
    ],
)
def test_s2_what_returns_drops_others_only_for_a_limit_of_clusters(
    placement: Placement, expected: dict[str, int]
) -> None:
    bound = moved(placement, task("a", 3), replicas=3, b=3)
    there = (cluster("a", region="x"), cluster("b", region="x"))
    assert result(withdraw(bound, {"a": work("a", 3), "b": made("b", 0, 0)}, *there)) == expected


def test_s12_a_copy_from_before_that_cannot_be_judged_is_given_up_when_its_cluster_is_lost() -> None:
    bound = moved(COPIES, task("a", 3), replicas=3, b=3, c=3)
    silent = made("b", 3, -600)
    silent = msgspec.structs.replace(silent, status=msgspec.structs.replace(silent.status, conditions=()))
    copies = {"a": work("a", 3), "b": silent, "c": made("c", 3, 0)}
    assert withdraw(bound, copies) is None
    assert withdraw(bound, {**copies, "b": of_a_custom_kind(silent, status=None, health="Unknown")}) is None, (
        "though it told no number"
    )
    assert result(withdraw(bound, copies, A, C)) == {"a": 3, "c": 3}, "of one that is not listed nothing is kept"
    assert withdraw(bound, copies, seconds=GRACE_SECONDS + 1) is None
    assert result(withdraw(bound, copies, A, dead("b"), C)) == {"a": 3, "c": 3}, "of a lost one nothing is kept"


def test_l1_a_copy_that_nothing_replaces_any_more_returns() -> None:
    bound = moved(COPIES, task("a", 3), replicas=3)
    assert result(withdraw(bound, works({"a": 3}))) == {"a": 3}
    assert withdraw(bound, works({"a": 1})) is None


def test_a_resource_without_replicas_returns_as_well() -> None:
    bound = moved(COPIES, task("a", None), replicas=0, b=0, c=0)
    assert result(withdraw(bound, works({"a": 0, "b": 0, "c": None}))) == {"a": 0, "b": 0}
    assert result(withdraw(bound, works({"a": 0, "b": None, "c": 0}))) == {"a": 0, "c": 0}


@pytest.mark.parametrize(
    ("seconds", "clusters", "expected", "given_up"),
    [
        (60, ALIVE, None, False),
        (600, ALIVE, None, False),
        (601, ALIVE, {"a": 2, "b": 2}, True),
        (60, (A, dead("b")), {"a": 3, "b": 1}, False),
        (60, (A,), {"a": 3, "b": 1}, False),
    ],
    ids=["under way", "just in time", "too late", "its goal is lost", "its goal is not listed"],
)
def test_a_way_home_ends_where_its_goal_is_lost_or_takes_too_long(
    seconds: float, clusters: tuple[Cluster, ...], expected: dict[str, int] | None, *, given_up: bool
) -> None:
    """Three of the four go home to `b`, where two are ready; what is ready there stays."""
    bound = moved(SHARES, task("a", 3, reason="Failback", producer="Leeward"), b=4)
    found = withdraw(bound, works({"a": 3, "b": 2}), *clusters, seconds=seconds)
    assert result(found) == expected
    assert (found is not None and found.given_up) is given_up


def test_a_way_home_ends_where_one_of_its_goals_is_lost() -> None:
    bound = moved(SHARES, task("a", 2, reason="Failback", producer="Leeward"), replicas=6, b=2, c=4)
    copies = works({"a": 2, "b": 2, "c": 2})
    assert withdraw(bound, copies) is None
    assert result(withdraw(bound, copies, A, B, dead("c"))) == {"a": 2, "b": 2, "c": 2}


ONE_OF_TWO = duplicated("a", "b", groups=1)
SCALED_UP = moved(ONE_OF_TWO, task("a", 2), replicas=5, b=5)
"""A user has scaled up from 2 to 5 while a was away."""


@pytest.mark.parametrize(
    ("elsewhere", "clusters", "expected"),
    [
        (works({"b": 4}), ALIVE, None),
        (works({"b": 1}), ALIVE, None),
        (works({"b": None}), ALIVE, {"a": 5}),
        ({}, ALIVE, {"a": 5}),
        (works({"b": 4}, carried=0), ALIVE, None),
        (works({"b": 4}, applied=0), ALIVE, None),
        (works({"b": 0}, applied=0, carried=0), ALIVE, {"a": 5}),
        (works({"b": 4}), (A, dead("b")), {"a": 5}),
    ],
    ids=[
        "serves more", "serves less", "is unhealthy", "was never written",
        "was not looked at yet", "takes no changes", "was never applied", "is lost",
    ],
)  # fmt: skip
def test_s1_a_copy_of_the_old_size_returns_for_one_that_serves_nothing(
    elsewhere: Mapping[str, Work], clusters: tuple[Cluster, ...], expected: dict[str, int] | None
) -> None:
    found = withdraw(SCALED_UP, {**works({"a": 2}), **elsewhere}, *clusters)
    assert found == (Withdrawal(("a",), targets(**expected), (), "") if expected else None)


def of_kind(kind: str, copies: Mapping[str, Work]) -> dict[str, Work]:
    """The same reports of another kind; it is Healthy where all that is assigned is ready."""

    def changed(copy: Work) -> Work:
        (report,) = copy.status.manifest_statuses
        identifier = msgspec.structs.replace(report.identifier, kind=kind)
        report = msgspec.structs.replace(report, identifier=identifier)
        return msgspec.structs.replace(copy, status=msgspec.structs.replace(copy.status, manifest_statuses=(report,)))

    return {name: changed(copy) for name, copy in copies.items()}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "Rollout", "CloneSet", "CronTab"])
@pytest.mark.parametrize(("ready", "expected"), [(4, None), (0, {"a": 5})])
def test_s1_one_replica_is_no_place_for_four_whatever_their_kind(
    kind: str, ready: int, expected: dict[str, int] | None
) -> None:
    """A user has scaled up from 1 to 5 while a was away."""
    (report,) = work("b", ready).status.manifest_statuses
    elsewhere = work("b", ready)
    report = msgspec.structs.replace(report, health="Unhealthy")
    status = msgspec.structs.replace(elsewhere.status, manifest_statuses=(report,))
    elsewhere = msgspec.structs.replace(elsewhere, status=status)
    bound = moved(ONE_OF_TWO, task("a", 1), replicas=5, b=5)
    assert result(withdraw(bound, of_kind(kind, {"a": work("a", 1), "b": elsewhere}))) == expected


def told_by_karmada(copy: Work) -> Work:
    """The Work as Karmada's agent reports it: of which generation it speaks is not said."""
    applied = Condition("Applied", "True", "AppliedSuccessful")
    return msgspec.structs.replace(copy, status=msgspec.structs.replace(copy.status, conditions=(applied,)))


@pytest.mark.parametrize("returns", [False, True])
def test_s1_what_karmadas_agent_reports_is_given_up_once_it_is_of_after_its_clusters_return(*, returns: bool) -> None:
    seconds, silent = 60.0 if returns else 59.0, told_by_karmada(work("b", 0))
    one = withdraw(SCALED_UP, {**works({"a": 2}), "b": silent}, seconds=seconds)
    assert result(one) == ({"a": 5} if returns else None)
    fled = moved(between("a", "bc", placement=duplicated()), task("a", 3), replicas=3, b=3, c=3)
    all_of_them = withdraw(fled, {**works({"a": 3, "c": 0}), "b": silent}, seconds=seconds)
    assert result(all_of_them) == ({"a": 3} if returns else None)


def between(*terms: str, placement: Placement) -> Placement:
    named = tuple(
        ClusterAffinityTerm(affinity_name=f"t{n}", cluster_names=tuple(names)) for n, names in enumerate(terms)
    )
    return msgspec.structs.replace(placement, cluster_affinity=None, cluster_affinities=named)


TERMS = between("ab", "cd", placement=duplicated())
FLED = moved(TERMS, task("b", 3), task("a", 3), replicas=3, c=3, d=3)
WELL = works({"a": 3, "b": 3, "c": 3, "d": 0})


@pytest.mark.parametrize("reason", ["TaintUntolerated", "ReplacementFailed"])
def test_s2_into_another_term_all_return_or_none(reason: str) -> None:
    fled = moved(TERMS, task("b", 3, reason=reason), task("a", 3), replicas=3, c=3, d=3)
    assert withdraw(fled, WELL) == Withdrawal(("a", "b"), targets(a=3, b=3), (), "t0")


@pytest.mark.parametrize(
    ("copies", "clusters"),
    [
        (works({"a": 3, "b": 3, "c": 3, "d": 3}), ALIVE),
        (works({"a": 3, "b": 2, "c": 3, "d": 0}), ALIVE),
        (WELL, (A, dead("b"), C, D)),
        (WELL, (A, C, D)),
    ],
    ids=["the new ones are well", "an old one is not", "one is lost", "one is not listed"],
)
def test_s2_the_term_that_was_left_is_not_taken_up_again_where(
    copies: Mapping[str, Work], clusters: tuple[Cluster, ...]
) -> None:
    assert withdraw(FLED, copies, *clusters) is None


def test_a_way_home_between_terms_is_taken_back_when_it_has_failed() -> None:
    home = (task(name, 3, reason="Failback", producer="Leeward") for name in "ba")
    bound = moved(TERMS, *home, replicas=3, c=3, d=3)
    assert withdraw(bound, WELL) is None
    late = Withdrawal(("a", "b"), targets(a=3, b=3), (), "t0", given_up=True)
    assert withdraw(bound, WELL, seconds=GRACE_SECONDS + 1) == late


def test_c1_into_another_term_nothing_returns_to_what_is_held_down() -> None:
    assert withdraw(FLED, WELL, HELD_DOWN, B, C, D, seconds=10_000) is None


def test_s1_nobody_is_given_up_for_a_return_of_nothing() -> None:
    apart = moved(TERMS, replicas=3, a=3, c=3)
    assert withdraw(apart, works({"a": 3, "c": 3}), A, B, dead("c"), D) is None


def test_s2_what_was_left_in_several_terms_does_not_return_together() -> None:
    fled = moved(between("a", "b", "cd", placement=duplicated()), task("a", 3), task("b", 3), replicas=3, c=3, d=3)
    assert withdraw(fled, WELL) is None


def test_into_another_term_returns_what_has_no_replicas() -> None:
    fled = moved(TERMS, task("a", None), task("b", None), replicas=0, c=0, d=0)
    ready = works({"a": 0, "b": 0, "c": 0, "d": None})
    assert withdraw(fled, ready) == Withdrawal(("a", "b"), targets(a=0, b=0), (), "t0")


def test_s3_into_another_term_returns_all_that_is_asked_for() -> None:
    shares = between("ab", "cd", placement=SHARES)
    ready = works({"a": 2, "b": 2, "c": 2, "d": 0})
    same = moved(shares, task("a", 2), task("b", 2), c=2, d=2)
    assert withdraw(same, ready) == Withdrawal(("a", "b"), targets(a=2, b=2), (), "t0")
    more = moved(shares, task("a", 2), task("b", 2), replicas=5, c=3, d=2)
    assert withdraw(more, ready) is None


def overlapping(placement: Placement, *tasks: GracefulEvictionTask, replicas: int = 4, **held: int) -> ResourceBinding:
    """Binding in the second of two terms, `a, b` and `b, c`."""
    named = (("first", ("a", "b")), ("second", ("b", "c")))
    terms = tuple(ClusterAffinityTerm(affinity_name=name, cluster_names=clusters) for name, clusters in named)
    both = msgspec.structs.replace(placement, cluster_affinity=None, cluster_affinities=terms)
    bound = moved(both, *tasks, replicas=replicas, **held)
    status = msgspec.structs.replace(bound.status, scheduler_observing_affinity_name="second")
    return msgspec.structs.replace(bound, status=status)


def test_s3_what_both_terms_have_keeps_its_share_when_the_first_is_taken_up_again() -> None:
    copies = works({"a": 2, "b": 2, "c": 0})
    back = Withdrawal(("a",), targets(a=2, b=2), (), "first")
    assert withdraw(overlapping(SHARES, task("a", 2), b=2, c=2), copies) == back
    apart = overlapping(SHARES, task("a", 2), replicas=5, b=2, c=3)
    assert withdraw(apart, copies) is None, "one replica would be missing"
    unknown = overlapping(SHARES, task("a", None), replicas=3, b=2, c=1)
    assert withdraw(unknown, copies) is None, "how many have left is not known"


def test_s3_the_first_term_is_taken_up_again_with_what_stayed_there() -> None:
    bound = overlapping(SHARES, task("a", 3), replicas=5, b=2, c=3)
    found = withdraw(bound, works({"a": 3, "b": 2, "c": 1}))
    assert found == Withdrawal(("a",), targets(a=3, b=2), (), "first"), "c lacks fewer than come back"
    bound = overlapping(SHARES, task("a", 2), replicas=4, a=1, b=1, c=2)
    found = withdraw(bound, works({"a": 3, "b": 1, "c": 1}))
    assert found == Withdrawal(("a",), targets(a=3, b=1), (), "first"), "a part stayed in a"


def test_s3_a_part_that_has_left_returns_to_what_has_stayed() -> None:
    bound = overlapping(SHARES, task("a", 1), replicas=2, a=1, c=1)
    found = withdraw(bound, works({"a": 2, "c": 0}))
    assert found == Withdrawal(("a",), targets(a=2), (), "first")


@pytest.mark.parametrize("region", ["x", "y"])
def test_s2_what_has_stayed_and_what_returns_are_a_placement_together_or_all_stays(region: str) -> None:
    constraint = SpreadConstraint(spread_by_field="region", min_groups=1, max_groups=1)
    one_region = msgspec.structs.replace(duplicated(), spread_constraints=(constraint,))
    bound = overlapping(one_region, task("a", 2), replicas=2, b=2, c=2)
    clusters = (cluster("a", region=region), cluster("b", region="y"), cluster("c", region="y"))
    found = withdraw(bound, works({"a": 2, "b": None, "c": 0}), *clusters)
    assert result(found) == ({"a": 2, "b": 2} if region == "y" else None)


# well_again


TWO = moved(SHARES, task("a", 2), task("b", 2), c=4)
BOTH = works({"a": 2, "b": 2})
SHORT = moved(SHARES, task("a", 2, grace_period_seconds=60), c=4)
UNWATCHED = WatchedTime((Gap(at(100), at(200)),))


@pytest.mark.parametrize(
    ("bound", "copies", "clusters", "seconds", "time", "expected"),
    [
        (TWO, BOTH, ALIVE, 60, ALWAYS, "ab"),
        (TWO, works({"a": 2, "b": None}), ALIVE, 60, ALWAYS, "a"),
        (TWO, BOTH, (DRAINED, B, C), 60, ALWAYS, "b"),
        (TWO, BOTH, (dead("a"), B, C), 60, ALWAYS, "b"),
        (TWO, {}, ALIVE, 60, ALWAYS, ""),
        (moved(SHARES, c=4), BOTH, ALIVE, 60, ALWAYS, ""),
        (TWO, BOTH, (HELD_DOWN, B, C), 600, ALWAYS, "b"),
        (TWO, BOTH, (HELD_DOWN, B, C), 601, ALWAYS, "ab"),
        (TWO, BOTH, (HELD_DOWN, B, C), 700, UNWATCHED, "b"),
        (TWO, BOTH, (HELD_DOWN, B, C), 701, UNWATCHED, "ab"),
        (SHORT, BOTH, (HELD_DOWN, B, C), 61, ALWAYS, "a"),
    ],
    ids=[
        "both are well", "one is not healthy", "one is drained", "one is lost", "nothing is known", "none is left",
        "held down, in time", "held down, late", "held down, in watched time", "held down, late in watched time",
        "held down, by its own grace",
    ],
)  # fmt: skip
def test_a_cluster_is_well_again_where_its_copy_is_seen_healthy_and_may_stay(
    bound: ResourceBinding,
    copies: Mapping[str, Work],
    clusters: tuple[Cluster, ...],
    seconds: float,
    time: WatchedTime,
    expected: str,
) -> None:
    assert returns(bound, copies, *clusters, seconds=seconds, time=time).well_again() == set(expected)
