"""Room that a cluster has left: of what it can give, less what it gave and gives, and what was placed there since."""

from collections.abc import Mapping
from typing import Any

import pytest

from kubeapi.codec import from_wire
from leeward.api.cluster import Cluster
from leeward.api.work import ResourceBindingSpec
from leeward.core.scheduling.model import MAX_REPLICAS
from leeward.planning.capacity import Capacity, Demand
from tests.placements import binding_spec

CPU, MEMORY = Demand.of({"cpu": "500m"}), Demand.of({"memory": "1Gi"})
MODELS = [{"grade": 0, "ranges": [{"name": "cpu", "min": "2", "max": "4"}]}]


def capacity(nodes: int | None = None, **summary: Mapping[str, str]) -> Capacity:
    """Capacity of a cluster that reports so; with so many nodes of two to four CPUs, where these are told."""
    spec: dict[str, Any] = {"syncMode": "Push"}
    told: dict[str, Any] = dict(summary)
    if nodes is not None:
        spec["resourceModels"] = MODELS
        told["allocatableModelings"] = [{"grade": 0, "count": nodes}]
    found = Capacity.of(
        from_wire({"metadata": {"name": "m1"}, "spec": spec, "status": {"resourceSummary": told}}, Cluster)
    )
    assert found is not None
    return found


def a_set(*parts: tuple[int, Mapping[str, str]]) -> ResourceBindingSpec:
    components = [
        {"name": f"part{n}", "replicas": count, "replicaRequirements": {"resourceRequest": request}}
        for n, (count, request) in enumerate(parts)
    ]
    return binding_spec({}, 0, components=components)


FULL = {"pods": "10", "cpu": "8", "memory": "16Gi"}


@pytest.mark.parametrize(
    ("allocated", "allocating", "by_cpu", "by_memory"),
    [
        ({}, {}, 10, 10),
        ({"cpu": "5"}, {}, 6, 10),
        ({}, {"cpu": "5", "memory": "9Gi"}, 6, 7),
        ({"cpu": "5", "memory": "6Gi"}, {"cpu": "1", "memory": "8Gi"}, 4, 2),
        ({"cpu": "9"}, {"cpu": "1"}, 0, 10),
        ({"pods": "7"}, {"pods": "1"}, 2, 2),
        ({"pods": "11"}, {}, 0, 0),
    ],
)
def test_what_was_given_and_is_being_given_is_not_left(
    allocated: dict[str, str], allocating: dict[str, str], by_cpu: int, by_memory: int
) -> None:
    left = capacity(allocatable=FULL, allocated=allocated, allocating=allocating)
    assert (left.replicas(CPU), left.replicas(MEMORY)) == (by_cpu, by_memory)
    whole = [left.sets(a_set((1, request)).components) for request in ({"cpu": "500m"}, {"memory": "1Gi"})]
    assert whole == [by_cpu, by_memory]


def test_a_cluster_that_reports_no_pods_has_room_for_none() -> None:
    left = capacity(allocatable={"cpu": "8"})
    assert (left.pods, left.replicas(None), left.replicas(CPU), left.sets(a_set((1, {"cpu": "1"})).components)) == (
        0,
        0,
        0,
        0,
    )


def test_a_number_of_pods_beyond_all_measure_is_no_limit() -> None:
    assert capacity(allocatable={"pods": str(2**40)}).replicas(None) == MAX_REPLICAS


def test_what_was_placed_since_is_not_left_in_the_whole_nor_on_the_nodes() -> None:
    left = capacity(nodes=3, allocatable={"pods": "10", "cpu": "100"})
    one_node = Demand.of({"cpu": "2"})
    assert left.replicas(one_node) == 3
    left.take({"cpu": "2"}, 2)
    assert (left.replicas(one_node), left.pods) == (1, 8)
    left.take({"cpu": "2"}, 1)
    assert left.replicas(one_node) == 0


@pytest.mark.parametrize(("nodes", "expected"), [(0, 0), (1, 1), (2, 2), (9, 3)])
def test_a_set_has_to_find_room_on_nodes(nodes: int, expected: int) -> None:
    left = capacity(nodes=nodes, allocatable={"pods": "10", "cpu": "6"})
    assert left.sets(a_set((1, {"cpu": "2"})).components) == expected


def test_one_set_that_fits_into_the_whole_and_on_no_node_does_not_fit() -> None:
    assert capacity(nodes=3, allocatable={"pods": "10", "cpu": "5"}).sets(a_set((1, {"cpu": "3"})).components) == 0


def test_a_set_takes_what_all_its_components_take() -> None:
    left = capacity(allocatable=FULL)
    assert left.sets(a_set((1, {"cpu": "1"}), (2, {"cpu": "500m", "memory": "3Gi"})).components) == 2
    assert left.sets(a_set((3, {})).components) == 3, "as many as there are pods"
    left.take({"memory": "9Gi"}, 1)
    assert left.sets(a_set((1, {"cpu": "1"}), (2, {"cpu": "500m", "memory": "3Gi"})).components) == 1


def test_amounts_of_sets_are_counted_by_units_where_they_are_written_in_binary() -> None:
    """Karmada does the same: the first amount says how."""
    by_thousandths = capacity(allocatable={"pods": "10", "example.com/part": "2500m"}, allocated={})
    assert by_thousandths.sets(a_set((1, {"example.com/part": "500m"})).components) == 5
    by_units = capacity(allocatable={"pods": "10", "memory": "4Ki"}, allocated={"memory": "1024"})
    assert by_units.sets(a_set((1, {"memory": "1Ki"})).components) == 3
