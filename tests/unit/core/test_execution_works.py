"""Works as they are built, and compared with the template of which they were made."""

from typing import Any

import msgspec
import pytest

from kubeapi.meta import ObjectMeta
from leeward.api.names import PRESERVED_ANNOTATION, TEMPLATE_UID_ANNOTATION
from leeward.api.work import BindingSnapshot, GracefulEvictionTask, Work, WorkloadTemplate, WorkSpec
from leeward.core.execution.works import (
    asks_for,
    build_works,
    is_of_deleted_template,
    is_of_wanted_template,
    is_purging,
    is_surplus,
    replicas_by_cluster,
    wanted_replicas,
)
from tests.builders import at, binding, divided, duplicated, targets


@pytest.mark.parametrize(
    ("made", "wanted", "is_earlier"),
    [("", "", False), ("one", "", False), ("", "two", False), ("one", "one", False), ("one", "two", True)],
)
def test_a_work_is_of_an_earlier_template_where_both_say_so(made: str, wanted: str, is_earlier: bool) -> None:
    old, new = ({"metadata": {"annotations": {TEMPLATE_UID_ANNOTATION: uid}}} for uid in (made, wanted))
    spec = WorkSpec(workload=WorkloadTemplate(manifests=(old,)))
    works = [Work(metadata=ObjectMeta(deletion_timestamp=when), spec=spec) for when in (at(10), at(11), None)]
    bound = binding(duplicated(), 1, targets(member1=1))
    resource = msgspec.structs.replace(bound.spec.resource, uid=wanted)
    metadata = msgspec.structs.replace(bound.metadata, creation_timestamp=at(10))
    spec_of_it = msgspec.structs.replace(bound.spec, resource=resource)
    bound = msgspec.structs.replace(bound, spec=spec_of_it, metadata=metadata)
    found = [is_of_deleted_template(work, bound) for work in works]
    assert found == [is_earlier, False, False], "what is asked for later has another reason"
    assert is_of_wanted_template(works[0], {"spec": {"workload": {"manifests": [new]}}}) != is_earlier


def test_a_manifest_without_an_identity_is_of_no_other_template() -> None:
    unmarked, marked = ({"metadata": {"annotations": each}} for each in ({}, {TEMPLATE_UID_ANNOTATION: "one"}))
    work = Work(spec=WorkSpec(workload=WorkloadTemplate(manifests=(unmarked,))))
    assert is_of_wanted_template(work, {"spec": {"workload": {"manifests": [marked]}}})


@pytest.mark.parametrize("asked", [None, False, True])
def test_an_object_says_that_its_policy_leaves_it_in_its_cluster(asked: bool | None) -> None:
    """A copy that is evicted is removed, and says so until it is."""
    evicted = GracefulEvictionTask("member1", "Test", "Test")
    bound = binding(duplicated(), 1, targets(member2=1), (evicted,))
    bound = msgspec.structs.replace(
        bound, spec=msgspec.structs.replace(bound.spec, preserve_resources_on_deletion=asked)
    )
    template = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "nginx", "namespace": "default"}}
    works = build_works(bound, template)
    marks = {
        cluster: work["spec"]["workload"]["manifests"][0]["metadata"]["annotations"].get(PRESERVED_ANNOTATION)
        for cluster, work in works.items()
    }
    assert marks == dict.fromkeys(("member1", "member2"), "true" if asked else None)
    assert [works[name]["spec"]["preserveResourcesOnDeletion"] for name in ("member1", "member2")] == [
        False,
        bool(asked),
    ]


def needed(**replicas: int) -> tuple[BindingSnapshot, ...]:
    return (BindingSnapshot("other", "default", clusters=targets(**replicas)),)


def left(cluster: str, replicas: int | None = 2, mode: Any = "Gracefully", ended: bool | None = None) -> Any:
    return GracefulEvictionTask(cluster, "R", "P", mode, replicas=replicas, suppress_deletion=ended)


HALVES, EVERYWHERE = divided({"member1": 1, "member2": 1}), duplicated("member1", "member2")


@pytest.mark.parametrize(
    ("placement", "tasks", "required", "there", "wanted"),
    [
        (HALVES, (left("member1"),), (), {"member1": 5}, {"member1": 5}),
        (HALVES, (left("member1", None),), (), {"member1": 3}, {"member1": 3}),
        (HALVES, (left("member1", ended=True),), (), {"member1": 5}, {"member1": 5}),
        (HALVES, (left("member1", ended=False),), (), {"member1": 3}, {"member1": 3}),
        (HALVES, (left("member1", mode="Directly"),), (), {"member1": 3}, {"member1": 3}),
        (EVERYWHERE, (left("member1"),), (), {"member1": 3}, {"member1": 3}),
        (HALVES, (left("member2"),), (), {"member1": 3, "member2": 2}, {"member1": 3, "member2": 2}),
        (HALVES, (left("member2", mode="Directly"),), (), {"member1": 3}, {"member1": 3}),
        (HALVES, (left("member2", ended=False),), (), {"member1": 3, "member2": 2}, {"member1": 3}),
        (HALVES, (), needed(member1=7, member3=1), {"member1": 3, "member3": 1}, {"member1": 3, "member3": 1}),
        (
            HALVES,
            (left("member2", ended=False), left("member4", ended=False)),
            needed(member2=7),
            {"member1": 3, "member2": 7, "member4": 2},
            {"member1": 3, "member2": 7},
        ),
    ],
    ids=[
        "a part leaves",
        "nobody says how much",
        "nobody has confirmed",
        "a person has ended it",
        "purged",
        "not divided",
        "another leaves",
        "another is purged",
        "a person has ended another",
        "others need it",
        "ended where others need it",
    ],
)
def test_s1_a_cluster_has_what_is_assigned_and_what_leaves_until_that_has_ended(
    placement: Any, tasks: Any, required: Any, there: dict[str, int], wanted: dict[str, int]
) -> None:
    spec = binding(placement, 3, targets(member1=3), tasks, required_by=required).spec
    assert (replicas_by_cluster(spec), wanted_replicas(spec)) == (there, wanted)


@pytest.mark.parametrize(
    ("cluster", "replicas", "required", "surplus"),
    [
        ("member1", 3, (), False),
        ("member2", 3, (), False),
        ("member3", 3, (), True),
        ("member3", 0, (), False),
        ("member3", 3, needed(member3=1), False),
    ],
    ids=["a target", "another", "none", "no workload", "others need it"],
)
def test_s1_a_copy_of_a_workload_counts_for_nothing_where_it_is_no_target(
    cluster: str, replicas: int, required: Any, *, surplus: bool
) -> None:
    spec = binding(HALVES, replicas, targets(member1=3, member2=3), required_by=required).spec
    assert is_surplus(spec, cluster) is surplus


@pytest.mark.parametrize(
    ("tasks", "clusters", "required", "purging"),
    [
        ((left("member1", mode="Directly"),), {"member1"}, (), True),
        ((left("member1", mode="Directly"), left("member2")), {"member1", "member2"}, (), True),
        ((left("member1", mode="Directly"),), {"member2"}, (), False),
        ((left("member1"),), {"member1"}, (), False),
        ((left("member1", mode="Directly"),), {"member1"}, needed(member1=1), False),
    ],
    ids=["purged", "one of two", "it is gone", "gracefully", "others need it"],
)
def test_s7_a_copy_is_being_purged_until_its_work_is_gone(
    tasks: Any, clusters: set[str], required: Any, *, purging: bool
) -> None:
    assert is_purging(binding(HALVES, 3, targets(member3=3), tasks, required_by=required).spec, clusters) is purging


@pytest.mark.parametrize(
    ("made", "wanted", "deleted", "cluster", "asked"),
    [
        ("one", "one", False, "member1", True),
        ("one", "two", False, "member1", False),
        ("", "two", False, "member1", True),
        ("one", "", False, "member1", True),
        ("one", "one", True, "member1", False),
        ("one", "one", False, "member2", False),
    ],
    ids=["asked for", "another template", "nobody says", "nobody asks", "deleted", "elsewhere"],
)
def test_s1_a_binding_that_lives_asks_for_the_works_of_its_template(
    made: str, wanted: str, *, deleted: bool, cluster: str, asked: bool
) -> None:
    marks = {TEMPLATE_UID_ANNOTATION: made}
    work = Work(spec=WorkSpec(workload=WorkloadTemplate(({"metadata": {"annotations": marks}},))))
    bound = binding(HALVES, 3, targets(member1=3), (left("member2", ended=False),))
    resource = msgspec.structs.replace(bound.spec.resource, uid=wanted)
    metadata = msgspec.structs.replace(bound.metadata, deletion_timestamp=at(0) if deleted else None)
    bound = msgspec.structs.replace(
        bound, metadata=metadata, spec=msgspec.structs.replace(bound.spec, resource=resource)
    )
    assert asks_for(bound, work, cluster) is asked
