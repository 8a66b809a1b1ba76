"""The arrays of a fleet give what is found cluster by cluster, reasons and all, for every kind of question."""

from collections import UserList
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, cast

import pytest

from kubeapi.codec import encode
from leeward.api.cluster import Cluster
from leeward.api.work import ResourceBindingStatus, TargetCluster
from leeward.core.scheduling import Placed, Trace, Unplaceable, schedule
from leeward.core.scheduling.model import MAX_REPLICAS, Estimator, Filter, Profile, Request, Score
from leeward.core.scheduling.steps import DEFAULT_PROFILE
from leeward.planning import Fleet
from tests.builders import at
from tests.one_by_one import schedule_one_by_one
from tests.placements import TAINT, binding_spec, cluster, placed, task

STATIC = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
RULES = [
    {"targetCluster": {"clusterNames": ["m1"]}, "weight": 1},
    {"targetCluster": {"clusterNames": ["m3"]}, "weight": 4},
]
STRATEGIES: tuple[Any, ...] = (
    None,
    {"replicaSchedulingType": "Divided"},
    {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
    {**STATIC, "weightPreference": {}},
    {**STATIC, "weightPreference": {"staticWeightList": RULES}},
    {**STATIC, "weightPreference": {"dynamicWeight": "AvailableReplicas"}},
)
FLEET = [
    cluster("m1", pods=9, region="r1"),
    cluster("m2", pods=4, region="r1"),
    cluster("m3", pods=6, region="r2"),
    cluster("m4", pods=6, region="r2"),
    cluster("m5", pods=30, region="r3", taints=[TAINT]),
    cluster("m6", pods=30, deleted=True),
    cluster("m7", pods=12),
]
HELD: tuple[dict[str, int], ...] = ({}, {"m2": 2, "m3": 1}, {"m4": 9, "m5": 3}, {"m1": 5, "m2": 3, "gone": 2})


def over(by: str, low: int, high: int) -> dict[str, Any]:
    return {"spreadByField": by, "minGroups": low, "maxGroups": high}


SPREADS: tuple[Any, ...] = (
    [],
    [over("cluster", 1, 2)],
    [over("cluster", 9, 9)],
    [over("region", 1, 2)],
    [over("region", 2, 2), over("cluster", 2, 3)],
    [over("region", 1, 2), over("cluster", 3, 4)],
    [over("region", 9, 9)],
    [{"minGroups": 1, "maxGroups": 1}],
)


def told(result: Placed | Unplaceable) -> object:
    """Result as it is written: a number of replicas is a whole one there."""
    if isinstance(result, Placed):
        return encode(result.clusters), result.affinity_name
    return result.kind, result.message, dict(result.rejected)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("constraints", SPREADS)
def test_arrays_and_loop_tell_the_same_of_every_question(strategy: Any, constraints: Any) -> None:
    placement = {"replicaScheduling": strategy, "spreadConstraints": constraints}
    fleet = Fleet(FLEET)
    for held, replicas, keeps, asked_anew in product(HELD, (0, 1, 8, 17, 90), (False, True), (False, True)):
        spec = binding_spec(
            placement,
            replicas,
            held,
            replicaRequirements={"resourceRequest": {}},
            gracefulEvictionTasks=[task("m7")] if keeps else [],
            rescheduleTriggeredAt="2026-01-01T00:01:00Z",
        )
        status = ResourceBindingStatus(last_scheduled_time=at(0 if asked_anew else 60))
        reasons, reference = Trace(), Trace()
        expected = told(schedule_one_by_one(spec, status, FLEET, keep_assigned=keeps, trace=reference))
        assert told(schedule(spec, status, fleet.view(), keep_assigned=keeps, trace=reasons)) == expected
        assert told(schedule(spec, status, fleet.view(), keep_assigned=keeps)) == expected
        (ours,), (theirs,) = reasons.terms, reference.terms
        assert (ours.rejected, ours.groups, sorted(ours.selected)) == (
            theirs.rejected,
            theirs.groups,
            sorted(theirs.selected),
        )


NO_STATUS = ResourceBindingStatus()
DUPLICATED, _, AGGREGATED, EVEN, BY_RULES, BY_ROOM = STRATEGIES


def both(spec: Any, fleet: list[Cluster], profile: Profile = DEFAULT_PROFILE, **options: Any) -> Placed | Unplaceable:
    """Answer of the arrays, after a check that it is what is found cluster by cluster."""
    answer = schedule(spec, NO_STATUS, Fleet(fleet, profile).view(), **options)
    assert told(answer) == told(schedule_one_by_one(spec, NO_STATUS, fleet, profile, **options))
    return answer


TIES = [cluster(f"m{n}", pods=6, region=f"r{(n + 1) // 2}") for n in range(1, 7)]
TIED_SPREADS: tuple[Any, ...] = (
    [],
    [over("cluster", 3, 3)],
    [over("cluster", 0, 0)],
    [over("region", 2, 2)],
    [over("region", 2, 2), over("cluster", 3, 3)],
)
TIED_HELD: tuple[dict[str, int], ...] = ({}, {"m1": 1, "m2": 3}, {"m5": 2, "m6": 1, "m4": 1})


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("uid", ["u", "v"], ids=["names ascend", "names descend"])
def test_ties_are_broken_alike(strategy: Any, uid: str) -> None:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "a", "uid": uid}
    for constraints, held, replicas in product(TIED_SPREADS, TIED_HELD, (1, 4, 7, 12, 18, 22)):
        spec = binding_spec(
            {"replicaScheduling": strategy, "spreadConstraints": constraints}, replicas, held, resource=resource
        )
        both(spec, TIES)
        both(spec, TIES, keep_assigned=True)


def test_of_two_that_have_as_much_room_the_one_chosen_first_is_filled_first() -> None:
    placement = {"replicaScheduling": AGGREGATED, "spreadConstraints": [over("region", 2, 2), over("cluster", 3, 3)]}
    assert placed(both(binding_spec(placement, 7), TIES)) == {"m1": 4, "m3": 3}
    in_use = binding_spec({"replicaScheduling": AGGREGATED}, 7, {"m1": 1, "m2": 3})
    assert placed(both(in_use, TIES)) == {"m1": 1, "m2": 6}


@pytest.mark.parametrize("strategy", [AGGREGATED, BY_ROOM])
@pytest.mark.parametrize("held", [{}, {"m1": 4}])
def test_the_last_room_is_used_and_what_is_more_finds_none(strategy: Any, held: dict[str, int]) -> None:
    clusters, total = TIES[:3], 18 + sum(held.values())
    placement = {"replicaScheduling": strategy, "spreadConstraints": [over("cluster", 3, 3)]}
    for status in (NO_STATUS, ResourceBindingStatus(last_scheduled_time=at(0))):
        results = [
            schedule(
                binding_spec(placement, replicas, held, rescheduleTriggeredAt="2026-01-01T00:01:00Z"),
                status,
                Fleet(clusters).view(),
            )
            for replicas in (total, total + 1)
        ]
        assert sum(placed(results[0]).values()) == total
        assert getattr(results[1], "kind", None) in ("UnschedulableError", "Error")


def test_what_the_chosen_groups_weigh_is_told_by_all_clusters_that_are_asked_for() -> None:
    """The mean of a score of 100 and one of 0, though the first cluster alone has room enough."""
    placement = {"replicaScheduling": BY_ROOM, "spreadConstraints": [over("region", 1, 1), over("cluster", 2, 2)]}
    why = Trace()
    schedule(binding_spec(placement, 1, {"m2": 1}), NO_STATUS, Fleet(TIES).view(), trace=why)
    assert why.terms[0].groups == {"region": {"r1": 1050}}


def test_what_has_no_replicas_goes_to_all_that_are_chosen_under_the_term_that_let_it_in() -> None:
    terms = [{"affinityName": "near", "clusterNames": ["m9"]}, {"affinityName": "far", "exclude": ["m2"]}]
    answer = both(binding_spec({"clusterAffinities": terms}, 0), TIES[:4])
    assert isinstance(answer, Placed)
    assert answer == Placed(tuple(TargetCluster(name, 0) for name in ("m1", "m3", "m4")), "far")


def test_where_nothing_passes_it_is_told_why() -> None:
    clusters = [cluster("m1", taints=[TAINT]), cluster("m2", taints=[TAINT]), cluster("m3", deleted=True)]
    answer = both(binding_spec({"replicaScheduling": BY_ROOM}, 3), clusters)
    assert isinstance(answer, Unplaceable)
    assert (answer.kind, answer.message) == (
        "FitError",
        "0/3 clusters are available: 2 cluster(s) had untolerated taint {k:NoSchedule}.",
    )
    assert dict(answer.rejected) == dict.fromkeys(("m1", "m2"), "cluster(s) had untolerated taint {k:NoSchedule}")


def test_a_cluster_that_is_being_deleted_keeps_nothing() -> None:
    clusters = [cluster("m1", deleted=True), *TIES[1:3]]
    for strategy in (DUPLICATED, AGGREGATED, EVEN, BY_ROOM):
        answer = both(binding_spec({"replicaScheduling": strategy}, 8, {"m1": 4}), clusters)
        assert set(placed(answer)) == {"m2", "m3"}


@pytest.mark.parametrize("held", [{}, {"m2": 1}, {"m3": 3}])
def test_where_a_copy_would_have_to_leave_again_it_does_not_go(held: dict[str, int]) -> None:
    spec = binding_spec({"replicaScheduling": BY_RULES}, 5, held)
    for gone in ("m1", "m3"):
        view = Fleet(TIES).staying(gone, lambda each, gone=gone: at(0) if each.name == gone else None, at(0), spared=())
        rest = [each for each in TIES if each.name != gone]
        assert told(schedule(spec, NO_STATUS, view)) == told(schedule_one_by_one(spec, NO_STATUS, rest))


OVERFLOW = {
    "clusterAffinities": [
        {
            "affinityName": "near",
            "clusterNames": ["m1", "m2"],
            "overflowAffinities": [{"affinityName": "far", "clusterNames": ["m3"]}],
        }
    ]
}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_overflow_groups_are_filled_one_after_the_other(strategy: Any) -> None:
    for replicas, held in product((3, 12, 13, 30), ({}, {"m3": 2})):
        both(binding_spec({**OVERFLOW, "replicaScheduling": strategy}, replicas, held), TIES)
    spread_out = binding_spec({**OVERFLOW, "replicaScheduling": BY_ROOM}, 13)
    assert placed(both(spread_out, TIES)) == {"m1": 6, "m2": 6, "m3": 1}


def test_a_workload_without_replicas_is_there_where_the_gate_asks_for_it() -> None:
    spec = binding_spec({"replicaScheduling": BY_ROOM}, 0, replicaRequirements={"resourceRequest": {}})
    view = Fleet(TIES[:2]).view()
    assert placed(schedule(spec, NO_STATUS, view)) == {}
    assert placed(schedule(spec, NO_STATUS, view, propagate_empty_workloads=True)) == {"m1": 0, "m2": 0}


@pytest.mark.parametrize("strategy", [DUPLICATED, AGGREGATED, BY_ROOM])
def test_clusters_in_two_zones_belong_to_both(strategy: Any) -> None:
    zones = {"m1": ["z1", "z2"], "m2": ["z1"], "m3": ["z2"], "m4": ["z3", "z2"], "m5": ["z3"], "m6": []}
    clusters = [cluster(name, pods=4 + n, zones=there) for n, (name, there) in enumerate(zones.items())]
    spreads = (
        [over("zone", 1, 1)],
        [over("zone", 2, 2)],
        [over("zone", 1, 1), over("cluster", 2, 2)],
        [over("zone", 2, 3), over("cluster", 3, 4)],
    )
    for constraints, replicas in product(spreads, (1, 4, 9, 14)):
        both(binding_spec({"replicaScheduling": strategy, "spreadConstraints": constraints}, replicas), clusters)


def by_region(request: Request, each: Cluster) -> int:
    return 10 * int(each.spec.region[1:]) * request.needed


def test_the_scores_of_all_plugins_count() -> None:
    profile = Profile(DEFAULT_PROFILE.filters, (*DEFAULT_PROFILE.scores, Score("Region", by_region)), ())
    placement = {"spreadConstraints": [over("cluster", 1, 2)]}
    assert placed(both(binding_spec(placement, 1), TIES, profile)) == {"m5": 1, "m6": 1}
    assert placed(both(binding_spec(placement, 1, {"m2": 1}), TIES, profile)) == {"m2": 1, "m5": 1}


def test_a_filter_of_the_binding_refuses_and_says_so() -> None:
    def reject(request: Request, each: Cluster) -> str | None:
        return None if each.spec.region == f"r{request.needed}" else "too far away"

    def concerns(request: Request) -> bool:
        return request.needed > 0

    own = Filter("Own", reject, concerns=concerns)
    profile = Profile((*DEFAULT_PROFILE.filters, own), DEFAULT_PROFILE.scores, ())
    assert placed(both(binding_spec({}, 2), TIES, profile)) == {"m3": 2, "m4": 2}
    nowhere = both(binding_spec({}, 9), TIES, profile)
    assert isinstance(nowhere, Unplaceable)
    assert set(nowhere.rejected.values()) == {"too far away"}


def test_a_cluster_without_a_limit_stays_without_one_when_others_have_reserved_there() -> None:
    def none_in_m1(request: Request) -> Callable[[Cluster], int]:
        return lambda each: MAX_REPLICAS if each.name == "m1" else 4

    profile = Profile(DEFAULT_PROFILE.filters, DEFAULT_PROFILE.scores, (Estimator("Odd", none_in_m1),))
    spec = binding_spec({"replicaScheduling": BY_ROOM}, 8, replicaRequirements={"resourceRequest": {}})
    fleet = Fleet([cluster("m1", pods=2**33), cluster("m2", pods=9)], profile)
    fleet.reserve("default/other", spec, (TargetCluster("m1", 3),))
    assert placed(schedule(spec, NO_STATUS, fleet.view())) == {"m1": 5, "m2": 3}


class Watched(UserList[Cluster]):
    """Counts the clusters that are looked at one by one."""

    looks = 0

    def __getitem__(self, index: Any) -> Any:
        self.looks += 1
        return cast(Any, self.data)[index]

    def __iter__(self) -> Iterator[Cluster]:
        self.looks += 1
        return iter(self.data)


@pytest.mark.parametrize(
    ("strategy", "constraints", "replicas"),
    [
        (DUPLICATED, [], 3),
        (DUPLICATED, [over("cluster", 1, 2)], 90),
        (DUPLICATED, [over("cluster", 6, 6)], 3),
        (EVEN, [over("region", 2, 2)], 9),
        (BY_ROOM, [over("cluster", 1, 2)], 12),
        (BY_ROOM, [over("region", 1, 2)], 6),
        (BY_ROOM, [over("region", 3, 3)], 5),
        (AGGREGATED, [over("region", 1, 2), over("cluster", 3, 3)], 18),
    ],
)
def test_what_is_known_of_a_placement_spares_looking_at_each_cluster_again(
    strategy: Any, constraints: Any, replicas: int
) -> None:
    """Thousands of clusters cost no more than a few."""
    fleet, placement = Fleet(TIES), {"replicaScheduling": strategy, "spreadConstraints": constraints}
    fleet.refresh()
    watched = Watched(fleet.clusters)
    fleet.clusters = cast(list[Cluster], watched)
    assert isinstance(schedule(binding_spec(placement, 1), NO_STATUS, fleet.view()), Placed)
    watched.looks = 0
    assert isinstance(schedule(binding_spec(placement, replicas), NO_STATUS, fleet.view()), Placed)
    assert watched.looks == 0


def test_why_a_cluster_was_refused_is_known_from_the_first_time() -> None:
    asked: list[str] = []

    def reject(request: Request, each: Cluster) -> str | None:
        asked.append(each.name)
        return "no"

    profile = Profile((Filter("Shared", reject, shared=True),), DEFAULT_PROFILE.scores, ())
    fleet = Fleet(TIES[:3], profile)
    for replicas in (1, 2):
        assert isinstance(schedule(binding_spec({}, replicas, {"m2": 1}), NO_STATUS, fleet.view()), Unplaceable)
    assert [asked.count(name) for name in ("m1", "m3")] == [1, 1]
