"""The arrays of a fleet give the answers that the clusters give one by one, also after changes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from leeward.api.cluster import Cluster
from leeward.api.work import ResourceBindingSpec, ResourceBindingStatus
from leeward.core.scheduling import Placed, Unplaceable, schedule
from leeward.core.scheduling.division import allocate_seats
from leeward.core.scheduling.vector_allocation import allocate
from leeward.planning import Fleet
from tests.one_by_one import schedule_one_by_one
from tests.placements import binding_spec, cluster, fleets, names, placements, specs, task

STATUS = ResourceBindingStatus()


def told(result: Placed | Unplaceable) -> object:
    if isinstance(result, Placed):
        return result
    return result.kind, result.message, dict(result.rejected)


@given(specs, fleets, st.booleans())
def test_arrays_place_as_cluster_by_cluster(spec: ResourceBindingSpec, fleet: list[Cluster], keep: bool) -> None:
    one_by_one = schedule_one_by_one(spec, STATUS, fleet, keep_assigned=keep)
    assert told(schedule(spec, STATUS, Fleet(fleet).view(), keep_assigned=keep)) == told(one_by_one)


more_specs = st.lists(specs, min_size=1, max_size=3)


@given(more_specs, fleets, fleets)
def test_arrays_follow_every_change_of_a_cluster(
    asked: list[ResourceBindingSpec], before: list[Cluster], after: list[Cluster]
) -> None:
    fleet = Fleet(before)
    for spec in asked:
        schedule(spec, STATUS, fleet.view())
    for changed in after:
        fleet.put(changed)
    for gone in set(fleet) - {each.name for each in after}:
        fleet.remove(gone)
    for spec in asked:
        assert told(schedule(spec, STATUS, fleet.view())) == told(schedule_one_by_one(spec, STATUS, after))


@given(specs, fleets, fleets)
def test_arrays_follow_changes_that_leave_the_fleet_as_large_as_it_was(
    spec: ResourceBindingSpec, before: list[Cluster], after: list[Cluster]
) -> None:
    fleet = Fleet(before)
    schedule(spec, STATUS, fleet.view())
    for changed in after:
        if changed.name in fleet:
            fleet.put(changed)
    assert told(schedule(spec, STATUS, fleet.view())) == told(schedule_one_by_one(spec, STATUS, list(fleet.values())))


weights = st.integers(24, 60).flatmap(
    lambda count: st.tuples(
        st.lists(st.one_of(st.integers(1, 5), st.integers(1, 2**50)), min_size=count, max_size=count),
        st.lists(st.integers(0, 30), min_size=count, max_size=count),
    )
)


@given(st.integers(0, 400), weights, st.booleans())
def test_division_in_bulk_gives_what_seat_by_seat_gives(
    seats: int, parties: tuple[Sequence[int], Sequence[int]], descend: bool
) -> None:
    votes, held = parties
    labels = [f"m{position:03}" for position in range(len(votes))]
    expected = allocate_seats(
        seats, dict(zip(labels, votes, strict=True)), dict(zip(labels, held, strict=True)), descend
    )
    got = allocate(seats, np.array(votes), np.array(held), descend)
    assert got.tolist() == [expected[label] for label in labels]


LARGE = [cluster(f"c{number:03}", pods=(number * 37) % 90, region=f"r{number % 4}") for number in range(60)]


@given(placements, st.integers(1, 900), st.dictionaries(st.sampled_from([c.name for c in LARGE]), st.integers(1, 9)))
def test_arrays_place_as_cluster_by_cluster_in_a_fleet_with_ties(
    placement: Any, replicas: int, assigned: dict[str, int]
) -> None:
    spec = binding_spec({**placement, "clusterAffinity": {}}, replicas, assigned, gracefulEvictionTasks=[task("c001")])
    assert told(schedule(spec, STATUS, Fleet(LARGE).view())) == told(schedule_one_by_one(spec, STATUS, LARGE))


@given(names, specs, fleets)
def test_a_repeated_question_is_answered_alike(name: str, spec: ResourceBindingSpec, clusters: list[Cluster]) -> None:
    fleet = Fleet(clusters)
    first = schedule(spec, STATUS, fleet.view())
    assert schedule(spec, STATUS, fleet.view()) == first
    fleet.put(cluster(name, pods=1))
    assert told(schedule(spec, STATUS, fleet.view())) == told(schedule_one_by_one(spec, STATUS, list(fleet.values())))
