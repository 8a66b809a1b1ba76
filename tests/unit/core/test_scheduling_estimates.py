"""Answers of other estimators: the lowest answer counts, less what was reserved meanwhile; silence limits nothing."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from leeward.api.cluster import Cluster
from leeward.api.work import ReplicaRequirements, ResourceBindingSpec, ResourceBindingStatus
from leeward.core.scheduling import Placed, Unplaceable, schedule
from leeward.core.scheduling.estimates import asks_for_room, estimator_of, lowest, question_of
from leeward.core.scheduling.model import MAX_REPLICAS, Profile, Request
from leeward.core.scheduling.steps import DEFAULT_PROFILE
from leeward.planning import Fleet
from leeward.planning.estimates import Estimates
from tests.builders import binding, dead, divided, fleet, targets
from tests.builders import cluster as ready_cluster
from tests.one_by_one import schedule_one_by_one
from tests.placements import binding_spec, cluster, fleets, names, placed, schedule_on, specs

STATUS = ResourceBindingStatus()
DYNAMIC = {
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }
}


def told(spec: ResourceBindingSpec, **answers: int) -> Profile:
    """A profile with an estimator that answered so for replicas like these."""
    estimates = Estimates()
    estimates.put(question_of(Request(spec)), answers)
    return dataclasses.replace(DEFAULT_PROFILE, estimators=(estimator_of(estimates.of),))


def test_the_lowest_answer_counts_and_negative_ones_say_nothing() -> None:
    assert lowest([{"m1": 5, "m2": -1, "m3": 2**40}, {"m1": 3, "m2": 7}, {}]) == {
        "m1": 3,
        "m2": 7,
        "m3": MAX_REPLICAS,
    }


def test_an_estimate_limits_what_a_cluster_gets() -> None:
    spec = binding_spec(DYNAMIC, 12)
    clusters = [cluster("m1", pods=20), cluster("m2", pods=20), cluster("m3", pods=3)]
    profile = told(spec, m1=4, m3=9)
    assert placed(schedule_one_by_one(spec, STATUS, clusters, profile)) == {"m1": 2, "m2": 9, "m3": 1}
    assert placed(schedule(spec, STATUS, Fleet(clusters, profile).view())) == {"m1": 2, "m2": 9, "m3": 1}


def test_an_estimate_for_other_replicas_limits_nothing() -> None:
    asked = binding_spec(DYNAMIC, 6, replicaRequirements={"resourceRequest": {"cpu": "1m"}})
    other = binding_spec(DYNAMIC, 6)
    clusters = [cluster("m1", pods=20)]
    assert placed(schedule(other, STATUS, Fleet(clusters, told(asked, m1=0)).view())) == {"m1": 6}


answers = st.dictionaries(names, st.integers(0, 25))


@given(specs, fleets, answers)
def test_arrays_and_loop_agree_with_estimates(
    spec: ResourceBindingSpec, clusters: list[Cluster], answers: dict[str, int]
) -> None:
    profile = told(spec, **answers)
    on_arrays = schedule(spec, STATUS, Fleet(clusters, profile).view())
    one_by_one = schedule_one_by_one(spec, STATUS, clusters, profile)
    assert type(on_arrays) is type(one_by_one)
    assert getattr(on_arrays, "clusters", None) == getattr(one_by_one, "clusters", None)


@given(specs, fleets, answers)
def test_an_estimate_never_makes_room(
    spec: ResourceBindingSpec, clusters: list[Cluster], answers: dict[str, int]
) -> None:
    without = schedule_on(spec, STATUS, clusters)
    if isinstance(without, Unplaceable):
        assert isinstance(schedule_on(spec, STATUS, clusters, told(spec, **answers)), Unplaceable)


@pytest.mark.parametrize(("reserved_cpu", "left"), [("1", 5), ("500m", 5), ("2", 2), ("2500m", 0)])
def test_what_was_reserved_meanwhile_is_taken_off_an_estimate(reserved_cpu: str, left: int) -> None:
    """Eight replicas of one CPU fit, of which three of the reserved size take up to three, six or nine."""
    ours = binding_spec(DYNAMIC, 1, replicaRequirements={"resourceRequest": {"cpu": "1"}})
    theirs = binding_spec(DYNAMIC, 3, replicaRequirements={"resourceRequest": {"cpu": reserved_cpu}})
    fleet = Fleet([cluster_with_cpu("m1", "100")], told(ours, m1=8))
    fleet.reserve("default/theirs", theirs, targets(m1=3))
    assert fits(ours, fleet) == left


def cluster_with_cpu(name: str, cpu: str) -> Cluster:
    made = cluster(name)
    assert made.status.resource_summary is not None
    summary = replace(made.status.resource_summary, allocatable={"pods": 110, "cpu": cpu})
    return replace(made, status=replace(made.status, resource_summary=summary))


def fits(spec: ResourceBindingSpec, fleet: Fleet) -> int:
    """Number of replicas that can be placed."""
    counts = range(1, 20)
    return max(
        (n for n in counts if isinstance(schedule(replace(spec, replicas=n), STATUS, fleet.view()), Placed)), default=0
    )


def test_only_the_latest_answers_of_a_bounded_number_of_questions_are_kept() -> None:
    estimates = Estimates()
    requests = [Request(asking(f"{n}m")) for n in range(1_100)]
    for request in requests:
        estimates.put(question_of(request), {"m1": 1})
    assert estimates.of(requests[0]) == {}
    assert estimates.of(requests[-1]) == {"m1": 1}
    estimates.put(question_of(requests[-1]), {})
    assert estimates.of(requests[-1]) == {}


def asking(cpu: str) -> ResourceBindingSpec:
    return ResourceBindingSpec(
        resource=binding_spec({}).resource, replica_requirements=ReplicaRequirements(resource_request={"cpu": cpu})
    )


def test_room_is_asked_for_only_where_it_decides() -> None:
    well, tainted = fleet(ready_cluster("m1")), fleet(dead("m1"))
    by_room = binding_spec(DYNAMIC, 4, {"m1": 4}).placement
    assert by_room is not None
    everything_there = binding(by_room, 4, targets(m1=4))
    assert not asks_for_room(everything_there, well)
    assert asks_for_room(everything_there, tainted)
    assert asks_for_room(everything_there, {})
    assert asks_for_room(binding(by_room, 5, targets(m1=4)), well)
    assert not asks_for_room(binding(divided({"m1": 1}), 5, targets(m1=4)), tainted)
