"""Scheduling against Karmada's recorded answers."""

from typing import Any

import pytest

from leeward.api.cluster import Cluster
from leeward.api.codec import from_wire
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION, fnv1a_32
from leeward.api.policy import ClusterAffinity
from leeward.api.work import ReplicaRequirements, ResourceBinding, ResourceBindingSpec, ResourceBindingStatus
from leeward.core.scheduling import Placed, Unplaceable, needs_scheduling, scheduled_condition
from leeward.core.scheduling.affinity import cluster_matches
from leeward.core.scheduling.division import allocate_seats, divide
from leeward.core.scheduling.estimation import available_replicas
from leeward.core.scheduling.model import Request, is_reschedule_requested
from leeward.core.scheduling.pipeline import affinity_names_to_try, filter_clusters, place
from leeward.core.scheduling.reschedule import placement_changed, replicas_changed, scheduling_type
from tests.oracle import Case, all_at, at, load, replay


def request_of(case: Case) -> Request:
    status = from_wire(case.given["status"], ResourceBindingStatus)
    return Request(
        from_wire(case.given["spec"], ResourceBindingSpec),
        status.scheduler_observing_affinity_name,
        status.last_scheduled_time,
        case.given["enableEmptyWorkloadPropagation"],
    )


def clusters_of(case: Case) -> list[Cluster]:
    return from_wire(case.given["clusters"], list[Cluster])


def placement_answer(case: Case) -> object:
    result = place(request_of(case), clusters_of(case))
    if isinstance(result, Placed):
        return {target.name: target.replicas for target in result.clusters}
    messages = all_at(case.expected, "error", "messages")
    return result.kind, result.message if result.message not in messages else "as recorded"


def placement_expected(case: Case) -> object:
    error = case.expected.get("error")
    if error:
        return error["kind"], "as recorded"
    return {target["name"]: target.get("replicas", 0) for target in all_at(case.expected, "clusters")}


def refused_by_the_schema(case: Case) -> str | None:
    """Static weights start at 1: with 0 a placement cannot be stored, so that nothing here can decode it."""
    spec = at(case.given, "spec") or at(case.given, "binding", "spec")
    rules = all_at(spec, "placement", "replicaScheduling", "weightPreference", "staticWeightList")
    if any(rule.get("weight", 0) < 1 for rule in rules):
        return "a static weight below 1 is refused by the CRD"
    if '"weight":0' in (at(case.given, "binding", "metadata", "annotations", APPLIED_PLACEMENT_ANNOTATION) or ""):
        return "a static weight below 1 is refused by the CRD"
    return None


def beyond_the_default_profile(case: Case) -> str | None:
    if case.expected.get("sortSensitive"):
        return "recorded as depending on an unstable sort"
    if case.given["spec"].get("workloadAffinityGroups"):
        return "workload affinity is behind a gate that is off by default"
    if len(case.given["spec"].get("components") or []) > 0:
        return "several pod templates are behind a gate that is off by default"
    return refused_by_the_schema(case)


@pytest.mark.parametrize(
    ("suite", "at_least"), [("schedule", 540), ("schedule_dynamic", 600), ("schedule_features", 45)]
)
def test_templates_go_where_karmada_places_them(suite: str, at_least: int) -> None:
    replay(load(suite), placement_answer, placement_expected, skip=beyond_the_default_profile, at_least=at_least)


@pytest.mark.parametrize("suite", ["schedule", "schedule_dynamic"])
def test_a_rejected_cluster_has_a_reason_that_karmada_gives(suite: str) -> None:
    def answer(case: Case) -> object:
        feasible, rejected = filter_clusters(request_of(case), clusters_of(case))
        for name, reason in rejected.items():
            assert reason in [recorded["reason"] for recorded in at(case.expected, "filtered", name)], case.id
        return sorted(cluster.name for cluster in feasible)

    replay(
        load(suite),
        answer,
        lambda case: sorted(case.expected["feasible"] or []),
        skip=refused_by_the_schema,
        at_least=450,
    )


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


def test_room_is_estimated_as_karmada_does() -> None:
    def skip(case: Case) -> str | None:
        if case.op == "maxAvailableComponentSets":
            return "several pod templates are behind a gate that is off by default"
        if "SchedulingOvercommitProtection=true" in case.given["featureGates"]:
            return "overcommit protection is behind a gate that is off by default"
        summary = at(case.given, "cluster", "status", "resourceSummary")
        if any(len(str(at(summary, part, "pods"))) > 9 for part in ("allocatable", "allocated", "allocating")):
            return "Karmada truncates to 32 bits, we clamp"
        return None

    def answer(case: Case) -> object:
        cluster = from_wire(
            {**case.given["cluster"], "spec": {**case.given["cluster"]["spec"], "syncMode": "Push"}}, Cluster
        )
        wire = case.given["replicaRequirements"]
        requirements = None if wire is None else from_wire(wire, ReplicaRequirements).resource_request
        return available_replicas(cluster, requirements)

    replay(load("estimator"), answer, lambda case: case.expected["replicas"], skip=skip, at_least=150)


def test_a_binding_is_scheduled_again_when_karmada_does_so() -> None:
    def answer(case: Case) -> object:
        binding = from_wire(case.given["binding"], ResourceBinding)
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

    replay(load("need_reschedule"), answer, expected, skip=refused_by_the_schema, at_least=450)


def deletion(deleting: bool) -> dict[str, Any]:
    return {"deletionTimestamp": "2000-01-01T00:00:00Z"} if deleting else {}


def test_affinity_terms_are_tried_in_the_order_of_karmada() -> None:
    def answer(case: Case) -> object:
        binding = from_wire(case.given["binding"], ResourceBinding)
        return list(affinity_names_to_try(binding.spec, binding.status))[: len(case.expected["calls"])]

    replay(
        [case for case in load("need_reschedule") if case.expected["scheduled"]],
        answer,
        lambda case: case.expected["calls"],
        skip=refused_by_the_schema,
        at_least=200,
    )


def test_the_condition_has_the_reason_and_message_of_karmada() -> None:
    plain = {"FitError": "FitError", "UnschedulableError": "UnschedulableError", "Error": "Error"}

    def skip(case: Case) -> str | None:
        error = case.given["error"]
        return None if error is None or error.get("kind") in plain else "our outcomes are not wrapped or aggregated"

    def answer(case: Case) -> object:
        error = case.given["error"]
        message = case.expected["message"]
        condition = scheduled_condition(Placed(()) if error is None else Unplaceable(error["kind"], message, {}))
        return condition.type, condition.status, condition.reason, condition.message

    replay(
        load("condition_by_error"),
        answer,
        lambda case: tuple(case.expected[key] for key in ("type", "status", "reason", "message")),
        skip=skip,
        at_least=10,
    )
