"""Scheduling anew: when it happens, what a failover takes from nobody, and which term and tier clusters are in."""

from typing import Any

import pytest
from msgspec.structs import replace

from kubeapi.codec import encode, from_wire
from kubeapi.meta import ObjectMeta
from leeward.api.cluster import Cluster
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION
from leeward.api.policy import ApplicationFailover, DecisionConditions, FailoverBehavior, Placement
from leeward.api.work import ResourceBinding, ResourceBindingStatus, TargetCluster
from leeward.core.scheduling.affinity import UNKNOWN_TIER, affinity_names, common_term, tier_of
from leeward.core.scheduling.estimates import Question, asks_for_room, estimator_of, lowest, question_of
from leeward.core.scheduling.model import Filter, Placed, Profile, Request, Unplaceable
from leeward.core.scheduling.preserve_assigned import without_loss
from leeward.core.scheduling.reschedule import placement_changed, scheduling_type
from leeward.core.scheduling.steps import DEFAULT_PROFILE
from leeward.planning.estimates import MAX_QUESTIONS, Estimates
from tests.builders import at, targets
from tests.placements import TAINT, binding_spec, cluster

DUPLICATED = {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}
DIVIDED = {"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}}
NEAR = {"affinityName": "near", "clusterNames": ["m1", "m2"]}
FAR = {"affinityName": "far", "clusterNames": ["m2", "m3"]}
TIERED = {**NEAR, "overflowAffinities": [FAR, {"affinityName": "last", "clusterNames": ["m4"]}]}
FLEET = [cluster("m1"), cluster("m2"), cluster("m3", taints=[TAINT]), cluster("m4", deleted=True)]


def taken_from(*names: str) -> Unplaceable:
    message = f"the placement could only be met by taking replicas from {', '.join(names)}"
    return Unplaceable("Error", message, {})


@pytest.mark.parametrize(
    ("placement", "replicas", "held", "result", "expected"),
    [
        (DIVIDED, 6, {"m1": 3, "m2": 2}, targets(m1=3, m2=3), None),
        (DIVIDED, 6, {"m1": 3, "m2": 3}, targets(m1=4, m2=2), taken_from("m2")),
        (DIVIDED, 6, {"m2": 3, "m1": 2}, targets(m5=6), taken_from("m1", "m2")),
        (DIVIDED, 4, {"m1": 3, "m2": 2}, targets(m1=4), None),
        (DUPLICATED, 4, {"m1": 4, "m2": 4}, targets(m1=4), taken_from("m2")),
        (DUPLICATED, 2, {"m1": 4, "m2": 4}, targets(m1=2, m2=2), None),
        (DUPLICATED, 2, {"m1": 4}, targets(m1=1), taken_from("m1")),
        (DIVIDED, 6, {"m4": 3}, targets(m1=6), None),
        ({**DIVIDED, "clusterAffinity": {"exclude": ["m1"]}}, 6, {"m1": 3}, targets(m2=6), None),
        (DIVIDED, 6, {"gone": 3}, targets(m1=6), None),
        (DIVIDED, 6, {"m3": 3}, targets(m1=6), taken_from("m3")),
    ],
)
def test_a_failover_that_would_shrink_a_survivor_gives_no_result_c2(
    placement: Any, replicas: int, held: Any, result: tuple[TargetCluster, ...], expected: Unplaceable | None
) -> None:
    """No survivor is what may not stay by the placement, is being deleted, or is given up by asking for less."""
    outcome = Placed(result)
    asked = Request(binding_spec(placement, replicas, held), keep_assigned=True)
    assert without_loss(asked, outcome, FLEET, DEFAULT_PROFILE) == (expected or outcome)
    no_failover = Request(asked.spec)
    assert without_loss(no_failover, outcome, FLEET, DEFAULT_PROFILE) == outcome


def test_c2_what_a_filter_of_the_binding_refuses_is_no_survivor() -> None:
    asked = Request(binding_spec(DIVIDED, 6, {"m1": 3}), keep_assigned=True)
    own = Filter("Own", lambda request, each: "no" if each.name == "m1" else None)
    profile = Profile((*DEFAULT_PROFILE.filters, own), (), ())
    outcome = Placed(targets(m2=6))
    assert without_loss(asked, outcome, FLEET, profile) == outcome


@pytest.mark.parametrize(("seconds", "is_kept"), [(0, False), (60, True)])
def test_a_requested_reschedule_may_shrink_a_survivor(seconds: int, is_kept: bool) -> None:
    spec = binding_spec(DUPLICATED, 4, {"m1": 4}, rescheduleTriggeredAt="2026-01-01T00:01:00Z")
    outcome = Placed(targets(m2=4))
    asked = Request(spec, last_scheduled_time=at(seconds), keep_assigned=True)
    assert without_loss(asked, outcome, FLEET, DEFAULT_PROFILE) == (taken_from("m1") if is_kept else outcome)


def stored(placement: Any, observed: str = "", applied: Any = None, **more: Any) -> ResourceBinding:
    annotations = {} if applied is None else {APPLIED_PLACEMENT_ANNOTATION: applied}
    return ResourceBinding(
        metadata=ObjectMeta(name="a", annotations=annotations),
        spec=binding_spec(placement, **more),
        status=ResourceBindingStatus(scheduler_observing_affinity_name=observed),
    )


@pytest.mark.parametrize(
    ("placement", "observed", "names", "expected"),
    [
        ({}, "", ["m1"], ""),
        ({}, "told", ["m1"], "told"),
        ({"clusterAffinity": {"clusterNames": ["m9"]}}, "told", ["m1"], "told"),
        ({"clusterAffinities": [NEAR, FAR]}, "", ["m1"], "near"),
        ({"clusterAffinities": [NEAR, FAR]}, "", ["m1", "m2"], "near"),
        ({"clusterAffinities": [NEAR, FAR]}, "", ["m2", "m3"], "far"),
        ({"clusterAffinities": [NEAR, FAR]}, "", ["m2"], "near"),
        ({"clusterAffinities": [NEAR, FAR]}, "far", ["m2"], "far"),
        ({"clusterAffinities": [NEAR, FAR]}, "far", ["m1", "m2"], "near"),
        ({"clusterAffinities": [NEAR, FAR]}, "", ["m1", "m3"], None),
        ({"clusterAffinities": [NEAR, FAR]}, "", ["m1", "gone"], "near"),
        ({"clusterAffinities": [NEAR, FAR]}, "far", [], "far"),
        ({"clusterAffinities": [TIERED]}, "", ["m1", "m3"], "near"),
    ],
)
def test_clusters_have_a_term_in_common_the_observed_one_first(
    placement: Any, observed: str, names: list[str], expected: str | None
) -> None:
    clusters = {each.name: each for each in FLEET}
    assert common_term(stored(placement, observed), names, clusters) == expected


def test_a_placement_without_terms_has_one_without_a_name() -> None:
    assert affinity_names(binding_spec({"clusterAffinities": [NEAR, FAR]})) == ("near", "far")
    assert affinity_names(binding_spec({})) == ("",)
    assert affinity_names(replace(binding_spec({}), placement=None)) == ("",)


@pytest.mark.parametrize(
    ("placement", "name", "expected"),
    [
        ({}, "m1", 0),
        ({"clusterAffinity": {"clusterNames": ["m9"]}}, "m1", 0),
        ({"clusterAffinity": {"clusterNames": ["m9"]}, "clusterAffinities": [TIERED]}, "m3", 0),
        ({"clusterAffinities": [TIERED]}, "m1", 0),
        ({"clusterAffinities": [TIERED]}, "m2", 0),
        ({"clusterAffinities": [TIERED]}, "m3", 1),
        ({"clusterAffinities": [TIERED]}, "m4", 2),
        ({"clusterAffinities": [TIERED]}, "m5", UNKNOWN_TIER),
        ({"clusterAffinities": [FAR]}, "m3", UNKNOWN_TIER),
    ],
)
def test_a_cluster_is_in_the_tier_of_the_first_group_that_names_it(placement: Any, name: str, expected: int) -> None:
    assert tier_of(Request(binding_spec(placement), "near"), cluster(name)) == expected


@pytest.mark.parametrize(("replicas", "expected"), [(3, True), (0, False)])
def test_overflow_groups_are_for_workloads_alone(replicas: int, expected: bool) -> None:
    (affinity,) = (each for each in DEFAULT_PROFILE.filters if each.name == "ClusterAffinity")
    request = Request(binding_spec({"clusterAffinities": [TIERED]}, replicas), "near")
    reason = affinity.reject(request, cluster("m3"))
    assert reason == (None if expected else "cluster(s) did not match the placement cluster affinity constraint")
    assert affinity.reject(request, cluster("m1")) is None


@pytest.mark.parametrize(
    ("operator", "values", "expected"),
    [
        ("In", ["z1"], True),
        ("In", ["z9"], False),
        ("NotIn", ["z1"], False),
        ("NotIn", ["z9"], True),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
        ("Gt", ["1"], False),
    ],
)
def test_a_zone_is_selected_by_the_operators_there_are(operator: str, values: list[str], expected: bool) -> None:
    expression = {"key": "zone", "operator": operator, "values": values}
    placement = {"clusterAffinity": {"fieldSelector": {"matchExpressions": [expression]}}}
    (affinity,) = (each for each in DEFAULT_PROFILE.filters if each.name == "ClusterAffinity")
    rejection = affinity.reject(Request(binding_spec(placement)), cluster("m1", zones=["z1", "z2"]))
    assert (rejection is None) is expected


def applied(placement: Any) -> str:
    return encode(from_wire(placement, Placement)).decode()


def affinities(*terms: Any) -> dict[str, Any]:
    return {"clusterAffinities": list(terms)}


@pytest.mark.parametrize(
    ("before", "now", "observed", "expected"),
    [
        (affinities(NEAR, FAR), affinities(NEAR, FAR), "near", False),
        (affinities(NEAR, FAR), affinities(NEAR), "near", False),
        (affinities(NEAR), affinities(NEAR, FAR), "far", True),
        (affinities(NEAR, FAR), affinities(NEAR), "far", True),
        (affinities(NEAR, FAR), affinities(FAR), "", True),
        (affinities(NEAR), affinities(FAR), "elsewhere", True),
        (affinities(NEAR), affinities({**NEAR, "clusterNames": ["m1"]}), "near", True),
        (affinities(NEAR, FAR), {**affinities(NEAR), **DIVIDED}, "near", True),
    ],
)
def test_only_the_term_that_holds_matters_for_whether_a_placement_changed(
    before: Any, now: Any, observed: str, expected: bool
) -> None:
    assert placement_changed(stored(now, observed, applied(before))) is expected
    assert placement_changed(stored(now, observed, "no placement")) is False
    assert placement_changed(stored(now, observed)) is True


def test_without_a_strategy_everything_is_duplicated() -> None:
    assert scheduling_type(binding_spec(DIVIDED)) == "Divided"
    assert scheduling_type(binding_spec({})) == "Duplicated"
    assert scheduling_type(replace(binding_spec({}), placement=None)) == "Duplicated"


SET = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}
PART = {"name": "a", "replicas": 2, "replicaRequirements": {"resourceRequest": {"cpu": "1"}}}


def test_questions_are_about_replicas_or_about_sets_of_components() -> None:
    spec = binding_spec(SET, 3, components=[PART], replicaRequirements={"resourceRequest": {"cpu": "2"}})
    replicas, sets = Question(spec.replica_requirements), Question(None, spec.components)
    assert question_of(Request(spec)) == replicas
    assert question_of(Request(spec, multiple_pod_templates=True)) == sets
    estimates = Estimates()
    assert estimates.about(spec) == ()
    estimates.put(sets, {"m1": 1})
    assert estimates.about(spec) == ((sets, {"m1": 1}),)
    estimates.put(replicas, {"m1": 5})
    assert estimates.about(spec) == ((replicas, {"m1": 5}), (sets, {"m1": 1}))
    assert (estimates.of(Request(spec)), estimates.of(Request(binding_spec(SET)))) == ({"m1": 5}, {})


def test_an_estimator_says_nothing_of_what_was_not_answered() -> None:
    spec, estimates = binding_spec({}, 3), Estimates()
    plugin = estimator_of(estimates.of)
    assert (plugin.name, plugin.estimate(Request(spec))) == ("Estimates", None)
    estimates.put(question_of(Request(spec)), {"m1": 5})
    asked = plugin.estimate(Request(spec))
    assert asked is not None
    assert (asked(cluster("m1")), asked(cluster("m2"))) == (5, 2**31 - 1)


def test_none_is_an_answer_and_the_lowest_counts_whichever_came_first() -> None:
    assert lowest([{"m1": 3, "m2": 0, "m3": -1}, {"m1": 5, "m2": 4}, {"m1": 4}]) == {"m1": 3, "m2": 0}


def test_a_thousand_questions_are_kept() -> None:
    estimates, specs = (
        Estimates(),
        [binding_spec({}, components=[{"name": f"{n}", "replicas": 1}]) for n in range(MAX_QUESTIONS + 1)],
    )
    for spec in specs:
        estimates.put(Question(None, spec.components), {"m1": 1})
    known = [bool(estimates.about(spec)) for spec in specs]
    assert known == [False, *[True] * MAX_QUESTIONS]


def evicting(name: str) -> Cluster:
    return cluster(name, taints=[{"key": "k", "effect": "NoExecute"}])


APPLICATION = FailoverBehavior(application=ApplicationFailover(decision_conditions=DecisionConditions()))


@pytest.mark.parametrize(
    ("placement", "more", "clusters", "expected"),
    [
        (DIVIDED, {}, [cluster("m1")], False),
        (DIVIDED, {}, [evicting("m1")], True),
        (DIVIDED, {}, [cluster("m1", taints=[TAINT])], False),
        (DIVIDED, {}, [cluster("m1"), evicting("m2")], False),
        (DIVIDED, {}, [], True),
        (DUPLICATED, {}, [evicting("m1")], False),
        (DIVIDED, {"replicas": 0}, [evicting("m1")], False),
        (DIVIDED, {"failover": FailoverBehavior()}, [cluster("m1")], False),
        (DIVIDED, {"failover": APPLICATION}, [cluster("m1")], True),
        (DIVIDED, {"placement": None}, [evicting("m1")], False),
    ],
)
def test_room_is_asked_for_where_a_decision_may_depend_on_it(
    placement: Any, more: Any, clusters: list[Cluster], expected: bool
) -> None:
    binding = stored(placement, applied=applied(placement), replicas=3, assigned={"m1": 3})
    binding = replace(binding, spec=replace(binding.spec, **more))
    assert asks_for_room(binding, {each.name: each for each in clusters}) is expected
