"""Changes of clusters and of Works that wake the bindings which they concern: each sign by itself."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from kubeapi.codec import from_wire
from leeward.api.cluster import Cluster, NodeSummary, ResourceSummary
from leeward.api.names import (
    DRAIN_BUDGET_ANNOTATION,
    FAILING_CONDITION,
    HOME_ANNOTATION,
    MEMORY_ANNOTATION,
    OUTAGE_CONFIRMED_ANNOTATION,
    POLICY_TAINTS_CONFIRMED_ANNOTATION,
)
from leeward.api.policy import FailoverBehavior
from leeward.api.work import GracefulEvictionTask, ResourceBinding, Work
from leeward.core.interpreter.own_replicas import OWN_REPLICAS
from leeward.core.placement.concern import (
    awaits_taints,
    bears_on_health,
    depends_on_health,
    is_awaited,
    may_change_placements,
)
from tests.builders import at, binding, divided, targets, work
from tests.cluster_states import annotated, in_turn, is_deleted, says, tainted, without_apis, without_nodes
from tests.outages import well
from tests.placements import cluster

SERVES = well(cluster("m1"))
DEAD = says("Ready", "False")(SERVES)


def labelled(known: Cluster) -> Cluster:
    return replace(known, metadata=replace(known.metadata, labels={"tier": "gold"}))


def elsewhere(known: Cluster) -> Cluster:
    return replace(known, spec=replace(known.spec, region="r9"))


def with_nodes(known: Cluster) -> Cluster:
    return replace(known, status=replace(known.status, node_summary=NodeSummary(total_num=3, ready_num=2)))


def with_less_room(known: Cluster) -> Cluster:
    return replace(known, status=replace(known.status, resource_summary=ResourceSummary(allocatable={"pods": "1"})))


@pytest.mark.parametrize(
    ("before", "change"),
    [
        (SERVES, tainted("k", "NoSchedule")),
        (SERVES, elsewhere),
        (SERVES, labelled),
        (SERVES, is_deleted),
        (SERVES, says("Ready", "False")),
        (DEAD, says(FAILING_CONDITION, "False")),
        (SERVES, annotated(DRAIN_BUDGET_ANNOTATION, "3")),
        (SERVES, without_nodes),
        (DEAD, annotated(OUTAGE_CONFIRMED_ANNOTATION, "us")),
        (DEAD, annotated(POLICY_TAINTS_CONFIRMED_ANNOTATION, "us")),
        (SERVES, without_apis),
    ],
)
def test_what_decisions_read_of_a_cluster_may_change_where_things_go(
    before: Cluster, change: Callable[[Cluster], Cluster]
) -> None:
    after = change(before)
    assert (may_change_placements(before, after), may_change_placements(after, before)) == (True, True)


@pytest.mark.parametrize(
    ("before", "change"),
    [
        (SERVES, in_turn()),
        (SERVES, with_less_room),
        (SERVES, with_nodes),
        (without_nodes(SERVES), with_less_room),
        (SERVES, annotated("example.com/owner", "us")),
        (SERVES, says("CompleteAPIEnablements", "True")),
        (annotated(DRAIN_BUDGET_ANNOTATION, "3")(SERVES), with_less_room),
        (says(FAILING_CONDITION, "False")(DEAD), with_less_room),
    ],
)
def test_what_they_do_not_read_moves_nothing(before: Cluster, change: Callable[[Cluster], Cluster]) -> None:
    after = change(before)
    assert (may_change_placements(before, after), may_change_placements(after, before)) == (False, False)


@pytest.mark.parametrize(
    ("before", "after", "awaits"),
    [
        (SERVES, DEAD, True),
        (DEAD, SERVES, False),
        (DEAD, tainted("k", "NoSchedule")(DEAD), True),
        (DEAD, annotated(OUTAGE_CONFIRMED_ANNOTATION, "us")(DEAD), True),
        (SERVES, SERVES, False),
        (SERVES, tainted("k", "NoExecute")(DEAD), False),
        (tainted("k", "NoExecute")(DEAD), DEAD, False),
        (SERVES, labelled(DEAD), False),
        (DEAD, elsewhere(DEAD), False),
        (DEAD, is_deleted(DEAD), False),
        (DEAD, says(FAILING_CONDITION, "False")(DEAD), False),
    ],
)
def test_a_cluster_that_nothing_leaves_yet_awaits_its_taints(before: Cluster, after: Cluster, awaits: bool) -> None:
    assert awaits_taints(before, after) is awaits


FAILOVER = from_wire({"application": {"decisionConditions": {"tolerationSeconds": 5}}}, FailoverBehavior)
LEAVING = GracefulEvictionTask("m2", "TaintUntolerated", "TaintManager", creation_timestamp=at(0))


@pytest.mark.parametrize(
    ("tasks", "annotations", "more", "depends"),
    [
        ((LEAVING,), {}, {}, True),
        ((), {}, {"failover": FAILOVER}, True),
        ((), {MEMORY_ANNOTATION: "{}"}, {}, True),
        ((), {"leeward.dev/awaited-targets": "{}"}, {}, True),
        ((), {HOME_ANNOTATION: "{}"}, {}, True),
        ((), {}, {}, False),
    ],
)
def test_health_matters_where_it_can_begin_or_end_something(
    tasks: tuple[GracefulEvictionTask, ...], annotations: dict[str, str], more: dict[str, Any], depends: bool
) -> None:
    placed: ResourceBinding = binding(divided({"m1": 1}), 1, targets(m1=1), tasks, **more)
    assert depends_on_health(replace(placed, metadata=replace(placed.metadata, annotations=annotations))) is depends


REPORTED = work("m1", 2)
NEW = replace(REPORTED, status=replace(REPORTED.status, manifest_statuses=()))
OTHER_ORDER = replace(NEW, spec=replace(NEW.spec, suspend_dispatching=True))
LEAVES = replace(NEW, metadata=replace(NEW.metadata, deletion_timestamp=at(0)))


@pytest.mark.parametrize(
    ("before", "after", "bears"),
    [
        (REPORTED, None, True),
        (NEW, None, True),
        (None, REPORTED, True),
        (NEW, REPORTED, True),
        (REPORTED, REPORTED, True),
        (NEW, LEAVES, True),
        (None, LEAVES, True),
        (REPORTED, NEW, True),
        (NEW, OTHER_ORDER, True),
        (None, NEW, False),
        (NEW, NEW, False),
    ],
)
def test_a_work_says_nothing_of_health_until_something_was_reported(
    before: Work | None, after: Work | None, bears: bool
) -> None:
    assert bears_on_health(before, after) is bears


MOVING = binding(divided({"m1": 2}), 2, targets(m1=2), (LEAVING,))
IN_PART = work("m1", 1)
MORE = replace(REPORTED.status.manifest_statuses[0], health="Unhealthy", status={"readyReplicas": 2, OWN_REPLICAS: 3})
OUTGROWN = replace(REPORTED, status=replace(REPORTED.status, manifest_statuses=(MORE,)))
OF_ANOTHER = replace(IN_PART, metadata=replace(IN_PART.metadata, namespace="karmada-es-m2"))


@pytest.mark.parametrize(
    ("moving", "found", "awaited"),
    [
        (MOVING, NEW, True),
        (MOVING, IN_PART, True),
        (MOVING, REPORTED, False),
        (MOVING, OUTGROWN, False),
        (MOVING, LEAVES, False),
        (MOVING, OF_ANOTHER, False),
        (replace(MOVING, spec=replace(MOVING.spec, failover=FAILOVER)), IN_PART, False),
        (replace(MOVING, spec=replace(MOVING.spec, graceful_eviction_tasks=())), IN_PART, False),
    ],
)
def test_a_copy_that_is_not_well_yet_ends_no_move(moving: ResourceBinding, found: Work, awaited: bool) -> None:
    assert is_awaited(moving, found) is awaited
