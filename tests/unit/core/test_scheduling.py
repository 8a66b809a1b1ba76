"""Properties that hold for every placement, and the rules that are ours."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeapi.codec import encode
from kubeapi.meta import ObjectMeta
from kubeapi.toleration import untolerated_taint
from leeward.api.cluster import Cluster
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION
from leeward.api.work import ResourceBinding, ResourceBindingSpec, ResourceBindingStatus
from leeward.core.scheduling import Placed, Profile, Unplaceable, needs_scheduling
from leeward.core.scheduling.cluster_matching import cluster_matches
from leeward.core.scheduling.division import allocate_seats, divide
from leeward.core.scheduling.filters import is_enabled
from leeward.core.scheduling.model import Filter
from leeward.core.scheduling.steps import DEFAULT_PROFILE
from tests.placements import TAINT, binding_spec, cluster, fleets, names, placed, schedule_on, specs, task


@given(specs, fleets)
def test_every_assignment_is_legal_s2(spec: ResourceBindingSpec, fleet: list[Cluster]) -> None:
    result = schedule_on(spec, ResourceBindingStatus(), fleet)
    known = {each.name: each for each in fleet}
    placement = spec.placement
    assert placement is not None
    assert placement.cluster_affinity is not None
    for name in placed(result) if isinstance(result, Placed) else ():
        target = known[name]
        assert not target.is_being_deleted
        assert name not in {each.from_cluster for each in spec.graceful_eviction_tasks}
        assert cluster_matches(target, placement.cluster_affinity)
        if name not in {each.name for each in spec.clusters}:
            assert untolerated_taint(target.spec.taints, placement.cluster_tolerations) is None
            assert is_enabled(target, "apps/v1", "Deployment")


@given(specs, fleets)
def test_replicas_are_conserved_s3(spec: ResourceBindingSpec, fleet: list[Cluster]) -> None:
    result = schedule_on(spec, ResourceBindingStatus(), fleet)
    if isinstance(result, Unplaceable):
        return
    counts = list(placed(result).values())
    assert all(count > 0 for count in counts)
    assert spec.placement is not None
    assert spec.placement.replica_scheduling is not None
    if spec.placement.replica_scheduling.replica_scheduling_type == "Divided":
        assert sum(counts) == spec.replicas
    else:
        assert set(counts) <= {spec.replicas}


@given(specs, fleets, st.randoms(use_true_random=False))
def test_the_order_of_the_clusters_does_not_matter(
    spec: ResourceBindingSpec, fleet: list[Cluster], random: Any
) -> None:
    shuffled = list(fleet)
    random.shuffle(shuffled)
    status = ResourceBindingStatus()
    assert schedule_on(spec, status, shuffled) == schedule_on(spec, status, fleet)


weights = st.dictionaries(names, st.integers(0, 2**60), min_size=1)
held = st.dictionaries(names, st.integers(0, 50))


@given(st.integers(0, 300), weights, held, st.text(max_size=3))
def test_division_conserves_the_sum(
    replicas: int, weights: Mapping[str, int], held: Mapping[str, int], uid: str
) -> None:
    shared = divide(replicas, weights, held, uid)
    expected = sum(held.values()) + (replicas if sum(weights.values()) else 0)
    assert sum(shared.values()) == expected
    assert all(shared[name] >= count for name, count in held.items())


@given(st.integers(0, 300), weights, held)
def test_division_gives_each_seat_to_the_strongest_claim(
    seats: int, votes: Mapping[str, int], held: Mapping[str, int]
) -> None:
    expected = {name: held.get(name, 0) for name in {*votes, *held}}
    for _ in range(seats):
        winner = min(expected, key=lambda n: (-(float(votes.get(n, 0)) / (2 * expected[n] + 1)), expected[n], n))
        expected[winner] += 1
    assert allocate_seats(seats, votes, held) == expected


def test_dividing_billions_of_replicas_takes_no_longer_than_a_few() -> None:
    assert divide(2**31 - 1, {"a": 1, "b": 1}) == {"a": 2**30, "b": 2**30 - 1}


def test_a_failover_keeps_what_is_assigned_to_the_survivors() -> None:
    placement = {"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}}
    spec = binding_spec(placement, 6, {"m2": 2}, gracefulEvictionTasks=[task("m1")])
    fleet = [cluster("m1"), cluster("m2", pods=1), cluster("m3")]
    assert placed(schedule_on(spec, ResourceBindingStatus(), fleet)) == {"m2": 2, "m3": 4}


def test_a_duplicated_binding_without_enough_clusters_is_not_placed() -> None:
    placement = {
        "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}],
    }
    result = schedule_on(
        binding_spec(placement), ResourceBindingStatus(), [cluster("m1"), cluster("m2", taints=[TAINT])]
    )
    assert isinstance(result, Unplaceable)
    assert result.kind == "Error"
    assert result.rejected == {"m2": "cluster(s) had untolerated taint {k:NoSchedule}"}


TERMS = [
    {"affinityName": "near", "clusterNames": ["m1"]},
    {"affinityName": "far", "clusterNames": ["m2"]},
]


@pytest.mark.parametrize(
    ("observed", "expected", "term"),
    [("", {"m1": 3}, "near"), ("far", {"m2": 3}, "far"), ("gone", {"m1": 3}, "near")],
)
def test_affinity_terms_are_tried_from_the_observed_one_on(observed: str, expected: object, term: str) -> None:
    status = ResourceBindingStatus(scheduler_observing_affinity_name=observed)
    result = schedule_on(binding_spec({"clusterAffinities": TERMS}), status, [cluster("m1"), cluster("m2")])
    assert placed(result) == expected
    assert isinstance(result, Placed)
    assert result.affinity_name == term


def test_the_next_affinity_term_is_tried_when_one_gives_no_result() -> None:
    fleet = [cluster("m1", taints=[TAINT]), cluster("m2")]
    assert placed(schedule_on(binding_spec({"clusterAffinities": TERMS}), ResourceBindingStatus(), fleet)) == {"m2": 3}


def test_when_no_affinity_term_gives_a_result_the_first_reason_counts() -> None:
    fleet = [cluster("m1", taints=[TAINT]), cluster("m2", deleted=True)]
    result = schedule_on(binding_spec({"clusterAffinities": TERMS}), ResourceBindingStatus(), fleet)
    assert isinstance(result, Unplaceable)
    assert "untolerated taint" in result.rejected["m1"]


@pytest.mark.parametrize(("clusters", "expected"), [((), True), (("m1",), False)])
def test_a_binding_on_a_cluster_that_is_gone_is_scheduled_again(clusters: tuple[str, ...], expected: bool) -> None:
    strategy = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
    spec = binding_spec({"replicaScheduling": strategy}, 3, {"m1": 3})
    applied = encode(spec.placement).decode()
    metadata = ObjectMeta(name="a-deployment", annotations={APPLIED_PLACEMENT_ANNOTATION: applied})
    stored = ResourceBinding(metadata=metadata, spec=spec)
    assert needs_scheduling(stored, {name: cluster(name) for name in clusters}) is expected


def test_a_plug_in_of_another_profile_takes_part() -> None:
    refuses_m1 = Filter("Custom", lambda request, cluster: "not m1" if cluster.name == "m1" else None)
    profile = Profile((*DEFAULT_PROFILE.filters, refuses_m1), DEFAULT_PROFILE.scores, DEFAULT_PROFILE.estimators)
    result = schedule_on(binding_spec({}), ResourceBindingStatus(), [cluster("m1"), cluster("m2")], profile)
    assert placed(result) == {"m2": 3}


@pytest.mark.parametrize("pods", ["nonsense", "1e999999"])
def test_a_member_that_reports_nonsense_harms_only_itself_s10(pods: Any) -> None:
    placement = {"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}}
    fleet = [cluster("m1", pods=pods), cluster("m2")]
    assert placed(schedule_on(binding_spec(placement), ResourceBindingStatus(), fleet)) == {"m2": 3}
