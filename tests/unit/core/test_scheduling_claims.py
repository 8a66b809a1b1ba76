"""Clusters that hold claims of a template come first where others are as good, and refuse nobody."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from leeward.api.work import (
    AggregatedStatusItem,
    BindingSnapshot,
    ResourceBindingSpec,
    ResourceBindingStatus,
    TargetCluster,
)
from leeward.core.scheduling import Trace, schedule
from leeward.core.scheduling.claim_locality import claim_ranks, clusters_holding
from leeward.core.scheduling.steps import DEFAULT_PROFILE
from leeward.planning import Fleet
from tests.builders import at
from tests.one_by_one import schedule_one_by_one
from tests.placements import binding_spec, cluster, placed
from tests.unit.core.test_scheduling_vectors import (
    AGGREGATED,
    BY_ROOM,
    DUPLICATED,
    EVEN,
    FLEET,
    HELD,
    NO_STATUS,
    SPREADS,
    STRATEGIES,
    TIES,
    over,
    told,
)

CLAIMS: tuple[Mapping[str, Sequence[str]], ...] = (
    {"data": ["m4"]},
    {"data": ["m7", "m2"]},
    {"data": ["m3", "m1"], "logs": ["m1"]},
    {"data": ["m6", "gone", "m5"]},
)


def profile_with(claims: Mapping[str, Sequence[str]], *unwell: str) -> Any:
    def held(spec: ResourceBindingSpec) -> Mapping[str, Sequence[str]]:
        return claims

    def is_well(name: str) -> bool:
        return name not in unwell

    return replace(DEFAULT_PROFILE, held_claims=held, may_serve=is_well)


@pytest.mark.parametrize("claims", CLAIMS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_arrays_and_loop_prefer_the_same_clusters(strategy: Any, claims: Mapping[str, Sequence[str]]) -> None:
    profile = profile_with(claims)
    fleet = Fleet(FLEET, profile)
    for constraints, held, replicas, keeps, anew in product(SPREADS, HELD, (1, 8, 17, 90), (False, True), (0, 60)):
        placement = {"replicaScheduling": strategy, "spreadConstraints": constraints}
        spec = binding_spec(placement, replicas, held, rescheduleTriggeredAt="2026-01-01T00:01:00Z")
        status = ResourceBindingStatus(last_scheduled_time=at(anew))
        reasons, reference = Trace(), Trace()
        expected = schedule_one_by_one(spec, status, FLEET, profile, keep_assigned=keeps, trace=reference)
        assert told(schedule(spec, status, fleet.view(), keep_assigned=keeps, trace=reasons)) == told(expected)
        assert told(schedule(spec, status, fleet.view(), keep_assigned=keeps)) == told(expected)
        if not keeps:
            without = schedule(spec, status, Fleet(FLEET).view())
            assert type(without) is type(expected), "a claim neither refuses nor admits anything"


@pytest.mark.parametrize("strategy", [DUPLICATED, AGGREGATED, BY_ROOM])
@pytest.mark.parametrize("constraints", [[over("cluster", 1, 1)], [over("region", 1, 1)], [over("region", 2, 2)]])
def test_what_is_placed_anew_goes_to_its_claim(strategy: Any, constraints: Any) -> None:
    placement = {"replicaScheduling": strategy, "spreadConstraints": constraints}
    fleet = [*TIES, cluster("m7", pods=30, region="r4")]
    for name in ("m1", "m4", "m6"):
        view = Fleet(fleet, profile_with({"data": [name]})).view()
        assert name in placed(schedule(binding_spec(placement, 2), NO_STATUS, view))


@pytest.mark.parametrize("strategy", [EVEN, BY_ROOM])
@pytest.mark.parametrize("uid", ["u", "v"], ids=["names ascend", "names descend"])
def test_replicas_that_are_fewer_than_clusters_go_to_their_claims(strategy: Any, uid: str) -> None:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "a", "uid": uid}
    for claims in ({"data": ["m2", "m5"]}, {"data": ["m6"], "logs": ["m3"]}):
        spec = binding_spec({"replicaScheduling": strategy}, 2, resource=resource)
        view = Fleet(TIES, profile_with(claims)).view()
        assert set(placed(schedule(spec, NO_STATUS, view))) == {name for names in claims.values() for name in names}


def test_a_cluster_with_less_room_gets_a_replica_for_its_claim_before_others_do() -> None:
    fleet = [cluster("m1", pods=109), cluster("m2", pods=109), cluster("m3", pods=110)]
    view = Fleet(fleet, profile_with({"data": ["m1", "m2"]})).view()
    assert placed(schedule(binding_spec({"replicaScheduling": BY_ROOM}, 2), NO_STATUS, view)) == {"m1": 1, "m2": 1}
    assert placed(schedule(binding_spec({"replicaScheduling": BY_ROOM}, 6), NO_STATUS, view)) == {
        "m1": 2,
        "m2": 2,
        "m3": 2,
    }


def test_what_is_assigned_stays_though_its_claim_is_elsewhere() -> None:
    placement = {"replicaScheduling": DUPLICATED, "spreadConstraints": [over("cluster", 1, 1)]}
    by_region = {**placement, "spreadConstraints": [over("region", 1, 1)]}
    for asked in (placement, by_region):
        view = Fleet(TIES, profile_with({"data": ["m5"], "logs": ["m5"]})).view()
        assert set(placed(schedule(binding_spec(asked, 1, {"m1": 1}), NO_STATUS, view))) <= {"m1", "m2"}


@pytest.mark.parametrize("constraints", [[over("cluster", 1, 1)], [over("region", 1, 1)], []])
def test_a_claim_where_there_is_no_room_keeps_nobody_waiting(constraints: Any) -> None:
    fleet = [cluster("m1", pods=1, region="r1"), cluster("m2", pods=9, region="r2")]
    view = Fleet(fleet, profile_with({"data": ["m1"]})).view()
    for strategy in (AGGREGATED, BY_ROOM):
        spec = binding_spec({"replicaScheduling": strategy, "spreadConstraints": constraints}, 8)
        assert placed(schedule(spec, NO_STATUS, view)).get("m2", 0) >= 7


def test_the_cluster_where_claims_were_needed_last_comes_first_and_one_that_is_not_well_not_at_all() -> None:
    held = {"data": ("b", "a"), "logs": ("c",)}
    assert claim_ranks(held, bool) == {"a": 1, "b": 2, "c": 2}
    assert claim_ranks(held, lambda name: name != "b") == {"a": 1, "c": 1}
    assert claim_ranks({"data": ("a", "b"), "logs": ("b",)}, bool) == {"a": 1, "b": 2}
    assert claim_ranks({}, bool) == {}


def test_clusters_are_told_to_hold_a_claim_by_its_works_or_else_by_its_reports() -> None:
    needed = (
        BindingSnapshot(namespace="n", name="other", clusters=(TargetCluster("c"),)),
        BindingSnapshot(namespace="n", name="web", clusters=(TargetCluster("b"), TargetCluster("lost"))),
    )
    reports = [AggregatedStatusItem(name, applied=name != "d") for name in ("a", "b", "c", "d")]
    assert clusters_holding({}, reports, needed, ("n", "web")) == ("b", "c", "a")
