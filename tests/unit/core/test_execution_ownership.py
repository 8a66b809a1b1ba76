"""Marks by which an object in a member is known as ours, and what a stamp leaves on it. Holds: S6, S9."""

from typing import Any

import msgspec
import pytest

from kubeapi.meta import ObjectMeta
from leeward.api.names import MANAGED_LABEL, PRESERVED_ANNOTATION, RELEASED_ANNOTATION, TEMPLATE_UID_ANNOTATION
from leeward.api.work import Work, WorkloadTemplate, WorkSpec
from leeward.core.execution.ownership import (
    identity,
    is_ours,
    managed_keys,
    other_hub,
    stamp,
    with_hub,
    without_due_hub,
)
from leeward.core.execution.release import is_released, release_patch, was_left

NAMESPACE, NAME = "karmada-es-m1", "web-5d8"
BY_NAMESPACE, BY_NAME = "work.karmada.io/namespace", "work.karmada.io/name"
LABELS_LIST = "resourcetemplate.karmada.io/managed-labels"
ANNOTATIONS_LIST = "resourcetemplate.karmada.io/managed-annotations"
ID, HUB = "work.karmada.io/permanent-id", "leeward.dev/hub"


def observed(annotations: dict[str, Any] | None = None, labels: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"kind": "Deployment", "metadata": {"name": "web", "annotations": annotations or {}, "labels": labels or {}}}


@pytest.mark.parametrize(
    ("annotations", "labels", "work_id", "ours"),
    [
        ({BY_NAMESPACE: NAMESPACE, BY_NAME: NAME}, {}, "", True),
        ({BY_NAMESPACE: NAMESPACE, BY_NAME: "other"}, {}, "", False),
        ({BY_NAMESPACE: "karmada-es-m2", BY_NAME: NAME}, {}, "", False),
        ({BY_NAMESPACE: NAMESPACE, BY_NAME: "other"}, {ID: "id-1"}, "id-1", False),
        ({}, {ID: "id-1"}, "id-1", True),
        ({BY_NAME: "other"}, {ID: "id-1"}, "id-1", True),
        ({}, {ID: "id-2"}, "id-1", False),
        ({}, {ID: "id-1"}, "", False),
        ({}, {}, "id-1", False),
        ({}, {}, "", False),
        ({BY_NAMESPACE: NAMESPACE}, {}, "", False),
        ({BY_NAME: NAME}, {}, "", False),
    ],
    ids=[
        "it names the Work",
        "another Work",
        "in another execution space",
        "another Work, though it has the id",
        "only the id is left",
        "half of a name is none",
        "another id",
        "an id, and the Work has none",
        "no id, and the Work has one",
        "nothing at all",
        "the name is missing",
        "the namespace is missing",
    ],
)
def test_s6_an_object_is_ours_by_the_name_of_its_work_or_having_lost_that_by_its_id(
    annotations: dict[str, str], labels: dict[str, str], work_id: str, *, ours: bool
) -> None:
    assert is_ours(observed(annotations, labels), NAMESPACE, NAME, work_id) is ours


def test_s6_an_object_of_another_hub_is_not_ours_by_its_id_either() -> None:
    theirs = observed({HUB: "hub-2"}, {ID: "id-1"})
    assert not is_ours(theirs, NAMESPACE, NAME, "id-1", "hub-1")
    assert is_ours(theirs, NAMESPACE, NAME, "id-1", "hub-2")
    assert other_hub(theirs, "") == ""


def test_a_hub_marks_an_object_beside_what_is_there_and_without_an_identity_changes_nothing() -> None:
    manifest = observed({"theirs": "1"}, {"app": "web"})
    assert with_hub(manifest, "hub-1") == observed({"theirs": "1", HUB: "hub-1"}, {"app": "web"})
    assert with_hub(manifest, "") == manifest
    assert with_hub({"kind": "Secret"}, "hub-1") == {"kind": "Secret", "metadata": {"annotations": {HUB: "hub-1"}}}


def test_the_hub_is_due_only_where_the_object_carries_one() -> None:
    desired = observed({"a": "1", HUB: "hub-1"}, {"app": "web"})
    assert without_due_hub(desired, observed()) == observed({"a": "1"}, {"app": "web"})
    assert without_due_hub(desired, observed({HUB: "hub-2"})) == desired


def test_a_stamp_marks_a_manifest_as_ours_and_lists_all_that_was_set() -> None:
    manifest = {
        "kind": "Deployment",
        "metadata": {"name": "web", "uid": "uid-1", "labels": {"app": "web"}, "annotations": {"note": "1"}},
        "spec": {"replicas": 2},
    }
    stamped = stamp(manifest, NAMESPACE, NAME, {"more": "2"}, {"further": "3"})
    assert stamped == {
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "uid": "uid-1",
            "labels": {"app": "web", "karmada.io/managed": "true", "more": "2"},
            "annotations": {
                "note": "1",
                "resourcetemplate.karmada.io/uid": "uid-1",
                "further": "3",
                BY_NAMESPACE: NAMESPACE,
                BY_NAME: NAME,
                ANNOTATIONS_LIST: (
                    f"further,note,{ANNOTATIONS_LIST},{LABELS_LIST},resourcetemplate.karmada.io/uid,{BY_NAME},{BY_NAMESPACE}"
                ),
                LABELS_LIST: f"app,karmada.io/managed,more,{ID}",
            },
        },
        "spec": {"replicas": 2},
    }
    assert manifest["metadata"] == {
        "name": "web",
        "uid": "uid-1",
        "labels": {"app": "web"},
        "annotations": {"note": "1"},
    }, "the template stays as it is"


def test_nobody_else_decides_to_which_work_an_object_belongs() -> None:
    forged = observed({BY_NAMESPACE: "karmada-es-m2", BY_NAME: "other"}, {"karmada.io/managed": "false"})
    stamped = stamp(forged, NAMESPACE, NAME, annotations={BY_NAME: "third"})
    assert is_ours(stamped, NAMESPACE, NAME)
    assert stamped["metadata"]["labels"]["karmada.io/managed"] == "true"
    assert identity(NAMESPACE, NAME) == {BY_NAMESPACE: NAMESPACE, BY_NAME: NAME}


def test_the_keys_that_were_ours_are_read_from_their_list() -> None:
    stamped = stamp(observed({}, {"app": "web"}), NAMESPACE, NAME)
    assert managed_keys(stamped, LABELS_LIST) == {"app", "karmada.io/managed", ID}
    assert managed_keys(observed({LABELS_LIST: "a,b"}), LABELS_LIST) == {"a", "b"}
    assert "a" not in managed_keys(observed({LABELS_LIST: "a,b"}), ANNOTATIONS_LIST)


@pytest.mark.parametrize(
    ("preserved", "made_of", "labelled", "left"),
    [
        ("true", "uid-0", "id-0", True),
        ("false", "uid-0", "id-0", False),
        ("true", "uid-1", "id-0", False),
        ("true", "uid-0", "id-1", False),
        ("true", "", "id-0", False),
    ],
    ids=["left", "not preserved", "of this template", "of this Work", "nobody says of which template"],
)
def test_s6_an_earlier_version_left_what_was_preserved_of_another_template_and_another_work(
    preserved: str, made_of: str, labelled: str, *, left: bool
) -> None:
    marks = {PRESERVED_ANNOTATION: preserved, TEMPLATE_UID_ANNOTATION: made_of}
    manifests = (observed({TEMPLATE_UID_ANNOTATION: "uid-1"}),)
    metadata = ObjectMeta(name=NAME, namespace=NAMESPACE, labels={ID: "id-1"})
    work = Work(metadata=metadata, spec=WorkSpec(workload=WorkloadTemplate(manifests)))
    assert was_left(work, observed(marks, {ID: labelled})) is left
    of_nothing = msgspec.structs.replace(work, spec=WorkSpec())
    assert not was_left(of_nothing, observed(marks, {ID: labelled}))


@pytest.mark.parametrize(
    ("preserve", "marked", "released"), [(True, True, True), (True, False, False), (None, True, False)]
)
def test_s6_objects_are_released_where_both_the_work_and_its_mark_say_so(
    preserve: bool | None, *, marked: bool, released: bool
) -> None:
    metadata = ObjectMeta(name=NAME, annotations={RELEASED_ANNOTATION: "true"} if marked else {})
    assert is_released(Work(metadata=metadata, spec=WorkSpec(preserve_resources_on_deletion=preserve))) is released


def test_s6_a_release_takes_all_marks_off_and_no_other_label_or_annotation() -> None:
    others = {"app": "web", "example.com/own": "x"}
    marks = {MANAGED_LABEL: "true", ID: "id-1", "resourcebinding.karmada.io/permanent-id": "b"}
    noted = {TEMPLATE_UID_ANNOTATION: "uid-1", LABELS_LIST: "app", HUB: "here", BY_NAME: NAME}
    patch = release_patch(observed({**others, **noted}, {**others, **marks}))
    labels = {**dict.fromkeys(marks), PRESERVED_ANNOTATION: "true"}
    assert patch == {"metadata": {"labels": labels, "annotations": dict.fromkeys(noted)}}
