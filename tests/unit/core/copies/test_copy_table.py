"""The table of a binding's copies: what each counts for, and how much is asked for in all."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
import pytest

from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import AWAITED_GATE_ANNOTATION, FAILING_CONDITION
from leeward.api.work import (
    GracefulEvictionTask,
    ReplicaRequirements,
    ResourceBinding,
    Work,
    WorkloadTemplate,
    WorkSpec,
)
from leeward.core.copies.disruption import CopyTable, KnownCopy, copies_of
from tests.builders import at, binding, cluster, dead, divided, duplicated, fleet, targets, wanting, work, works

SHARES = divided({"a": 1, "b": 1})
BOTH = duplicated("a", "b")
A, B = cluster("a"), cluster("b")
Row = tuple[int, int, int, int, int, bool]


def task(
    name: str, replicas: int | None, mode: Literal["Gracefully", "Directly"] = "Gracefully"
) -> GracefulEvictionTask:
    return GracefulEvictionTask(name, "TaintUntolerated", "TaintManager", mode, replicas=replicas)


def read(
    bound: ResourceBinding, copies: Mapping[str, Work], *clusters: Cluster, seconds: float = 600, **options: Any
) -> CopyTable:
    return copies_of(bound.spec, copies, fleet(*(clusters or (A, B))), at(seconds), **options)


def rows(table: CopyTable) -> dict[str, Row]:
    """Assigned, need, at least, at most, leaving, ordered: of each copy."""
    return {
        name: (row.assigned, row.need, row.at_least, row.at_most, row.leaving, row.ordered)
        for name, row in table.rows.items()
    }


def marked(copy: Work, **annotations: str) -> Work:
    metadata = msgspec.structs.replace(copy.metadata, annotations=annotations)
    return msgspec.structs.replace(copy, metadata=metadata)


def goes(copy: Work, *, preserved: bool = False) -> Work:
    spec = msgspec.structs.replace(copy.spec, preserve_resources_on_deletion=preserved)
    metadata = msgspec.structs.replace(copy.metadata, deletion_timestamp=at(0))
    return msgspec.structs.replace(copy, metadata=metadata, spec=spec)


FOUR = binding(SHARES, 4, targets(a=4))
FAILING = msgspec.structs.replace(
    A, status=msgspec.structs.replace(A.status, conditions=(*A.status.conditions, Condition(FAILING_CONDITION, "True")))
)


def test_s1_a_share_counts_as_it_is_told_with_what_leaves_beside_what_stays() -> None:
    bound = binding(SHARES, 6, targets(a=2, b=4), (task("a", 3),))
    table = read(bound, works({"a": 5, "b": 3}))
    assert rows(table) == {"a": (2, 2, 5, 5, 3, False), "b": (4, 4, 3, 3, 0, False)}
    assert (table.asked, table.settles_at) == (6, None)
    smaller = binding(SHARES, 2, targets(b=2), (task("a", 4),))
    assert rows(read(smaller, works({"a": 4, "b": 2})))["a"] == (0, 0, 4, 4, 4, False), "more than are asked for now"


@pytest.mark.parametrize(
    ("copy", "clusters", "watched", "at_least"),
    [
        (work("a", 4), (A,), True, 4),
        (work("a", 4), (A,), False, 0),
        (work("a", 4), (B,), True, 0),
        (work("a", 4), (FAILING,), True, 0),
        (marked(work("a", 4), **{AWAITED_GATE_ANNOTATION: "gate"}), (A,), True, 0),
    ],
    ids=["seen", "the fleet is not watched", "its cluster is not listed", "its cluster is failing", "its gate waits"],
)
def test_s1_a_copy_that_is_doubted_does_not_surely_serve_and_may_serve(
    copy: Work, clusters: tuple[Cluster, ...], at_least: int, *, watched: bool
) -> None:
    assert rows(read(FOUR, {"a": copy}, *clusters, watched=watched)) == {"a": (4, 4, at_least, 4, 0, False)}


@pytest.mark.parametrize(
    ("bound", "copy", "ordered"),
    [
        (FOUR, work("a", 4), False),
        (FOUR, goes(work("a", 4)), True),
        (FOUR, goes(work("a", 4), preserved=True), False),
        (binding(SHARES, 4, (), (task("a", 4),)), work("a", 4), False),
        (binding(SHARES, 4, (), (task("a", 4),)), goes(work("a", 4)), True),
        (binding(SHARES, 4, (), (task("a", 4, "Directly"),)), work("a", 4), True),
        (binding(SHARES, 4), work("a", 4), True),
    ],
    ids=["a target", "is deleted", "its objects stay", "leaves", "leaves, is deleted", "is purged", "nobody's"],
)
def test_s1_a_copy_that_is_ordered_to_go_counts_for_nothing(
    bound: ResourceBinding, copy: Work, *, ordered: bool
) -> None:
    table = read(bound, {"a": copy})
    assert table.rows["a"].ordered is ordered
    assert table.is_served is not ordered
    assert table.leaves_enough("a", {"a": 4}), "what the question says of it holds"


@pytest.mark.parametrize(
    ("needs", "need", "asked"), [({}, 4, 6), ({"a": 1}, 1, 3), ({"a": 9}, 4, 6), (None, 4, 6)], ids=repr
)
def test_an_override_asks_for_fewer_replicas_of_a_share(needs: dict[str, int] | None, need: int, asked: int) -> None:
    bound = binding(SHARES, 6, targets(a=4, b=2))
    table = read(bound, {"a": wanting(1, work("a", 1)), "b": work("b", 2)}, needs=needs)
    assert (table.rows["a"].need, table.asked) == (need, asked)


def test_what_its_own_cluster_wants_of_a_whole_copy_is_asked_for_unless_others_may_lose_more() -> None:
    bound = binding(BOTH, 3, targets(a=3, b=3))
    wished = {"a": wanting(1, work("a", 1)), "b": work("b", 3)}
    own, overridden = read(bound, wished, needs=None), read(bound, wished, needs={})
    assert [(table.rows["a"].need, table.asked) for table in (own, overridden)] == [(1, 4), (3, 6)]
    left = binding(BOTH, 3, targets(a=3), (task("b", 2),))
    needs = {
        size: read(left, {**wished, "b": wanting(size, work("b", 1)) if size else work("b", 1)}, needs=None)
        .rows["a"]
        .need
        for size in (1, 2, 0)
    }
    assert needs == {1: 1, 2: 3, 0: 3}, "its load is to follow, and nobody knows how much"


@pytest.mark.parametrize(
    ("leaving", "own", "need"), [(6, 2, 2), (6, 1, 6), (3, 2, 6), (5, 3, 3), (None, 6, 6)], ids=repr
)
def test_s1_a_share_has_what_its_own_cluster_wants_where_no_more_is_replaced(
    leaving: int | None, own: int, need: int
) -> None:
    """Replicas for which no more leaves have a load of their own: another eviction has ended."""
    bound = binding(SHARES, 6, targets(b=6), (task("a", leaving),))
    copies = {"a": wanting(2, work("a", 2)), "b": wanting(own, work("b", own))}
    assert read(bound, copies, needs=None).rows["b"].need == need


@pytest.mark.parametrize(
    ("copy", "home", "serves"),
    [
        (work("a", 3), A, True),
        (work("a", 1), A, False),
        (wanting(1, work("a", 1)), A, True),
        (wanting(2, work("a", 1)), A, False),
        (wanting(5, work("a", 3)), A, True),
        (wanting(1, work("a", 1)), FAILING, False),
    ],
    ids=["all", "too few", "all that is wanted", "fewer than are wanted", "all, and more are wanted", "in doubt"],
)
def test_a_share_serves_with_what_its_own_cluster_wants(copy: Work, home: Cluster, *, serves: bool) -> None:
    assert read(binding(SHARES, 3, targets(a=3)), {"a": copy}, home).serves(["a"]) is serves


def test_copies_that_are_not_divided_are_asked_for_as_targets_and_as_a_whole_where_there_is_none() -> None:
    bound = binding(BOTH, 3, targets(a=3), (task("b", 3),))
    table = read(bound, works({"a": 5, "b": 3}))
    assert (rows(table), table.asked) == ({"a": (3, 3, 3, 3, 0, False), "b": (0, 0, 3, 3, 3, False)}, 3)
    assert [read(binding(BOTH, replicas), {}).asked for replicas in (3, 0)] == [3, 1]
    larger = read(binding(BOTH, 3, targets(a=3)), works({"a": 5}), sizes={"a": 5})
    assert rows(larger)["a"][2:4] == (3, 3), "beyond that it replaces no other"


def test_a_copy_without_replicas_counts_as_one() -> None:
    bound = binding(BOTH, 0, targets(a=0, b=0))
    table = read(bound, {"a": work("a", 2), "b": work("b", 2, carried=0)})
    assert rows(table) == {"a": (1, 1, 1, 1, 0, False), "b": (1, 1, 0, 1, 0, False)}
    assert table.asked == 2


@pytest.mark.parametrize(("began", "need"), [(None, 0), (30, 1)])
def test_s1_a_copy_without_replicas_that_runs_nothing_replaces_none(began: float | None, need: int) -> None:
    """A copy that was there before the eviction of another one, or may be its replacement."""
    bound = binding(BOTH, 0, targets(a=0))
    leaves = msgspec.structs.replace(task("b", None), creation_timestamp=at(began)) if began is not None else None
    spec = msgspec.structs.replace(bound.spec, graceful_eviction_tasks=(leaves,) if leaves else ())
    table = read(msgspec.structs.replace(bound, spec=spec), works({"a": 0, "b": 2}))
    assert rows(table)["a"] == (1, need, 0, 0, 0, False)
    assert (table.asked, table.may_disrupt({"b": 0})) == (1, False)


def test_nothing_is_asked_of_a_template_that_asks_for_none() -> None:
    bound = binding(BOTH, 0, targets(a=0))
    spec = msgspec.structs.replace(bound.spec, replica_requirements=ReplicaRequirements())
    assert read(msgspec.structs.replace(bound, spec=spec), works({"b": 2})).may_disrupt({"b": 0})


def test_the_table_settles_when_the_next_report_of_karmadas_agent_may_be_believed() -> None:
    def told_by_karmada(name: str) -> Work:
        applied = Condition("Applied", "True", "AppliedSuccessful")
        copy = work(name, 2)
        status = msgspec.structs.replace(copy.status, conditions=(applied,))
        return msgspec.structs.replace(copy, status=status, spec=WorkSpec(workload=WorkloadTemplate(manifests=({},))))

    ready = msgspec.structs.replace(B.status.conditions[0], last_transition_time=at(30))
    later = msgspec.structs.replace(B, status=msgspec.structs.replace(B.status, conditions=(ready,)))
    bound, copies = binding(SHARES, 4, targets(a=2, b=2)), {name: told_by_karmada(name) for name in "ab"}
    instants = {seconds: read(bound, copies, A, later, seconds=seconds).settles_at for seconds in (59, 60, 90)}
    assert instants == {59: at(60), 60: at(90), 90: None}


def test_a_move_waits_for_no_target_in_a_dead_cluster_once_as_many_serve_as_go() -> None:
    def asked(goes: int, home: Cluster | None) -> int:
        known = {
            "a": KnownCopy(2, 2, 0, 2, home=home),
            "b": KnownCopy(4, 4, 4, 4, home=B),
            "c": KnownCopy(0, 0, 0, goes, home=dead("c")),
        }
        return CopyTable(known, 6).of_a_move().asked

    assert [asked(goes, dead("a")) for goes in (0, 4, 5, 9)] == [4, 4, 5, 6]
    assert (asked(4, A), asked(4, None)) == (6, 6)


def test_what_is_gone_and_what_nobody_can_judge() -> None:
    leaves, purged = task("a", 2), task("a", 2, "Directly")
    copies = [
        KnownCopy(0, 0, 0, 0),
        KnownCopy(0, 0, 0, 0, task=purged, home=A),
        KnownCopy(0, 0, 0, 0, task=leaves),
        KnownCopy(0, 0, 0, 0, task=leaves, home=A),
        KnownCopy(0, 0, 0, 0, task=purged, work=work("a", 2)),
    ]
    assert [copy.is_gone for copy in copies] == [True, True, True, False, False]
    (report,) = work("a", 2).status.manifest_statuses
    unknown = msgspec.structs.replace(report, health="Unknown")
    both = msgspec.structs.replace(work("a", 2).status, manifest_statuses=(report, unknown))
    unjudged = [None, work("a", 2), msgspec.structs.replace(work("a", 2), status=both)]
    assert [KnownCopy(2, 2, 0, 2, work=each).is_unjudged for each in unjudged] == [False, False, True]


def test_a_copy_that_is_not_in_the_table_may_go() -> None:
    assert CopyTable({}, 2).may_disrupt({"a": 0})


def test_s1_what_is_ordered_to_go_is_counted_as_far_as_the_question_lets_it_stay() -> None:
    going = KnownCopy(0, 0, 2, 2, ordered=True)
    table = CopyTable({"a": going, "b": going}, 2)
    assert (table.may_disrupt({"a": 0, "b": 2}), table.may_disrupt({"a": 0})) == (True, False)
    assert not CopyTable({"a": going}, 1).is_served
