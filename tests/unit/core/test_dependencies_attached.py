"""The binding of an object that others need: what is written into it, and what is left as it is."""

from typing import Any

import msgspec
import pytest

from kubeapi.codec import to_wire
from kubeapi.meta import Manifest, ObjectMeta
from leeward.api.names import depended_by_label
from leeward.api.policy import Placement
from leeward.api.work import BindingResource, BindingSnapshot, ResourceBinding, ResourceBindingSpec, TargetCluster
from leeward.core.dependencies.attached import (
    Agreement,
    AttachedChange,
    Dependant,
    agree,
    change_attached,
    listed_in,
    required_by,
)
from leeward.core.execution.conflict_resolution import ConflictResolution
from leeward.core.propagation.binding import owner_of, resource_of
from leeward.core.propagation.digest import template_digest

TEMPLATE: Manifest = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings", "namespace": "default", "uid": "u1", "resourceVersion": "7"},
    "data": {"a": "1"},
}
RESOURCE = BindingResource(
    api_version="v1", kind="ConfigMap", name="settings", namespace="default", uid="u1", resource_version="7"
)


def snapshot(name: str, *clusters: str, namespace: str = "default") -> BindingSnapshot:
    return BindingSnapshot(name=name, namespace=namespace, clusters=tuple(map(TargetCluster, clusters)))


def dependant(name: str, *clusters: str) -> Dependant:
    return Dependant(snapshot(name, *clusters), f"id-{name}")


def attached(*required: BindingSnapshot, placement: Placement | None = None, **labels: str) -> ResourceBinding:
    known = {depended_by_label(each.namespace, each.name): f"id-{each.name}" for each in required}
    return ResourceBinding(
        metadata=ObjectMeta(
            name="settings-configmap",
            namespace="default",
            labels={**known, **labels},
            annotations={"leeward.dev/template-digest": template_digest(TEMPLATE)},
        ),
        spec=ResourceBindingSpec(
            resource=RESOURCE,
            required_by=required,
            placement=placement,
            conflict_resolution="Abort",
            preserve_resources_on_deletion=False,
        ),
    )


def change(present: ResourceBinding | None, *dependants: Dependant, agreement: Agreement | None = None) -> Any:
    return change_attached(TEMPLATE, present, dependants, agreement or Agreement())


def test_the_first_who_needs_an_object_gets_it_a_binding() -> None:
    assert change(None, dependant("web", "a", "b")).creates == {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {
            "name": "settings-configmap",
            "namespace": "default",
            "labels": {depended_by_label("default", "web"): "id-web"},
            "annotations": {"leeward.dev/template-digest": template_digest(TEMPLATE)},
            "finalizers": ["karmada.io/binding-controller"],
            "ownerReferences": [owner_of(TEMPLATE)],
        },
        "spec": {
            "resource": to_wire(RESOURCE),
            "requiredBy": [{"name": "web", "namespace": "default", "clusters": [{"name": "a"}, {"name": "b"}]}],
            "conflictResolution": "Abort",
            "preserveResourcesOnDeletion": False,
        },
    }


def test_an_object_that_no_server_has_stored_yet_has_no_uid() -> None:
    bare: Manifest = {**TEMPLATE, "metadata": {"name": "settings"}}
    assert resource_of(bare) == BindingResource("v1", "ConfigMap", "settings", "", uid="", resource_version="")
    assert owner_of(bare)["uid"] == ""


def test_who_is_placed_nowhere_needs_nothing() -> None:
    assert change(None, dependant("web")) == change(None)
    assert change(None, dependant("web")).creates is None


def test_another_who_needs_it_is_added_and_what_is_so_already_is_not_written() -> None:
    present = attached(snapshot("web", "a"))
    assert change(present, dependant("web", "a")).patch is None
    patch = change(present, dependant("web", "a"), dependant("api", "b")).patch
    assert [each["name"] for each in patch["spec"]["requiredBy"]] == ["web", "api"]
    assert patch["metadata"]["labels"] == {depended_by_label("default", "api"): "id-api"}


def test_of_whom_nothing_is_known_nothing_is_changed() -> None:
    """Holds: S5."""
    present = attached(snapshot("web", "a"), snapshot("api", "b"))
    assert required_by(present, [dependant("web", "c")]) == (snapshot("web", "c"), snapshot("api", "b"))
    patch = change(present, dependant("web")).patch
    assert [each["name"] for each in patch["spec"]["requiredBy"]] == ["api"]
    assert patch["metadata"]["labels"] == {depended_by_label("default", "web"): None}


def test_a_binding_that_nobody_needs_any_more_goes_and_one_of_a_policy_stays() -> None:
    assert change(attached(snapshot("web", "a")), dependant("web")).deletes
    placed = change(attached(snapshot("web", "a"), placement=Placement()), dependant("web"))
    assert not placed.deletes
    assert placed.patch == {
        "metadata": {"labels": {depended_by_label("default", "web"): None}},
        "spec": {"requiredBy": None},
    }
    assert not change(attached(), dependant("web")).deletes, "nobody of ours has ever needed it"


def test_a_label_of_who_needs_it_no_more_goes_also_when_nobody_is_listed() -> None:
    label = depended_by_label("default", "web")
    assert change(attached(placement=None, **{label: "id-web"}), dependant("web")) == AttachedChange(
        patch={"metadata": {"labels": {label: None}}}
    )
    assert change(attached(), dependant("web")) == AttachedChange(), "nothing is written"


def test_what_a_policy_has_asked_for_is_the_detectors() -> None:
    """Holds: S9."""
    overwrites = Agreement(ConflictResolution.OVERWRITE, preserve=True)
    placed = attached(placement=Placement())
    patch = change(placed, dependant("web", "a"), agreement=overwrites).patch
    assert set(patch["spec"]) == {"requiredBy"}
    assert set(change(attached(), dependant("web", "a"), agreement=overwrites).patch["spec"]) == {
        "requiredBy",
        "conflictResolution",
        "preserveResourcesOnDeletion",
    }


def test_a_changed_object_is_rendered_anew() -> None:
    present = attached(snapshot("web", "a"))
    newer = {**TEMPLATE, "data": {"a": "2"}, "metadata": {**TEMPLATE["metadata"], "resourceVersion": "9"}}
    patch = change_attached(newer, present, [dependant("web", "a")], Agreement()).patch
    assert patch is not None
    assert patch == {
        "metadata": {"annotations": {"leeward.dev/template-digest": template_digest(newer)}},
        "spec": {"resource": {"resourceVersion": "9"}},
    }
    later = {**TEMPLATE, "metadata": {**TEMPLATE["metadata"], "resourceVersion": "9"}, "status": {"x": 1}}
    assert change_attached(later, present, [dependant("web", "a")], Agreement()).patch is None, "only its status"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ([], Agreement()),
        ([("", None), ("Abort", False)], Agreement()),
        ([("Overwrite", True)], Agreement(ConflictResolution.OVERWRITE, preserve=True)),
        (
            [("Overwrite", False), ("", False)],
            Agreement(ConflictResolution.OVERWRITE, conflicts=("ConflictResolution conflicted (Overwrite vs Abort)",)),
        ),
        (
            [("", True), ("", None)],
            Agreement(preserve=True, conflicts=("PreserveResourcesOnDeletion conflicted (true vs false)",)),
        ),
    ],
)
def test_one_who_overwrites_or_preserves_decides_for_all(asked: list[Any], expected: Agreement) -> None:
    specs = [
        ResourceBindingSpec(resource=RESOURCE, conflict_resolution=resolution, preserve_resources_on_deletion=preserve)
        for resolution, preserve in asked
    ]
    assert agree(specs) == expected


def test_an_entry_without_our_label_is_somebody_elses() -> None:
    present = attached(snapshot("web", "a"))
    assert listed_in(present) == {("default", "web"): {"a"}}
    foreign = attached(snapshot("web", "a", namespace="victim"))
    assert listed_in(foreign) == {}, "it is of another namespace"
    bare = msgspec.structs.replace(present, metadata=ObjectMeta(name="x", namespace="default"))
    assert listed_in(bare) == {}
