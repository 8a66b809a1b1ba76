"""Works and what they add up to, against Karmada's recorded answers."""

from typing import Any

from kubeapi.codec import from_wire, to_wire
from leeward.api.names import (
    MANAGED_LABELS_ANNOTATION,
    WORK_ID_LABEL,
    cluster_of_execution_space,
)
from leeward.api.work import Binding, ClusterResourceBinding, ResourceBinding, Work
from leeward.core.execution.aggregate import aggregate
from leeward.core.execution.works import build_works
from tests.oracle import Case, all_at, at, load, replay, told


def binding_of(case: Case) -> Binding:
    wire = case.given["binding"]
    return from_wire(wire, ResourceBinding if at(wire, "metadata", "namespace") else ClusterResourceBinding)


def static_weight_below_one(case: Case) -> bool:
    path = ("binding", "spec", "placement", "replicaScheduling", "weightPreference", "staticWeightList")
    return any(rule.get("weight", 0) < 1 for rule in all_at(case.given, *path))


def test_works_are_built_as_karmada_does() -> None:
    def skip(case: Case) -> str | None:
        if case.given["overridePolicies"]:
            return "override policies are not part of this function"
        if static_weight_below_one(case):
            return "a static weight below 1 is refused by the CRD"
        return None

    def answer(case: Case) -> object:
        inject = "StatefulFailoverInjection=true" in case.given["featureGates"]
        works = build_works(binding_of(case), case.given["template"], inject_state=inject)
        kept = {cluster for cluster in works if cluster not in left_alone(case)}
        return {cluster: told(without_work_id(works[cluster])) for cluster in sorted(kept)}

    def expected(case: Case) -> object:
        works = all_at(case.expected, "works")
        return {cluster_of_execution_space(w["metadata"]["namespace"]): told(without_status(w)) for w in works}

    replay(load("ensure_work"), answer, expected, skip=skip, at_least=240)


def left_alone(case: Case) -> set[str]:
    """Clusters that only an eviction task names: their Works stay in Karmada, and are rebuilt by us."""
    spec = case.given["binding"]["spec"]
    needed = {target["name"] for target in all_at(spec, "clusters")}
    for snapshot in all_at(spec, "requiredBy"):
        needed |= {target["name"] for target in all_at(snapshot, "clusters")}
    return {task["fromCluster"] for task in all_at(spec, "gracefulEvictionTasks")} - needed


def without_work_id(work: dict[str, Any]) -> dict[str, Any]:
    """The recorded Works have not been through admission, which lists the Work's permanent id."""
    for manifest in work["spec"]["workload"]["manifests"]:
        annotations = manifest["metadata"]["annotations"]
        managed = annotations[MANAGED_LABELS_ANNOTATION].split(",")
        annotations[MANAGED_LABELS_ANNOTATION] = ",".join(label for label in managed if label != WORK_ID_LABEL)
    return work


def without_status(work: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in work.items() if key != "status"}


def test_reports_are_added_up_as_karmada_does() -> None:
    def skip(case: Case) -> str | None:
        return "Karmada fails where we tell it of the one cluster" if "error" in case.expected else None

    def answer(case: Case) -> object:
        works = {
            cluster_of_execution_space(w["metadata"]["namespace"]): from_wire(w, Work) for w in case.given["works"]
        }
        items, condition = aggregate(binding_of(case), works)
        return told(to_wire(items)), [to_wire(condition)]

    def expected(case: Case) -> object:
        return told(all_at(case.expected, "aggregatedStatus")), case.expected["conditions"]

    replay(load("binding_status"), answer, expected, skip=skip, at_least=280)
