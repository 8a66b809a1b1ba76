"""Reports to expect of a cluster with resource models when what was placed there has arrived."""

from decimal import Decimal

import msgspec

from leeward.answers.expected_reports import after_arrival, divisors_of, nodes_by_grade, without_what_waits
from leeward.api.cluster import AllocatableModeling, Cluster, NodeSummary, ResourceModel, ResourceModelRange
from leeward.api.cluster import ResourceSummary as Summary
from leeward.planning.reservations import Reserved
from tests.builders import cluster

GRADES = tuple(
    ResourceModel(grade=grade, ranges=(ResourceModelRange(name="cpu", min=str(least), max=str(most)),))
    for grade, (least, most) in enumerate(((0, 1), (1, 2), (2, 4)))
)


def two_nodes() -> Cluster:
    """Cluster of two nodes, with 1.25 and with 2.25 cores free."""
    summary = Summary(
        allocatable={"cpu": "32", "pods": "220"},
        allocated={"cpu": "28500m", "pods": "12"},
        allocatable_modelings=(AllocatableModeling(grade=1, count=1), AllocatableModeling(grade=2, count=1)),
    )
    made = cluster("a")
    status = msgspec.structs.replace(made.status, resource_summary=summary, node_summary=NodeSummary(2, 2))
    spec = msgspec.structs.replace(made.spec, resource_models=GRADES)
    return msgspec.structs.replace(made, spec=spec, status=status)


def grades_after(replicas: int, cpu: str) -> dict[int, int]:
    summary = after_arrival(two_nodes(), [Reserved(replicas, {"cpu": cpu})]).status.resource_summary
    assert summary is not None
    return {each.grade: each.count for each in summary.allocatable_modelings if each.count}


def test_pods_take_from_the_nodes_that_they_run_on() -> None:
    assert grades_after(1, "1") == {1: 2}


def test_pods_that_fit_on_no_node_wait_and_take_nothing_from_nodes() -> None:
    assert grades_after(7, "3") == {1: 1, 2: 1}
    assert grades_after(7, "2") == {0: 1, 1: 1}, "one of them fits"


def test_nodes_of_a_grade_share_what_is_free_as_equally_as_requests_let_them() -> None:
    summary = Summary(
        allocatable={"cpu": "32", "memory": "128Gi", "pods": "220"},
        allocated={"cpu": "25", "memory": "1Gi", "pods": "12"},
        allocatable_modelings=(AllocatableModeling(grade=2, count=2),),
    )
    cores = ResourceModelRange(name="cpu", min="2", max="4")
    models = (ResourceModel(grade=2, ranges=(cores, ResourceModelRange(name="memory", min="0", max="999Gi"))),)
    made = msgspec.structs.replace(two_nodes(), spec=msgspec.structs.replace(two_nodes().spec, resource_models=models))
    divisors = divisors_of([{"cpu": "1", "memory": "1Gi"}, {"cpu": "3"}])
    assert [node["cpu"] for node in nodes_by_grade(made, summary, divisors)] == [3, 4]
    assert [node["memory"] for node in nodes_by_grade(made, summary, divisors)] == [63 * 2**30, 64 * 2**30]
    parted = msgspec.structs.replace(summary, allocated={"cpu": "25500m", "memory": "1Gi", "pods": "12"})
    assert [node["cpu"] for node in nodes_by_grade(made, parted, divisors)] == [3, 3.5]
    assert [node["cpu"] for node in nodes_by_grade(made, parted, divisors_of([{"cpu": "250m"}]))] == [3.25, 3.25]
    assert [node["cpu"] for node in nodes_by_grade(made, parted, {})] == [3.25, 3.25]


def test_a_pod_that_no_node_can_hold_takes_nothing_of_them() -> None:
    """All nodes together have enough for it."""
    made = two_nodes()
    summary = made.status.resource_summary
    assert summary is not None
    big = msgspec.structs.replace(summary, allocating={"cpu": "3", "pods": "1"})
    small = msgspec.structs.replace(summary, allocating={"cpu": "3", "pods": "3"})
    assert without_what_waits(made, big).allocating == {}
    assert without_what_waits(made, small) == small, "these are on their way to a node"
    pool = msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, resource_models=()))
    assert without_what_waits(pool, big) == big


def test_a_part_that_is_left_over_is_free_where_least_is() -> None:
    """Half a core beside the one that its grade has: a Pod of half a core then leaves no room for one of a core."""
    made = two_nodes()
    summary = Summary(
        allocatable={"cpu": "4", "pods": "220"},
        allocated={"cpu": "2500m", "pods": "5"},
        allocatable_modelings=(AllocatableModeling(grade=0, count=1), AllocatableModeling(grade=1, count=1)),
    )
    nodes = nodes_by_grade(made, summary, divisors_of([{"cpu": "500m"}, {"cpu": "1"}]))
    assert [node["cpu"] for node in nodes] == [Decimal("0.5"), 1]
