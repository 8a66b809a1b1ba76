"""Rows of the lifecycle: each takes a copy from a state that it names to one that it names."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from leeward.api.cluster import Cluster
from leeward.api.names import FAILBACK_ANNOTATION, HOME_ANNOTATION, MEMORY_ANNOTATION, REMOVAL_HELD_ANNOTATION
from leeward.api.policy import ApplicationFailover, DecisionConditions, FailoverBehavior
from leeward.api.work import GracefulEvictionTask, ResourceBinding, Work
from leeward.core.cluster_health.watched_time import UNKEPT
from leeward.core.copies import lifecycle
from leeward.core.copies.disruption import KnownCopy, copies_of
from leeward.core.copies.lifecycle import LIFECYCLE, CopyState, Transition, state_of
from leeward.core.execution.removal import why_removal_waits
from leeward.core.placement import Snapshot, decide
from leeward.core.placement.check import check
from leeward.core.placement.phases import DECIDED_ROWS
from leeward.core.placement.situation import Situation
from tests.builders import aggregated, at, binding, cluster, dead, divided, duplicated, fleet, targets, work, works
from tests.lifecycle_table import section, shown

States = tuple[CopyState, CopyState]
SHARES = divided({"a": 1, "b": 2})
ONE = duplicated("a", "b", "c", groups=1)
AWAY = GracefulEvictionTask("a", "TaintUntolerated", "TaintManager", "Gracefully", creation_timestamp=at(0))
WELL = (cluster("a"), cluster("b"), cluster("c"))


def state(name: str, bound: ResourceBinding, clusters: tuple[Cluster, ...], copies: Mapping[str, Work]) -> CopyState:
    rows = copies_of(bound.spec, copies, fleet(*clusters), at(0), needs=None).rows
    return state_of(rows.get(name))


def noted(bound: ResourceBinding, **annotations: str) -> ResourceBinding:
    kept = {**bound.metadata.annotations, **annotations}
    return msgspec.structs.replace(bound, metadata=msgspec.structs.replace(bound.metadata, annotations=kept))


def decided(
    row: Transition,
    name: str,
    bound: ResourceBinding,
    clusters: tuple[Cluster, ...],
    copies: Mapping[str, Work],
    seconds: float,
) -> States:
    """States of a copy before and after a decision that takes this row."""
    snapshot = Snapshot(bound, fleet(*clusters), copies, now=at(seconds))
    situation = Situation(snapshot)
    decided_rows = ((each, DECIDED_ROWS[each]) for each in LIFECYCLE if each in DECIDED_ROWS)
    taken = (each for each, decided in decided_rows if decided.is_due(situation) and decided.move(situation))
    assert next(taken) is row
    decision = decide(snapshot)
    assert check(snapshot, decision) == ()
    spec: Any = msgspec.structs.replace(
        bound.spec, clusters=decision.clusters, graceful_eviction_tasks=decision.eviction_tasks
    )
    after = msgspec.structs.replace(bound, spec=spec)
    return state(name, bound, clusters, copies), state(name, after, clusters, copies)


def going(copy: Work, held: str = "") -> Work:
    """Work whose deletion was asked for; `held`: it is not carried out for now."""
    marks = {REMOVAL_HELD_ANNOTATION: held} if held else {}
    metadata = msgspec.structs.replace(copy.metadata, deletion_timestamp=at(10), annotations=marks)
    return msgspec.structs.replace(copy, metadata=metadata)


def why_kept(bound: ResourceBinding, copies: Mapping[str, Work], *clusters: Cluster) -> str:
    return why_removal_waits(bound.spec, "a", copies, fleet(*clusters), UNKEPT, at(100))


def comes_back() -> States:
    part = msgspec.structs.replace(AWAY, replicas=1)
    moved = aggregated(binding(SHARES, 3, targets(b=3), (part,)))
    return decided(lifecycle.COMES_BACK, "a", moved, WELL, works({"a": 1, "b": 2}), 60)


def is_driven_out() -> States:
    placed = aggregated(binding(SHARES, 3, targets(a=1, b=2)))
    return decided(lifecycle.IS_DRIVEN_OUT, "a", placed, (dead("a"), cluster("b")), works({"a": 1, "b": 2}), 300)


def fails() -> States:
    policy = FailoverBehavior(application=ApplicationFailover(DecisionConditions(60)))
    placed = aggregated(binding(ONE, 2, targets(a=2), failover=policy))
    memory = json.dumps({"replicas": 2, "clusters": {"a": {"unhealthySince": "2026-01-01T00:00:00Z"}}})
    return decided(lifecycle.FAILS, "a", noted(placed, **{MEMORY_ANNOTATION: memory}), WELL, works({"a": None}), 61)


def stalls() -> States:
    moved = aggregated(binding(ONE, 2, targets(b=2), (AWAY,)))
    return decided(lifecycle.STALLS, "b", moved, (dead("a"), *WELL[1:]), works({"a": 2, "b": None}), 700)


def returns_home() -> States:
    away = aggregated(binding(SHARES, 3, targets(a=1, b=2)))
    lost = Snapshot(noted(away, **{FAILBACK_ANNOTATION: "Automatic"}), fleet(dead("a"), cluster("b")), now=at(300))
    home = decide(lost).annotations[HOME_ANNOTATION] or ""
    moved = aggregated(binding(SHARES, 3, targets(b=3)))
    remembered = noted(moved, **{FAILBACK_ANNOTATION: "Automatic", HOME_ANNOTATION: home})
    return decided(lifecycle.RETURNS_HOME, "b", remembered, WELL, works({"b": 3}), 2_000)


def is_placed_elsewhere() -> States:
    placed = aggregated(binding(duplicated("a"), 2, targets(a=2)))
    moved = msgspec.structs.replace(placed, spec=msgspec.structs.replace(placed.spec, placement=duplicated("b")))
    return decided(lifecycle.IS_PLACED_ELSEWHERE, "a", moved, WELL, works({"a": 2}), 60)


def is_wanted_again() -> States:
    placed = aggregated(binding(duplicated("a", "b"), 2, targets(b=2)))
    return decided(lifecycle.IS_PLACED_ELSEWHERE, "a", placed, WELL, {"a": going(work("a", 2)), "b": work("b", 2)}, 60)


def serves() -> States:
    placed = aggregated(binding(ONE, 2, targets(a=2)))
    return state("a", placed, WELL, works({"a": 1})), state("a", placed, WELL, works({"a": 2}))


LEFT = aggregated(binding(ONE, 2, targets(b=2)))


def may_go() -> States:
    poor, whole = works({"a": 2, "b": 1}), works({"a": 2, "b": 2})
    assert why_kept(LEFT, poor, *WELL) == "NotReplaced"
    assert why_kept(LEFT, whole, dead("a"), *WELL[1:]) == "ClusterNotReady"
    assert why_kept(LEFT, whole, *WELL) == ""
    return state("a", LEFT, WELL, whole), state("a", LEFT, WELL, {**whole, "a": going(whole["a"])})


def is_held() -> States:
    poor = {"a": going(work("a", 2)), "b": work("b", 1)}
    assert why_kept(LEFT, poor, *WELL)
    return state("a", LEFT, WELL, poor), state("a", LEFT, WELL, {**poor, "a": going(work("a", 2), held="true")})


def is_gone() -> States:
    whole = {"a": going(work("a", 2)), "b": work("b", 2)}
    assert why_kept(LEFT, whole, *WELL) == "", "whoever carries it out asks once more"
    return state("a", LEFT, WELL, whole), state("a", LEFT, WELL, works({"b": 2}))


def is_unjoined() -> States:
    placed = aggregated(binding(SHARES, 3, targets(a=1, b=2)))
    copies = works({"b": 2})
    return decided(lifecycle.IS_PLACED_ELSEWHERE, "a", placed, WELL[1:], copies, 60)


STORIES: tuple[Callable[[], States], ...] = (
    comes_back,
    is_driven_out,
    fails,
    stalls,
    returns_home,
    is_placed_elsewhere,
    is_wanted_again,
    serves,
    may_go,
    is_held,
    is_gone,
    is_unjoined,
)


@pytest.mark.parametrize(
    ("row", "story"), list(zip(LIFECYCLE, STORIES, strict=True)), ids=[s.__name__ for s in STORIES]
)
def test_each_row_takes_a_copy_from_its_states_to_its_states(row: Transition, story: Callable[[], States]) -> None:
    before, after = story()
    assert before in row.before
    assert after in row.after


THERE = works({"a": 2})["a"]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (None, CopyState.NONE),
        (KnownCopy(0, 0, 0, 0), CopyState.NONE),
        (KnownCopy(2, 2, 0, 2), CopyState.WANTED),
        (KnownCopy(2, 2, 2, 2, work=THERE), CopyState.SERVING),
        (KnownCopy(2, 2, 2, 4, leaving=2, work=THERE), CopyState.LEAVING),
        (KnownCopy(0, 0, 0, 2, work=THERE), CopyState.LEAVING),
        (KnownCopy(0, 0, 0, 2, work=going(THERE)), CopyState.GOING),
        (KnownCopy(2, 2, 0, 2, leaving=2), CopyState.LEAVING),
    ],
)
def test_the_state_of_a_copy_is_told_by_its_row(row: KnownCopy | None, expected: CopyState) -> None:
    assert state_of(row) is expected


def test_the_architecture_shows_the_table() -> None:
    """`python -m tests.lifecycle_table` writes it anew."""
    assert shown() == section()
