"""Concern: a change of a cluster that does not concern a binding changes nothing that is decided for it."""

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kubeapi.codec import from_wire
from kubeapi.meta import ObjectMeta
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import AWAITED_TARGETS_ANNOTATION, CLUSTER_OUTAGE_CONDITION, EVICTION_HELD_CONDITION
from leeward.api.policy import ClusterAffinity, Placement
from leeward.api.work import ResourceBinding, ResourceBindingStatus
from leeward.core.placement import Decision, Snapshot, decide
from leeward.core.placement.concern import ClusterConcern, concern_of, may_mean
from leeward.core.scheduling import same_targets
from leeward.planning import Fleet
from tests.builders import at
from tests.outages import Outage, died, outages, well
from tests.placements import binding_spec, cluster, task

LATER = 10_000
DIVIDED = {"replicaScheduling": {"replicaSchedulingType": "Divided"}}


def decided(binding: ResourceBinding, *clusters: Cluster) -> Decision:
    return decide(Snapshot(binding, Fleet(clusters), now=at(LATER)))


def concerns(binding: ResourceBinding, *states: Cluster) -> bool:
    found = concern_of(binding)
    is_meant = found.affinities is not None and may_mean(found.affinities, states)
    return found.anywhere or is_meant or any(state.name in found.names for state in states)


def test_what_does_not_concern_a_binding_that_rests_changes_nothing() -> None:
    reached = Counter[bool]()

    @given(outages(), st.sampled_from([died, well, None]), st.data())
    def check(outage: Outage, change: Callable[[Cluster], Cluster] | None, data: st.DataObject) -> None:
        fleet = {name: well(each) for name, each in outage.fleet.items()}
        before = decided(outage.binding, *fleet.values())
        name = data.draw(st.sampled_from(sorted(fleet)))
        changed = [] if change is None else [change(outage.fleet[name])]
        rests = same_targets(before.clusters, outage.binding.spec.clusters) and before.held is None
        if not rests or not before.clusters:
            return
        is_concerned = concerns(outage.binding, fleet[name], *changed)
        reached[is_concerned] += 1
        if is_concerned:
            return
        others = [each for each in fleet.values() if each.name != name]
        after = decided(outage.binding, *others, *changed)
        assert after == replace_result(before, after)

    check()
    assert reached[True]
    assert reached[False]


def replace_result(before: Decision, after: Decision) -> Decision:
    """`before`, with the fields that say how it was come to, and not what is done, as they are in `after`."""
    return dataclasses.replace(before, result=after.result)


def binding(placement: dict[str, Any], annotations: Any = None, *conditions: str, **spec: Any) -> ResourceBinding:
    metadata = ObjectMeta(name="a", namespace="default", annotations=annotations or {})
    status = ResourceBindingStatus(
        conditions=tuple(Condition(each.partition("=")[0], each.partition("=")[2], "Test") for each in conditions)
    )
    return ResourceBinding(metadata=metadata, spec=binding_spec(placement, assigned={"m1": 3}, **spec), status=status)


def test_what_is_divided_and_rests_is_concerned_by_the_clusters_where_it_is_alone() -> None:
    assert concern_of(binding(DIVIDED)) == ClusterConcern(frozenset({"m1"}))


@pytest.mark.parametrize(
    "found",
    [
        binding(DIVIDED, gracefulEvictionTasks=[task("m2")]),
        binding(DIVIDED, {AWAITED_TARGETS_ANNOTATION: "{}"}),
        binding(DIVIDED, None, f"{CLUSTER_OUTAGE_CONDITION}=True"),
        binding(DIVIDED, None, f"{EVICTION_HELD_CONDITION}=True"),
        binding(DIVIDED, None, "Scheduled=False"),
    ],
    ids=["leaves", "awaits", "is lost in part", "is held", "has no place"],
)
def test_what_moves_or_waits_is_concerned_by_every_cluster(found: ResourceBinding) -> None:
    assert concern_of(found).anywhere


def test_what_waits_says_so() -> None:
    assert concern_of(binding(DIVIDED, None, "Scheduled=False")).waits
    assert not concern_of(binding(DIVIDED, None, "Scheduled=True")).waits


def test_what_is_in_all_clusters_that_match_is_concerned_by_those() -> None:
    found = concern_of(binding({"clusterAffinity": {"clusterNames": ["m1", "m2"]}}))
    assert found.affinities is not None
    assert found.affinities == (ClusterAffinity(cluster_names=("m1", "m2")),)
    assert may_mean(found.affinities, [cluster("m2")])
    assert not may_mean(found.affinities, [cluster("m3")])


def test_all_terms_and_what_overflows_them_are_meant_and_without_any_all_clusters() -> None:
    near = {
        "affinityName": "near",
        "clusterNames": ["m1"],
        "overflowAffinities": [{"affinityName": "far", "clusterNames": ["m3"]}],
    }
    terms = from_wire({"clusterAffinities": [near, {"affinityName": "last", "clusterNames": ["m4"]}]}, Placement)
    made = binding({})
    found = concern_of(replace(made, spec=replace(made.spec, placement=terms))).affinities
    assert found is not None
    assert [may_mean(found, [cluster(name)]) for name in ("m1", "m2", "m3", "m4")] == [True, False, True, True]
    everything = concern_of(made).affinities
    assert everything is not None
    assert may_mean(everything, [cluster("m9")])
