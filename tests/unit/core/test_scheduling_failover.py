"""C2: a failover leaves the assignments on healthy clusters at least as they were, whatever the placement says."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from leeward.api.cluster import Cluster
from leeward.api.work import ResourceBindingSpec, ResourceBindingStatus
from leeward.core.scheduling import Placed, Unplaceable, schedule
from leeward.core.scheduling.model import Request
from leeward.planning import Fleet
from tests.one_by_one import filter_clusters, schedule_one_by_one
from tests.placements import binding_spec, cluster, names, placed, schedule_on, strategies, task

STATUS = ResourceBindingStatus()


def labelled(name: str, team: str, **spec: Any) -> Cluster:
    made = cluster(name, **spec)
    return replace(made, metadata=replace(made.metadata, labels={"team": team} if team else {}))


clusters = st.lists(
    st.builds(
        labelled,
        st.sampled_from([f"m{n}" for n in range(1, 9)]),
        st.sampled_from(["", "a", "b", "c"]),
        pods=st.integers(0, 20),
        region=st.sampled_from(["r1", "r2", "r3", "r4"]),
        provider=st.sampled_from(["p1", "p2"]),
        zones=st.lists(st.sampled_from(["z1", "z2", "z3", "z4"]), min_size=1, max_size=2, unique=True),
    ),
    min_size=2,
    unique_by=lambda each: each.name,
)
fields = st.sampled_from(["region", "zone", "provider", "team", "cluster"])
limits = st.integers(1, 3).flatmap(lambda low: st.tuples(st.just(low), st.integers(low, 5)))
spreads = st.lists(st.tuples(fields, limits), max_size=3, unique_by=lambda each: each[0])
affinities: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {},
        {"clusterAffinity": {"exclude": ["m1"]}},
        {
            "clusterAffinities": [
                {
                    "affinityName": "near",
                    "clusterNames": ["m1", "m2", "m3"],
                    "overflowAffinities": [{"affinityName": "far", "clusterNames": ["m4", "m5", "m6"]}],
                }
            ]
        },
    ]
)
DUPLICATED: dict[str, Any] = {"replicaSchedulingType": "Duplicated"}
EVEN: dict[str, Any] = {
    "replicaSchedulingType": "Divided",
    "replicaDivisionPreference": "Weighted",
    "weightPreference": {},
}
"""Static weights, all alike, that do not ignore spread constraints."""


def spread(by: str, low: int, high: int) -> dict[str, Any]:
    named = {"spreadByLabel": "team"} if by == "team" else {"spreadByField": by}
    return {**named, "minGroups": low, "maxGroups": high}


@st.composite
def failovers(draw: st.DrawFn) -> tuple[ResourceBindingSpec, list[Cluster]]:
    """Bindings that the scheduler placed itself on a fleet of which one cluster is then left."""
    fleet = draw(clusters)
    placement: dict[str, Any] = {
        **draw(affinities),
        "replicaScheduling": draw(strategies | st.just(EVEN)),
        "spreadConstraints": [spread(by, *limit) for by, limit in draw(spreads)],
    }
    spec = binding_spec(placement, draw(st.integers(1, 30)))
    before = schedule_on(spec, STATUS, fleet)
    targets = before.clusters if isinstance(before, Placed) else ()
    if not targets:
        return spec, fleet
    lost = draw(st.sampled_from(targets)).name
    after = [draw(st.sampled_from([cluster_with_room(each, 3), each])) for each in fleet]
    left = tuple(target for target in targets if target.name != lost)
    tasks = binding_spec(placement, gracefulEvictionTasks=[task(lost)]).graceful_eviction_tasks
    return replace(spec, clusters=left, graceful_eviction_tasks=tasks), after


def cluster_with_room(known: Cluster, pods: int) -> Cluster:
    made = cluster(known.name, pods=pods)
    return replace(made, metadata=known.metadata, spec=known.spec)


@given(failovers())
def test_a_failover_shrinks_no_survivor_c2(failover: tuple[ResourceBindingSpec, list[Cluster]]) -> None:
    spec, fleet = failover
    for decide in (schedule_on, schedule_one_by_one):
        result = decide(spec, STATUS, fleet, keep_assigned=True)
        if isinstance(result, Placed):
            after = placed(result)
            assert all(after[target.name] >= target.replicas for target in spec.clusters)


@given(failovers())
def test_arrays_and_loop_fail_over_alike(failover: tuple[ResourceBindingSpec, list[Cluster]]) -> None:
    spec, fleet = failover
    one_by_one = schedule_one_by_one(spec, STATUS, fleet, keep_assigned=True)
    on_arrays = schedule(spec, STATUS, Fleet(fleet).view(), keep_assigned=True)
    assert type(on_arrays) is type(one_by_one)
    assert getattr(on_arrays, "clusters", None) == getattr(one_by_one, "clusters", None)


held = st.dictionaries(names, st.integers(1, 5), max_size=4)


@given(clusters, spreads, strategies, st.integers(1, 30), held, affinities)
def test_whatever_was_assigned_a_failover_shrinks_no_legal_survivor_c2(
    fleet: list[Cluster],
    by: list[tuple[str, tuple[int, int]]],
    strategy: dict[str, Any],
    replicas: int,
    assigned: dict[str, int],
    affinity: dict[str, Any],
) -> None:
    wire = [spread(field, *limit) for field, limit in by]
    placement = {**affinity, "replicaScheduling": strategy, "spreadConstraints": wire}
    spec = binding_spec(placement, replicas, assigned)
    result = schedule(spec, STATUS, Fleet(fleet).view(), keep_assigned=True)
    asks_for_less = spec.is_divided and sum(assigned.values()) > replicas
    if isinstance(result, Unplaceable) or asks_for_less:
        return
    legal, _ = filter_clusters(Request(spec, result.affinity_name), fleet)
    after = placed(result)
    for survivor in legal:
        if survivor.name in assigned:
            assert after[survivor.name] >= min(assigned[survivor.name], replicas)


def regions(**of: str) -> list[Cluster]:
    return [cluster(name, region=region) for name, region in of.items()]


@pytest.mark.parametrize("strategy", [DUPLICATED, EVEN])
def test_the_survivors_region_stays_though_others_are_heavier(strategy: dict[str, Any]) -> None:
    constraints = [spread("region", 2, 2), spread("cluster", 2, 2)]
    spec = binding_spec({"replicaScheduling": strategy, "spreadConstraints": constraints}, 4, {"m2": 2})
    fleet = regions(m2="r2", m3="r3", m4="r3", m5="r3", m6="r4", m7="r4", m8="r4")
    after = placed(schedule_on(spec, STATUS, fleet, keep_assigned=True))
    assert after["m2"] >= 2
    assert len(after) == 2


def test_a_survivor_in_an_overflow_group_is_not_emptied_for_the_primary_one() -> None:
    term = {
        "affinityName": "near",
        "clusterNames": ["m1", "m2"],
        "overflowAffinities": [{"affinityName": "far", "clusterNames": ["m3"]}],
    }
    dynamic = {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }
    spec = binding_spec({"clusterAffinities": [term], "replicaScheduling": dynamic}, 9, {"m3": 4})
    fleet = [cluster("m2", pods=100), cluster("m3", pods=100)]
    assert placed(schedule_on(spec, STATUS, fleet, keep_assigned=True)) == {"m2": 5, "m3": 4}


def test_where_a_constraint_could_only_be_met_by_leaving_a_healthy_cluster_nothing_is_moved() -> None:
    constraints = [spread("region", 2, 2), spread("cluster", 4, 4)]
    placement = {"replicaScheduling": DUPLICATED, "spreadConstraints": constraints}
    spec = binding_spec(placement, 2, {"m1": 2})
    fleet = regions(m1="r1", m2="r2", m3="r2", m4="r3", m5="r3")
    for decide in (schedule_on, schedule_one_by_one):
        assert isinstance(decide(spec, STATUS, fleet, keep_assigned=True), Unplaceable)
        assert isinstance(decide(spec, STATUS, fleet), Placed)
