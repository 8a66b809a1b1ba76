"""Works and what they add up to, against Karmada's recorded answers."""

from dataclasses import replace
from typing import Any, cast

from kubeapi.codec import DecodeError, from_wire, to_wire
from leeward.api.cluster import Cluster
from leeward.api.names import (
    MANAGED_ANNOTATIONS_ANNOTATION,
    MANAGED_LABELS_ANNOTATION,
    PRESERVED_ANNOTATION,
    WORK_ID_LABEL,
    cluster_of_execution_space,
)
from leeward.api.override import OverridePolicy
from leeward.api.work import Binding, ClusterResourceBinding, ResourceBinding, Work
from leeward.core.execution.aggregate import aggregate
from leeward.core.execution.works import build_works, manifests_by_cluster
from leeward.core.overrides.applicable import rules_for
from leeward.core.overrides.rendering import Overridden, completed, override
from tests.oracle import Case, Difference, all_at, at, load, replay
from tests.override_policies import applicable_policies


def binding_of(case: Case) -> Binding:
    wire = case.given["binding"]
    return from_wire(wire, ResourceBinding if at(wire, "metadata", "namespace") else ClusterResourceBinding)


WEIGHTS = ("binding", "spec", "placement", "replicaScheduling", "weightPreference", "staticWeightList")


def works_of(case: Case) -> dict[str, Any] | str:
    """Works by cluster; or what is said of a binding that cannot be read."""
    try:
        binding = binding_of(case)
    except DecodeError as error:
        return str(error)
    template, policies = case.given["template"], from_wire(case.given["overridePolicies"], list[OverridePolicy])
    rendered: dict[str, Overridden] = {}
    for cluster, manifest in manifests_by_cluster(binding, template).items():
        member = from_wire({"metadata": {"name": cluster}, "spec": {"syncMode": "Push"}}, Cluster)
        rules = rules_for(member, applicable_policies(manifest, policies))
        after = completed(override(Overridden(manifest), rules))
        assert isinstance(after, Overridden), after
        rendered[cluster] = after
    inject = "StatefulFailoverInjection=true" in case.given["featureGates"]
    works = build_works(binding, template, rendered=rendered, inject=inject)
    return {cluster: without_own_marks(works[cluster]) for cluster in sorted(works)}


def recorded_works(case: Case) -> dict[str, Any]:
    works = all_at(case.expected, "works")
    return {cluster_of_execution_space(w["metadata"]["namespace"]): comparable(w) for w in works}


def test_works_are_built_as_karmada_does() -> None:
    def differs(case: Case) -> Difference | None:
        if any(rule.get("weight", 0) < 1 for rule in all_at(case.given, *WEIGHTS)):
            return Difference("a static weight below 1 is refused by the CRD", is_refused)
        if left_alone(case):
            reason = "the Works of clusters that are being left follow the template, where Karmada leaves them"
            return Difference(reason, follows_the_template)
        return None

    replay(load("ensure_work"), works_of, recorded_works, differs=differs, at_least=400)


def is_refused(_: Case, got: Any) -> None:
    assert isinstance(got, str)
    assert got.startswith("Expected `int` >= 1 - at `$.spec.placement.replicaScheduling.weightPreference")


def left_alone(case: Case) -> set[str]:
    """Clusters that only an eviction task names: their Works stay in Karmada, and are rebuilt by us."""
    spec = case.given["binding"]["spec"]
    needed = {target["name"] for target in all_at(spec, "clusters")}
    for snapshot in all_at(spec, "requiredBy"):
        needed |= {target["name"] for target in all_at(snapshot, "clusters")}
    tasks = all_at(spec, "gracefulEvictionTasks")
    return {task["fromCluster"] for task in tasks if task.get("purgeMode") not in ("Immediately", "Directly")} - needed


def follows_the_template(case: Case, got: Any) -> None:
    """Checks that the others are as recorded; one that is left has what another would have, but for counts."""
    left, want = left_alone(case), recorded_works(case)
    assert {cluster: work for cluster, work in got.items() if cluster not in left} == want
    assert set(got) == left | set(want)
    binding, template = case.given["binding"], case.given["template"]
    for cluster in left:
        spec = {**binding["spec"], "clusters": [{"name": cluster, "replicas": 1}]}
        spec = {name: value for name, value in spec.items() if name not in ("gracefulEvictionTasks", "requiredBy")}
        alone = {**case.given, "binding": {**binding, "spec": spec}}
        staying = cast(dict[str, Any], works_of(replace(case, given=alone)))[cluster]
        assert without_counts(got[cluster]) == without_counts(staying)
        (manifest,) = got[cluster]["spec"]["workload"]["manifests"]
        (task,) = (t for t in binding["spec"]["gracefulEvictionTasks"] if t["fromCluster"] == cluster)
        if template["kind"] == "Deployment" and "replicas" in task and at(binding, "spec", "replicaRequirements"):
            assert manifest["spec"]["replicas"] == task["replicas"]


COUNTS = ("replicas", "parallelism", "completions")


def without_counts(work: dict[str, Any]) -> dict[str, Any]:
    """Work without counts, and without what only somebody who leaves has, or only somebody who stays."""
    (manifest,) = work["spec"]["workload"]["manifests"]
    spec = {name: value for name, value in manifest.get("spec", {}).items() if name not in COUNTS}
    rest = {
        name: value for name, value in work["spec"].items() if name not in ("workload", "preserveResourcesOnDeletion")
    }
    return {"metadata": work["metadata"], "manifest": {**manifest, "spec": spec}, **rest}


def without_own_marks(work: dict[str, Any]) -> dict[str, Any]:
    """Work as recorded: not through admission, which lists its permanent id; and Karmada does not mark what
    is preserved."""
    for manifest in work["spec"]["workload"]["manifests"]:
        annotations = manifest["metadata"]["annotations"]
        if annotations.pop(PRESERVED_ANNOTATION, None):
            listed = annotations[MANAGED_ANNOTATIONS_ANNOTATION].split(",")
            listed.remove(PRESERVED_ANNOTATION)
            annotations[MANAGED_ANNOTATIONS_ANNOTATION] = ",".join(listed)
        managed = annotations[MANAGED_LABELS_ANNOTATION].split(",")
        annotations[MANAGED_LABELS_ANNOTATION] = ",".join(label for label in managed if label != WORK_ID_LABEL)
    return work


def comparable(work: dict[str, Any]) -> dict[str, Any]:
    """Work without status; Karmada writes null for the data of a Secret that it empties, and we nothing."""
    manifests = [
        {key: value for key, value in manifest.items() if value is not None}
        for manifest in work["spec"]["workload"]["manifests"]
    ]
    spec = {**work["spec"], "workload": {"manifests": manifests}}
    return {**{key: value for key, value in work.items() if key != "status"}, "spec": spec}


def test_reports_are_added_up_as_karmada_does() -> None:
    def differs(case: Case) -> Difference | None:
        if holding_another(case):
            reason = "a Work that holds another manifest is told of, where Karmada fails for the whole binding"
            return Difference(reason, tells_of_the_one)
        if "error" not in case.expected and not all_at(case.expected, "aggregatedStatus"):
            return Difference("the condition points to no status that is not there", says_that_nothing_is_applied)
        return None

    def answer(case: Case) -> tuple[Any, Any]:
        works = {
            cluster_of_execution_space(w["metadata"]["namespace"]): from_wire(w, Work) for w in case.given["works"]
        }
        items, condition = aggregate(binding_of(case), works)
        return to_wire(items), [to_wire(condition)]

    def tells_of_the_one(case: Case, got: Any) -> None:
        others = [work for work in case.given["works"] if work not in holding_another(case)]
        theirs, _ = answer(replace(case, given={**case.given, "works": others}))
        names = {cluster_of_execution_space(work["metadata"]["namespace"]) for work in holding_another(case)}
        message = "the Work holds another manifest than the binding's resource"
        said = [{"clusterName": name, "appliedMessage": message, "health": "Unknown"} for name in names]
        assert got[0] == sorted((*theirs, *said), key=lambda item: item["clusterName"])
        assert got[1][0]["status"] == "False"

    def says_that_nothing_is_applied(case: Case, got: Any) -> None:
        items, [condition] = got
        [theirs] = case.expected["conditions"]
        assert not items
        assert "Nothing is applied" in condition["message"]
        assert {**condition, "message": ""} == {**theirs, "message": ""}

    def expected(case: Case) -> object:
        if "error" in case.expected:
            return case.expected
        return all_at(case.expected, "aggregatedStatus"), case.expected["conditions"]

    replay(load("binding_status"), answer, expected, differs=differs, at_least=300)


def holding_another(case: Case) -> list[dict[str, Any]]:
    """The Works that hold another manifest than that of the binding's resource."""
    resource = case.given["binding"]["spec"]["resource"]
    wanted = [resource.get(field) for field in ("apiVersion", "kind", "namespace", "name")]
    return [
        work
        for work in case.given["works"]
        if wanted
        not in [
            [each["apiVersion"], each["kind"], each["metadata"].get("namespace"), each["metadata"]["name"]]
            for each in work["spec"]["workload"]["manifests"]
        ]
    ]
