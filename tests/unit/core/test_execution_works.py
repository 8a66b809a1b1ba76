"""Works as they are built, and compared with the template of which they were made."""

import msgspec
import pytest

from kubeapi.meta import ObjectMeta
from leeward.api.names import PRESERVED_ANNOTATION, TEMPLATE_UID_ANNOTATION
from leeward.api.work import GracefulEvictionTask, Work, WorkloadTemplate, WorkSpec
from leeward.core.execution.works import build_works, is_of_deleted_template, is_of_wanted_template
from tests.builders import at, binding, duplicated, targets


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
