"""Contents that users would miss in a member: replicas and completions, the way back to the template, others' marks."""

from typing import Any

import msgspec
import pytest

from kubeapi.codec import from_wire
from kubeapi.meta import ObjectMeta
from leeward.api.work import ClusterResourceBinding, Work
from leeward.core.execution.retain import covers, merge, only_reports
from leeward.core.execution.works import (
    asks_for,
    build_work,
    build_works,
    is_purging,
    is_surplus,
    manifests_by_cluster,
    needed_by_others,
    replicas_by_cluster,
)
from leeward.core.overrides.rendering import Overridden
from tests.builders import at
from tests.unit.core.test_execution import TEMPLATE, binding, manifest_of, task

UID, GENERATION = "resourcetemplate.karmada.io/uid", "resourcetemplate.karmada.io/generation"
DIVIDED = {"replicaScheduling": {"replicaSchedulingType": "Divided"}}
DUPLICATED = {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}


def job(completions: int | None = 12, uid: str = "u") -> dict[str, Any]:
    spec = {"parallelism": 3} if completions is None else {"parallelism": 3, "completions": completions}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "sums", "namespace": "default", "uid": uid},
        "spec": spec,
    }


def completions(spec: dict[str, Any], template: dict[str, Any]) -> dict[str, Any]:
    resource = {"apiVersion": template["apiVersion"], "kind": template["kind"], "name": "sums", "namespace": "default"}
    works = build_works(binding(resource=resource, placement=DIVIDED, **spec), template)
    return {name: manifest_of(work)["spec"].get("completions") for name, work in works.items()}


TWO = {"clusters": [{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 2}]}


def test_a_jobs_completions_are_shared_out_as_its_replicas_are() -> None:
    assert completions(TWO, job()) == {"m1": 4, "m2": 8}


def test_a_job_without_completions_gets_none() -> None:
    assert completions(TWO, job(None)) == {"m1": None, "m2": None}


def test_only_a_jobs_completions_are_shared_out() -> None:
    other = {**job(), "apiVersion": "example.io/v1", "kind": "Sums"}
    assert completions(TWO, other) == {"m1": 12, "m2": 12}


def test_an_eviction_takes_no_completions_from_those_that_replace_it() -> None:
    """The copy that is being left has a share beside them: it may not be seen again."""
    spec = {**TWO, "gracefulEvictionTasks": [task("m3", "Gracefully", 3)]}
    assert completions(spec, job()) == {"m1": 4, "m2": 8, "m3": 6}


def test_of_completions_that_cannot_be_shared_evenly_the_template_decides_who_gets_more() -> None:
    even = {"clusters": [{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 1}]}
    shares = {uid: completions(even, job(3, uid)) for uid in ("u-0", "u-1", "u-2", "u-3")}
    assert {tuple(share.values()) for share in shares.values()} == {(1, 2), (2, 1)}
    leaving = {"clusters": [{"name": "m1", "replicas": 1}], "gracefulEvictionTasks": [task("m2", "Gracefully", 1)]}
    for uid, share in shares.items():
        assert completions(leaving, job(3, uid)) == {"m1": 3, "m2": share["m2"]}


@pytest.mark.parametrize(("placement", "left"), [(DIVIDED, 0), (DUPLICATED, 3), (None, 3)])
def test_a_task_that_gives_no_number_leaves_a_whole_copy_and_no_part_of_one(placement: Any, left: int) -> None:
    spec = binding(placement=placement, gracefulEvictionTasks=[task("m1", "Gracefully", None)]).spec
    assert replicas_by_cluster(spec) == {"m1": left}


@pytest.mark.parametrize(("number", "both"), [(2, 3), (None, 1)])
def test_a_target_of_which_a_part_is_leaving_keeps_that_part_s1(number: int | None, both: int) -> None:
    spec = {"clusters": [{"name": "m1", "replicas": 1}], "gracefulEvictionTasks": [task("m1", "Gracefully", number)]}
    assert replicas_by_cluster(binding(placement=DIVIDED, **spec).spec) == {"m1": both}


def test_a_manifest_says_of_which_template_it_was_made_and_its_work_of_which_binding() -> None:
    work = build_works(binding(clusters=[{"name": "m1", "replicas": 3}]), TEMPLATE)["m1"]
    annotations = manifest_of(work)["metadata"]["annotations"]
    assert (annotations[UID], annotations[GENERATION]) == ("u", "2")
    assert annotations["resourcebinding.karmada.io/name"] == "nginx-deployment"
    assert work["metadata"]["labels"]["resourcebinding.karmada.io/permanent-id"] == "b"


def test_what_has_no_replicas_is_not_given_any() -> None:
    template = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}
    resource = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "default"}
    found = build_works(binding(resource=resource, replicas=0, clusters=[{"name": "m1"}]), template)
    assert "spec" not in manifest_of(found["m1"])


def test_a_template_that_counts_as_no_workload_keeps_the_replicas_that_it_has() -> None:
    works = build_works(binding(replicas=0, clusters=[{"name": "m1"}]), TEMPLATE)
    assert manifest_of(works["m1"])["spec"]["replicas"] == 3


def test_the_state_that_a_lost_copy_has_left_is_given_to_its_replacement() -> None:
    left = {**task("m1", "Directly", 3), "preservedLabelState": {"job": "42"}, "clustersBeforeFailover": ["m1"]}
    spec = {"clusters": [{"name": "m2", "replicas": 3}], "gracefulEvictionTasks": [left]}
    labels = manifest_of(build_works(binding(**spec), TEMPLATE)["m2"])["metadata"]["labels"]
    assert labels["job"] == "42"


def having(labels: dict[str, str]) -> Work:
    """A Work whose manifest has these labels."""
    return from_wire({"spec": {"workload": {"manifests": [{"metadata": {"labels": labels}}]}}}, Work)


@pytest.mark.parametrize(
    ("inject", "job"),
    [
        (True, "42"),
        (False, None),
        ({}, None),
        ({"m2": having({"job": "42"})}, "42"),
        ({"m2": having({"job": "41"})}, None),
        ({"m2": having({})}, None),
        ({"m2": Work(metadata=ObjectMeta(name="w"))}, None),
        ({"m1": having({"job": "42"})}, None),
    ],
    ids=["on", "off", "no Work yet", "it has it", "of another time", "it has none", "nothing in it", "of another"],
)
def test_where_no_state_is_injected_a_work_keeps_the_state_that_it_has(
    inject: bool | dict[str, Work], job: str | None
) -> None:
    left = {**task("m1", "Directly", 3), "preservedLabelState": {"job": "42"}, "clustersBeforeFailover": ["m1"]}
    bound = binding(clusters=[{"name": "m2", "replicas": 3}], gracefulEvictionTasks=[left])
    rendered = {name: Overridden(manifest) for name, manifest in manifests_by_cluster(bound, TEMPLATE).items()}
    made = build_works(bound, TEMPLATE, inject=inject)["m2"]
    alone = build_work(bound, TEMPLATE, rendered, "m2", "", inject=inject)
    for work in (made, alone, *([build_work(bound, TEMPLATE, rendered, "m2", "")] if inject is True else [])):
        assert manifest_of(work)["metadata"]["labels"].get("job") == job


def test_the_work_of_one_cluster_is_that_of_all_with_its_own_id() -> None:
    bound = binding(clusters=[{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 2}])
    rendered = {name: Overridden(manifest) for name, manifest in manifests_by_cluster(bound, TEMPLATE).items()}
    made = build_work(bound, TEMPLATE, rendered, "m2", "id-2")
    assert made == build_works(bound, TEMPLATE, {"m2": "id-2"})["m2"]
    assert manifest_of(made)["spec"]["replicas"] == 2
    rendered["m2"] = Overridden({**rendered["m2"].manifest, "data": {"from": "an override"}})
    assert manifest_of(build_work(bound, TEMPLATE, rendered, "m2", "id-2"))["data"] == {"from": "an override"}


def test_a_number_of_replicas_is_written_as_an_interpreter_says() -> None:
    bound = binding(clusters=[{"name": "m1", "replicas": 1}, {"name": "m2", "replicas": 2}])
    by_count = {2: {**TEMPLATE, "spec": {"size": "two"}}}
    manifests = manifests_by_cluster(bound, TEMPLATE, by_count)
    assert {name: manifest["spec"] for name, manifest in manifests.items()} == {
        "m1": {"replicas": 1},
        "m2": {"size": "two"},
    }


@pytest.mark.parametrize(
    ("mode", "works", "required", "purging"),
    [
        ("Directly", ("m1",), (), True),
        ("Directly", ("m1", "m2"), (), True),
        ("Directly", ("m2",), (), False),
        ("Gracefully", ("m1",), (), False),
        ("Never", ("m1",), (), False),
        ("Directly", ("m1",), ("m1",), False),
        ("Directly", ("m1",), ("m2",), True),
    ],
    ids=["it goes", "beside others", "it is gone", "kept", "kept until told", "others need it", "elsewhere"],
)
def test_s7_a_copy_that_is_purged_is_waited_for_as_long_as_it_has_a_work(
    mode: str, works: tuple[str, ...], required: tuple[str, ...], *, purging: bool
) -> None:
    needed = [{"namespace": "default", "name": "other", "clusters": [{"name": name} for name in required]}]
    spec = binding(gracefulEvictionTasks=[task("m1", mode, 1)], requiredBy=needed).spec
    assert needed_by_others(spec) == set(required)
    assert is_purging(spec, works) is purging


def test_what_an_interpreter_says_is_the_members_stays_as_it_says_s9() -> None:
    """`retained` comes in place of the rules of the kind."""
    desired = {"kind": "Widget", "metadata": {"name": "a"}, "spec": {"size": 1}}
    observed = {"kind": "Widget", "metadata": {"name": "a", "resourceVersion": "7"}, "spec": {"size": 5}}
    retained = {**desired, "spec": {"size": 5}}
    assert merge(desired, observed)["spec"] == {"size": 1}
    assert merge(desired, observed, retained)["spec"] == {"size": 5}
    assert "resourceVersion" not in retained["metadata"], "what was given is not changed"


@pytest.mark.parametrize(
    ("tasks", "preserved"),
    [([], True), ([task("m1", "Gracefully", 1)], True), ([task("m2", "Gracefully", 1)], True)],
    ids=["stays", "a part leaves", "another leaves"],
)
def test_what_a_deleted_template_preserves_is_preserved_where_it_stays(tasks: list[Any], preserved: bool) -> None:
    clusters = [{"name": "m1", "replicas": 2}]
    wish = {"preserveResourcesOnDeletion": True, "gracefulEvictionTasks": tasks}
    works = build_works(binding(clusters=clusters, **wish), TEMPLATE)
    assert works["m1"]["spec"]["preserveResourcesOnDeletion"] is preserved


def going(uid: str = "u") -> Work:
    """The Work of a template."""
    manifest = {**TEMPLATE, "metadata": {**TEMPLATE["metadata"], "annotations": {UID: uid}}}
    return from_wire({"metadata": {"name": "web"}, "spec": {"workload": {"manifests": [manifest]}}}, Work)


@pytest.mark.parametrize(
    ("spec", "asked"),
    [
        ({"clusters": [{"name": "m1", "replicas": 2}]}, True),
        ({"clusters": [{"name": "m2", "replicas": 2}]}, False),
        ({"gracefulEvictionTasks": [task("m1", "Gracefully", 2)]}, True),
        ({"gracefulEvictionTasks": [task("m1", "Directly", 2)]}, False),
    ],
    ids=["a target", "no target", "leaving", "purged"],
)
def test_a_work_that_goes_is_asked_for_where_its_binding_needs_it_s1(spec: dict[str, Any], *, asked: bool) -> None:
    assert asks_for(binding(**{"clusters": [], **spec}), going(), "m1") == asked


def test_a_work_that_goes_is_not_asked_for_by_a_binding_that_goes_or_that_is_of_another_template() -> None:
    bound = binding(clusters=[{"name": "m1", "replicas": 2}])
    of_another = msgspec.structs.replace(bound.spec, resource=msgspec.structs.replace(bound.spec.resource, uid="u"))
    assert asks_for(msgspec.structs.replace(bound, spec=of_another), going(), "m1")
    assert not asks_for(msgspec.structs.replace(bound, spec=of_another), going("another"), "m1")
    metadata = msgspec.structs.replace(bound.metadata, deletion_timestamp=at(0))
    assert not asks_for(msgspec.structs.replace(bound, metadata=metadata), going(), "m1")


@pytest.mark.parametrize(
    ("spec", "surplus"),
    [
        ({"clusters": [{"name": "m1", "replicas": 2}]}, False),
        ({"clusters": [{"name": "m2", "replicas": 2}]}, True),
        ({"requiredBy": [{"name": "a", "namespace": "default", "clusters": [{"name": "m1"}]}]}, False),
    ],
    ids=["a target", "no target", "others need it"],
)
def test_a_copy_is_surplus_where_nothing_counts_it(spec: dict[str, Any], *, surplus: bool) -> None:
    assert is_surplus(binding(**{"clusters": [], "replicas": 2, **spec}).spec, "m1") == surplus


def test_what_has_been_evicted_is_not_preserved() -> None:
    leaving = {"clusters": [{"name": "m2", "replicas": 3}], "gracefulEvictionTasks": [task("m1", "Gracefully", 3)]}
    works = build_works(binding(preserveResourcesOnDeletion=True, **leaving), TEMPLATE)
    assert {name: work["spec"]["preserveResourcesOnDeletion"] for name, work in works.items()} == {
        "m1": False,
        "m2": True,
    }


def test_the_owners_and_annotations_that_others_gave_an_object_survive_and_those_that_were_ours_go_s9() -> None:
    managed = "resourcetemplate.karmada.io/managed-annotations"
    observed = {
        "metadata": {
            "name": "a",
            "ownerReferences": [{"uid": "o"}],
            "annotations": {"theirs": "1", "old": "2", managed: f"old,{managed}"},
        }
    }
    desired = {"metadata": {"name": "a", "annotations": {"new": "3", managed: f"new,{managed}"}}}
    merged = merge(desired, observed)["metadata"]
    assert merged["ownerReferences"] == [{"uid": "o"}]
    assert merged["annotations"] == {"theirs": "1", "new": "3", managed: f"new,{managed}"}


@pytest.mark.parametrize(
    ("observed", "desired", "expected"),
    [
        ({"a": "text"}, {"a": {"b": 1}}, False),
        ({"a": {"b": 1}}, {"a": [1]}, False),
        ({"limits": "some"}, {"limits": "all"}, False),
        ({"limits": {"cpu": None}}, {"limits": {"cpu": None}}, True),
        ({"limits": {"gpu": "many"}}, {"limits": {"gpu": "many"}}, True),
        ({"limits": {"gpu": "few"}}, {"limits": {"gpu": "many"}}, False),
        ({"hard": {"pods": "1k"}}, {"hard": {"pods": "1000"}}, True),
    ],
)
def test_another_kind_of_value_is_drift_and_an_amount_that_cannot_be_read_is_compared_as_it_is(
    observed: object, desired: object, expected: bool
) -> None:
    assert covers(observed, desired) is expected


def test_a_binding_without_an_id_is_named_all_the_same() -> None:
    here = binding(clusters=[{"name": "m1", "replicas": 3}])
    here = msgspec.structs.replace(here, metadata=msgspec.structs.replace(here.metadata, labels={}))
    everywhere = ClusterResourceBinding(metadata=ObjectMeta(name="web"), spec=here.spec)
    for bound, kind in ((here, "resourcebinding"), (everywhere, "clusterresourcebinding")):
        work = build_works(bound, TEMPLATE)["m1"]
        assert work["metadata"]["labels"] == {f"{kind}.karmada.io/permanent-id": ""}
        assert work["metadata"]["annotations"][f"{kind}.karmada.io/name"] == bound.name


@pytest.mark.parametrize(
    ("change", "reports"),
    [
        ({}, True),
        ({"status": {"readyReplicas": 2}}, True),
        ({"status": None}, True),
        ({"metadata": {"resourceVersion": "8", "managedFields": [{"manager": "kubelet"}]}}, True),
        ({"metadata": {"labels": {"a": "b"}}}, False),
        ({"metadata": {"generation": 4}}, False),
        ({"metadata": {"finalizers": ["example.com/keep"]}}, False),
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, False),
        ({"metadata": {"uid": "another"}}, False),
        ({"spec": {"replicas": 3}}, False),
        ({"data": {"key": "value"}}, False),
    ],
)
def test_what_an_object_reports_is_no_change_of_its_contents(change: dict[str, Any], reports: bool) -> None:
    metadata = {"name": "web", "uid": "one", "generation": 3, "resourceVersion": "7"}
    before: dict[str, Any] = {"kind": "Deployment", "metadata": metadata, "spec": {"replicas": 2}, "status": {}}
    after = {**before, **change, "metadata": {**metadata, **change.get("metadata", {})}}
    assert only_reports(before, after) is only_reports(after, before) is reports
