"""Scheduling against Karmada's recorded answers."""

import dataclasses
import json
import re
from collections.abc import Callable
from typing import Any, cast

import pytest
from msgspec.structs import replace

from kubeapi.codec import from_wire, to_wire
from kubeapi.quantity import parse_quantity
from leeward.api.cluster import Cluster
from leeward.api.names import fnv1a_32
from leeward.api.policy import ClusterAffinity
from leeward.api.work import Component, ReplicaRequirements, ResourceBinding, ResourceBindingSpec, ResourceBindingStatus
from leeward.core.scheduling import Placed, Unplaceable, failures_condition, needs_scheduling, scheduled_condition
from leeward.core.scheduling.cluster_matching import cluster_matches
from leeward.core.scheduling.division import allocate_seats, divide
from leeward.core.scheduling.groups import groupings
from leeward.core.scheduling.model import Profile, Request, is_reschedule_requested
from leeward.core.scheduling.pipeline import affinity_names_to_try
from leeward.core.scheduling.reschedule import placement_changed, replicas_changed, scheduling_type
from leeward.core.scheduling.selection import divides, ignores_constraints
from leeward.core.scheduling.steps import DEFAULT_PROFILE, fit_message, reasons_of
from leeward.core.scheduling.vectors import place
from leeward.core.scheduling.workload_affinity import workload_affinity_filters
from leeward.planning import Fleet
from leeward.planning.capacity import Capacity, Demand
from leeward.planning.workload_groups import WorkloadGroups
from tests.one_by_one import filter_clusters, place_one_by_one
from tests.oracle import Case, Difference, all_at, at, load, replay

NO_LIMIT = 2**31 - 1
REFUSED = re.compile("cluster spreadConstraint|failed to assign replicas: (unsupported|.*not enough to schedule)")


def spec_of(wire: dict[str, Any]) -> ResourceBindingSpec:
    """Static weights start at 1 in the schema; recorded ones may be 0, so they are read one higher."""
    raised = json.loads(re.sub(r'"weight": (\d+)', lambda m: f'"weight": {int(m[1]) + 1}', json.dumps(wire)))
    spec = from_wire(raised, ResourceBindingSpec)
    strategy = spec.placement.replica_scheduling if spec.placement else None
    if spec.placement is None or strategy is None or strategy.weight_preference is None:
        return spec
    rules = tuple(replace(rule, weight=rule.weight - 1) for rule in strategy.weight_preference.static_weight_list)
    preference = replace(strategy.weight_preference, static_weight_list=rules)
    placement = replace(spec.placement, replica_scheduling=replace(strategy, weight_preference=preference))
    return replace(spec, placement=placement)


def request_of(case: Case) -> Request:
    status = from_wire(case.given["status"], ResourceBindingStatus)
    return Request(
        spec_of(case.given["spec"]),
        status.scheduler_observing_affinity_name,
        status.last_scheduled_time,
        case.given["enableEmptyWorkloadPropagation"],
        multiple_pod_templates="MultiplePodTemplatesScheduling=true" in all_at(case.given, "featureGates"),
    )


def profile_of(case: Case) -> Profile:
    if "WorkloadAffinity=true" not in all_at(case.given, "featureGates"):
        return DEFAULT_PROFILE
    others = from_wire(all_at(case.given, "existingBindings"), list[ResourceBinding])
    more = workload_affinity_filters(WorkloadGroups(others).others)
    return dataclasses.replace(DEFAULT_PROFILE, filters=(*DEFAULT_PROFILE.filters, *more))


def clusters_of(case: Case) -> list[Cluster]:
    return from_wire(case.given["clusters"], list[Cluster])


def placement_answer(case: Case) -> object:
    return told_result(case, place_one_by_one(request_of(case), clusters_of(case), profile_of(case)))


def placement_answer_on_arrays(case: Case) -> object:
    return told_result(case, place(request_of(case), Fleet(clusters_of(case), profile_of(case)).view()))


def told_result(case: Case, result: Placed | Unplaceable) -> object:
    if isinstance(result, Placed):
        return {target.name: to_wire(target) for target in result.clusters}
    messages = all_at(case.expected, "error", "messages")
    return result.kind, result.message if result.message not in messages else "as recorded"


def placement_expected(case: Case) -> object:
    error = case.expected.get("error")
    if error:
        return error["kind"], "as recorded"
    return {target["name"]: told_target(target) for target in all_at(case.expected, "clusters")}


def told_target(target: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in target.items() if value}


def differences(case: Case) -> Difference | None:
    if case.expected.get("sortSensitive"):
        return Difference(
            "recorded as depending on an unstable sort: another of the answers that are as good", is_as_good
        )
    return other_groupings(case)


def is_as_good(case: Case, answer: Any) -> None:
    """Checks it: as many replicas on as many clusters, all of which will do."""
    wanted = placement_expected(case)
    assert isinstance(answer, dict)
    assert isinstance(wanted, dict)
    got, recorded = cast(dict[str, Any], answer), cast(dict[str, Any], wanted)
    assert set(got) <= set(case.expected["feasible"])
    assert sorted(t.get("replicas", 0) for t in got.values()) == sorted(t.get("replicas", 0) for t in recorded.values())


def other_groupings(case: Case) -> Difference | None:
    """Karmada fails on constraints by zone, provider or label alone, and overlooks them beside region or cluster."""
    placement = request_of(case).placement
    if ignores_constraints(placement.replica_scheduling):
        return None
    if any(grouping.title != "region" for grouping in groupings(placement.spread_constraints)):
        return Difference("spread by zone, provider or label, which Karmada does not", spreads_as_asked)
    return None


def spreads_as_asked(case: Case, answer: Any) -> None:
    """The result is on as many groups of each kind as asked for; or there is an error that names the constraint."""
    request = request_of(case)
    by = groupings(request.placement.spread_constraints)
    if isinstance(answer, tuple):
        answer = cast(tuple[str, str], answer)
        assert any(grouping.title in answer[1] for grouping in by) or REFUSED.search(answer[1]), answer
        return
    chosen = [cluster for cluster in clusters_of(case) if cluster.name in answer]
    assert {cluster.name for cluster in chosen} <= set(case.expected["feasible"])
    for grouping in by:
        groups = {value for cluster in chosen for value in grouping.values(cluster) if value}
        assert len(groups) <= grouping.constraint.max_groups
        few = divides(request.placement.replica_scheduling) or not request.spec.replicas
        assert few or len(groups) >= grouping.constraint.min_groups


@pytest.mark.parametrize("answer", [placement_answer, placement_answer_on_arrays])
@pytest.mark.parametrize(
    ("suite", "at_least"), [("schedule", 590), ("schedule_dynamic", 600), ("schedule_features", 350)]
)
def test_templates_go_where_karmada_places_them(suite: str, at_least: int, answer: Callable[[Case], object]) -> None:
    replay(
        load(suite),
        answer,
        placement_expected,
        differs=differences,
        at_least=at_least,
    )


@pytest.mark.parametrize("suite", ["schedule", "schedule_dynamic", "schedule_features"])
def test_a_rejected_cluster_has_a_reason_that_karmada_gives(suite: str) -> None:
    def answer(case: Case) -> object:
        feasible, rejected = filter_clusters(request_of(case), clusters_of(case), profile_of(case))
        for name, reason in reasons_of(rejected).items():
            assert reason in [recorded["reason"] for recorded in at(case.expected, "filtered", name)], case.id
        return sorted(cluster.name for cluster in feasible)

    replay(load(suite), answer, lambda case: sorted(case.expected["feasible"] or []), at_least=350)


def test_affinities_match_the_clusters_that_karmada_matches() -> None:
    replay(
        load("cluster_match"),
        lambda case: cluster_matches(
            from_wire(case.given["cluster"], Cluster), from_wire(case.given["affinity"], ClusterAffinity)
        ),
        lambda case: case.expected["matches"],
        at_least=400,
    )


def test_seats_are_allocated_as_webster_does() -> None:
    replay(
        load("division", "AllocateWebsterSeats"),
        lambda case: allocate_seats(case.given["newSeats"], case.given["votes"], case.given["initial"]),
        lambda case: {party["name"]: party["seats"] for party in case.expected["parties"]},
        at_least=125,
    )


def shares(items: list[dict[str, Any]] | None, field: str = "replicas") -> dict[str, int]:
    return {item["name"]: item.get(field, 0) for item in items or []}


@pytest.mark.parametrize(
    ("op", "list_name", "field"),
    [("TakeByWeight", "weights", "weight"), ("SpreadReplicasByTargetClusters", "targets", "replicas")],
)
def test_replicas_are_divided_by_weight(op: str, list_name: str, field: str) -> None:
    def answer(case: Case) -> object:
        weights = shares(case.given[list_name], field)
        return divide(case.given["numReplicas"], weights, shares(case.given["init"]), case.given["uid"])

    replay(load("division", op), answer, lambda case: shares(case.expected["result"]), at_least=125)


def test_the_uid_decides_in_which_direction_names_break_ties() -> None:
    replay(
        load("division", "MergeTargetClusters"),
        lambda case: "descending" if case.given["uid"] and fnv1a_32(case.given["uid"]) % 2 else "ascending",
        lambda case: case.expected["tieBreakOrder"],
        at_least=125,
    )


def capacity_of(case: Case) -> Capacity | None:
    wire = {**case.given["cluster"], "spec": {**case.given["cluster"]["spec"], "syncMode": "Push"}}
    capacity = Capacity.of(from_wire(wire, Cluster))
    if capacity is None or "SchedulingOvercommitProtection=true" not in case.given["featureGates"]:
        return capacity
    for workload in case.given["assumedWorkloads"]:
        for component in from_wire(workload["components"] or [], list[Component]):
            requirements = component.replica_requirements
            capacity.take({} if requirements is None else requirements.resource_request, component.replicas)
    return capacity


def clamped(case: Case) -> Difference | None:
    """Karmada truncates to 32 bits what a member with absurd numbers reports: it counts as the most there can be."""
    summary = at(case.given, "cluster", "status", "resourceSummary")
    pods = [parse_quantity(at(summary, part, "pods") or 0) for part in ("allocatable", "allocated", "allocating")]
    return (
        Difference("more pods than 32 bits hold: clamped, not truncated", is_clamped) if max(pods) > NO_LIMIT else None
    )


def is_clamped(case: Case, answer: Any) -> None:
    recorded = int(next(iter(case.expected.values())))
    assert answer == NO_LIMIT or answer == min(recorded % 2**32, NO_LIMIT)


def test_room_is_estimated_as_karmada_does() -> None:
    def answer(case: Case) -> object:
        capacity = capacity_of(case)
        wire = case.given["replicaRequirements"]
        demand = None if wire is None else Demand.of(from_wire(wire, ReplicaRequirements).resource_request)
        return 0 if capacity is None else capacity.replicas(demand)

    cases = load("estimator", "maxAvailableReplicas")
    replay(cases, answer, lambda case: case.expected["replicas"], differs=clamped, at_least=250)


def test_room_for_sets_of_components_is_estimated_as_karmada_does() -> None:
    def answer(case: Case) -> object:
        capacity = capacity_of(case)
        components = from_wire(case.given["components"] or [], list[Component])
        return 0 if capacity is None else capacity.sets(components)

    cases = load("estimator", "maxAvailableComponentSets")
    replay(cases, answer, lambda case: case.expected["sets"], differs=clamped, at_least=250)


def stored_binding(case: Case) -> ResourceBinding:
    """Binding with all static weights one higher, also in the annotation: only whether placements are equal matters."""
    text = re.sub(r'(weight\\?": ?)(\d+)', lambda m: f"{m[1]}{int(m[2]) + 1}", json.dumps(case.given["binding"]))
    return from_wire(json.loads(text), ResourceBinding)


def test_a_binding_is_scheduled_again_when_karmada_does_so() -> None:
    def answer(case: Case) -> object:
        binding = stored_binding(case)
        clusters = {
            c["name"]: from_wire({"metadata": deletion(c["deleting"]), "spec": {"syncMode": "Push"}}, Cluster)
            for c in case.given["clusters"]
        }
        for target in binding.spec.clusters:  # Karmada waits where a target's Cluster is gone, we schedule
            clusters.setdefault(target.name, from_wire({"spec": {"syncMode": "Push"}}, Cluster))
        flags = {
            "placementChanged": placement_changed(binding),
            "isBindingReplicasChanged": replicas_changed(binding.spec),
            "rescheduleRequired": is_reschedule_requested(binding.spec, binding.status.last_scheduled_time),
            "isWorkload": binding.spec.is_workload,
            "replicaSchedulingType": scheduling_type(binding.spec),
        }
        return flags, needs_scheduling(binding, clusters)

    def expected(case: Case) -> object:
        flags = dict(case.expected["flags"])
        del flags["affinityIndex"], flags["hasTerminatingTargetClusters"]
        return flags, case.expected["scheduled"]

    replay(load("need_reschedule"), answer, expected, at_least=500)


def deletion(deleting: bool) -> dict[str, Any]:
    return {"deletionTimestamp": "2000-01-01T00:00:00Z"} if deleting else {}


def test_affinity_terms_are_tried_in_the_order_of_karmada() -> None:
    def answer(case: Case) -> object:
        binding = stored_binding(case)
        return list(affinity_names_to_try(binding.spec, binding.status))[: len(case.expected["calls"])]

    replay(
        [case for case in load("need_reschedule") if case.expected["scheduled"]],
        answer,
        lambda case: case.expected["calls"],
        at_least=250,
    )


def failure_of(error: dict[str, Any]) -> Unplaceable:
    if "wrap" in error:
        return failure_of(error["inner"]).within(error["wrap"].removesuffix(": %w"))
    if error["kind"] == "FitError":
        return Unplaceable("FitError", fit_message(error["numAllClusters"], error["diagnosis"]), error["diagnosis"])
    return Unplaceable(error.get("reason", error["kind"]), error["message"], {})


def test_the_condition_has_the_reason_and_message_of_karmada() -> None:
    def answer(case: Case) -> object:
        error = case.given["error"]
        if error is not None and "aggregate" in error:
            condition = failures_condition([failure_of(part) for part in error["aggregate"] if part])
        else:
            condition = scheduled_condition(Placed(()) if error is None else failure_of(error))
        return condition.type, condition.status, condition.reason, condition.message

    def expected(case: Case) -> object:
        return tuple(case.expected[key] for key in ("type", "status", "reason", "message"))

    replay(load("condition_by_error"), answer, expected, at_least=60)
