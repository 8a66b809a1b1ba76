"""Contents of a Work, what is written into the member, and whose object it is."""

from typing import Any

import msgspec
import pytest

from kubeapi.codec import from_wire, to_wire
from kubeapi.meta import ObjectMeta
from leeward.api.names import WORK_ID_LABEL
from leeward.api.work import ResourceBinding, ResourceBindingStatus, Work
from leeward.core.execution.aggregate import aggregate, rendered_generation
from leeward.core.execution.ownership import is_ours, other_hub, stamp, with_hub, without_due_hub
from leeward.core.execution.retain import covers, merge
from leeward.core.execution.works import build_works

TEMPLATE: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "nginx",
        "namespace": "default",
        "uid": "u",
        "generation": 2,
        "resourceVersion": "9",
        "labels": {"app": "nginx"},
    },
    "spec": {"replicas": 3},
    "status": {"replicas": 3},
}


def binding(**spec: Any) -> ResourceBinding:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "nginx", "uid": "u"}
    labels = {"resourcebinding.karmada.io/permanent-id": "b"}
    wire = {
        "metadata": {"name": "nginx-deployment", "namespace": "default", "labels": labels},
        "spec": {"resource": resource, "replicas": 3, **spec},
    }
    return from_wire(wire, ResourceBinding)


def task(cluster: str, purge_mode: str, replicas: int | None) -> dict[str, Any]:
    wire = {"fromCluster": cluster, "purgeMode": purge_mode, "reason": "TaintUntolerated", "producer": "TaintManager"}
    return wire if replicas is None else {**wire, "replicas": replicas}


def manifest_of(work: dict[str, Any]) -> dict[str, Any]:
    return work["spec"]["workload"]["manifests"][0]


def test_a_cluster_that_is_left_gracefully_keeps_its_replicas_s1() -> None:
    spec = {"clusters": [{"name": "m2", "replicas": 2}], "gracefulEvictionTasks": [task("m1", "Gracefully", 1)]}
    works = build_works(binding(**spec), TEMPLATE)
    assert {name: manifest_of(work)["spec"]["replicas"] for name, work in works.items()} == {"m1": 1, "m2": 2}


def test_a_cluster_that_is_left_directly_has_no_work() -> None:
    spec = {"clusters": [{"name": "m2", "replicas": 2}], "gracefulEvictionTasks": [task("m1", "Directly", 1)]}
    assert set(build_works(binding(**spec), TEMPLATE)) == {"m2"}


def test_a_copy_is_not_scaled_down_where_its_task_does_not_say_how_many() -> None:
    works = build_works(binding(gracefulEvictionTasks=[task("m1", "", None)]), TEMPLATE)
    assert manifest_of(works["m1"])["spec"]["replicas"] == 3


def test_the_permanent_id_of_a_work_stays_and_a_new_work_gets_one() -> None:
    both = {"clusters": [{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 2}]}
    works = build_works(binding(**both), TEMPLATE, {"m1": "old", "m2": ""}, lambda: "new")
    labels = {name: work["metadata"]["labels"]["work.karmada.io/permanent-id"] for name, work in works.items()}
    assert labels == {"m1": "old", "m2": "new"}
    assert manifest_of(works["m2"])["metadata"]["labels"]["work.karmada.io/permanent-id"] == "new"
    there = {name: Work(metadata=ObjectMeta(labels={WORK_ID_LABEL: f"of {name}"})) for name in works}
    works = build_works(binding(**both), TEMPLATE, {"m1": "old"}, lambda: "new", present=there)
    assert {name: work["metadata"]["labels"][WORK_ID_LABEL] for name, work in works.items()} == {
        "m1": "old",
        "m2": "of m2",
    }


def test_the_managed_labels_name_the_permanent_id_that_admission_gives() -> None:
    works = build_works(binding(clusters=[{"name": "m1", "replicas": 3}]), TEMPLATE)
    metadata = manifest_of(works["m1"])["metadata"]
    assert metadata["annotations"]["resourcetemplate.karmada.io/managed-labels"] == (
        "app,karmada.io/managed,resourcebinding.karmada.io/permanent-id,work.karmada.io/permanent-id"
    )
    assert "work.karmada.io/permanent-id" not in metadata["labels"]
    assert "status" not in manifest_of(works["m1"])


def test_building_works_leaves_the_template_as_it_is() -> None:
    before = {**TEMPLATE, "spec": dict(TEMPLATE["spec"])}
    build_works(binding(clusters=[{"name": "m1", "replicas": 1}]), TEMPLATE)
    assert before == TEMPLATE


def test_an_object_is_ours_only_when_it_names_the_work_s6() -> None:
    ours = stamp({"metadata": {"name": "a"}}, "karmada-es-m1", "a-x")
    assert is_ours(ours, "karmada-es-m1", "a-x")
    assert not is_ours(ours, "karmada-es-m2", "a-x")
    assert not is_ours({"metadata": {"name": "a"}}, "karmada-es-m1", "a-x")


def test_what_carries_another_hubs_identity_is_not_ours_and_what_carries_none_is_s6() -> None:
    unmarked = stamp({"metadata": {"name": "a"}}, "karmada-es-m1", "a-x", {"work.karmada.io/permanent-id": "id"})
    ours, theirs = with_hub(unmarked, "hub-1"), with_hub(unmarked, "hub-2")
    assert is_ours(unmarked, "karmada-es-m1", "a-x", "id", "hub-1")
    assert is_ours(ours, "karmada-es-m1", "a-x", "id", "hub-1")
    assert not is_ours(theirs, "karmada-es-m1", "a-x", "id", "hub-1")
    assert is_ours(theirs, "karmada-es-m1", "a-x", "id"), "without an identity of one's own nobody is told apart"
    assert other_hub(theirs, "hub-1") == "hub-2"
    assert other_hub(ours, "hub-1") == other_hub(unmarked, "hub-1") == ""


def test_a_missing_identity_alone_is_no_reason_to_write() -> None:
    unmarked = stamp({"metadata": {"name": "a"}}, "karmada-es-m1", "a-x")
    desired = with_hub(unmarked, "hub-1")
    assert without_due_hub(desired, unmarked) == unmarked
    assert without_due_hub(desired, desired) == desired


def test_what_others_have_set_survives_and_what_was_ours_goes_s9() -> None:
    observed = stamp({"metadata": {"name": "a", "resourceVersion": "7", "finalizers": ["f"]}}, "s", "w", {"old": "1"})
    observed["metadata"]["labels"]["theirs"] = "2"
    observed["status"] = {"phase": "Ok"}
    merged = merge(stamp({"metadata": {"name": "a", "labels": {"new": "3"}}}, "s", "w"), observed)
    assert merged["metadata"]["labels"] == {"theirs": "2", "new": "3", "karmada.io/managed": "true"}
    assert merged["metadata"]["resourceVersion"] == "7"
    assert merged["metadata"]["finalizers"] == ["f"]
    assert merged["status"] == {"phase": "Ok"}


def test_merging_twice_changes_nothing_more_c3() -> None:
    desired = stamp({"metadata": {"name": "a", "labels": {"new": "3"}}}, "s", "w")
    merged = merge(desired, {"metadata": {"name": "a", "labels": {"theirs": "2"}, "resourceVersion": "7"}})
    assert merge(desired, merged) == merged
    assert covers(merged, desired)


@pytest.mark.parametrize(
    ("observed", "desired", "expected"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": [{"x": 1, "y": 2}]}, {"a": [{"x": 1}]}, True),
        ({"a": [1, 2]}, {"a": [1]}, False),
        ({}, {"a": {}, "b": None, "c": []}, True),
        ({"requests": {"cpu": "100m"}}, {"requests": {"cpu": "0.1"}}, True),
        ({"requests": {"cpu": "100m"}}, {"requests": {"cpu": "0.2"}}, False),
        ({"requests": {}}, {"requests": {"cpu": "0"}}, False),
        ({"env": {"value": "100m"}}, {"env": {"value": "0.1"}}, False),
        ({"requests": "all"}, {"requests": "all"}, True),
    ],
)
def test_an_object_covers_what_is_asked_of_it(observed: object, desired: object, expected: bool) -> None:
    assert covers(observed, desired) is expected


def test_a_retained_field_is_no_drift() -> None:
    desired = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"type": "ClusterIP"}}
    observed = {**desired, "spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1"}}
    merged = merge(desired, observed)
    assert merged["spec"]["clusterIP"] == "10.0.0.1"
    assert covers(observed, merged)


def test_a_work_without_the_templates_manifest_is_applied_but_unknown() -> None:
    applied = {"type": "Applied", "status": "True", "reason": "AppliedSuccessful"}
    work = from_wire({"metadata": {"name": "w"}, "status": {"conditions": [applied]}}, Work)
    items, condition = aggregate(binding(clusters=[{"name": "m1", "replicas": 3}]), {"m1": work})
    assert [(item.cluster_name, item.applied, item.health) for item in items] == [("m1", True, "Unknown")]
    assert condition.status == "True"


def test_the_status_of_a_kind_of_the_core_group_is_found_as_well() -> None:
    resource = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings"}
    identifier = {"ordinal": 0, "version": "v1", "kind": "ConfigMap", "resource": "configmaps"} | {
        key: resource[key] for key in ("namespace", "name")
    }
    applied = {"type": "Applied", "status": "True", "reason": "AppliedSuccessful"}
    status = {"conditions": [applied], "manifestStatuses": [{"identifier": identifier, "health": "Healthy"}]}
    work = from_wire({"metadata": {"name": "w"}, "status": status}, Work)
    items, _ = aggregate(binding(resource=resource, clusters=[{"name": "m1"}]), {"m1": work})
    assert [item.health for item in items] == ["Healthy"]
    other = {**resource, "apiVersion": "example.io/v1"}
    items, _ = aggregate(binding(resource=other, clusters=[{"name": "m1"}]), {"m1": work})
    assert [item.health for item in items] == ["Unknown"]


def test_before_anything_was_rendered_it_is_no_generation() -> None:
    assert rendered_generation(binding(clusters=[{"name": "m1", "replicas": 3}]), {}) == 0


def test_a_binding_without_any_cluster_is_not_fully_applied() -> None:
    assert aggregate(binding(), {})[1].status == "False"


@pytest.mark.parametrize(
    ("scheduled", "says"),
    [
        ([], "Nothing is applied, since it is not scheduled to any cluster"),
        (
            [{"type": "Scheduled", "status": "False", "reason": "NoClusterFit"}],
            "Nothing is applied, since it is not scheduled to any cluster, see the condition Scheduled",
        ),
    ],
)
def test_what_is_not_scheduled_says_so_and_points_to_no_absent_field(scheduled: list[Any], says: str) -> None:
    unscheduled = msgspec.structs.replace(binding(), status=from_wire({"conditions": scheduled}, ResourceBindingStatus))
    items, condition = aggregate(unscheduled, {})
    assert not items
    assert (condition.status, condition.message) == ("False", says)


def test_clusters_without_a_work_are_named_and_no_absent_field() -> None:
    clusters = [{"name": f"m{n}", "replicas": 1} for n in range(7)]
    items, condition = aggregate(binding(clusters=clusters), {})
    assert not items
    assert condition.message == "Nothing is applied yet: there is no Work for m0, m1, m2, m3, m4 and 2 more"


def test_s1_a_generation_is_rendered_only_when_every_work_could_be_written() -> None:
    """A small world has shown this: the health of a Work under the old template ended an eviction."""
    work = from_wire({"metadata": {"name": "nginx", "namespace": "karmada-es-m1"}}, Work)
    before = [{"type": "FullyApplied", "status": "True", "reason": "FullyAppliedSuccess", "observedGeneration": 4}]
    wire = {"metadata": {"name": "nginx-deployment", "generation": 5}, "status": {"conditions": before}}
    spec = {"clusters": [{"name": "m1", "replicas": 3}], "gracefulEvictionTasks": [task("m2", "Gracefully", 3)]}
    rendered = from_wire({**to_wire(binding(**spec)), **wire}, ResourceBinding)
    assert rendered_generation(rendered, {"m1": work, "m2": work}) == 5
    assert rendered_generation(rendered, {"m2": work}) == 4


def test_a_claim_keeps_the_class_that_its_member_gave_it_unless_it_names_one() -> None:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {}}
    there = {**claim, "spec": {"storageClassName": "standard"}}
    assert merge(claim, there)["spec"] == {"storageClassName": "standard"}
    assert merge({**claim, "spec": {"storageClassName": ""}}, there)["spec"] == {"storageClassName": ""}
    config = {**claim, "kind": "ConfigMap"}
    assert merge(config, {**there, "kind": "ConfigMap"})["spec"] == {}
