"""The binding of an object that other bindings need: its dependants, their clusters, and their joint wishes.

Of a binding that a policy has placed, only `requiredBy` and the labels beside it are changed here: the rest is the
detector's. Holds: S9.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeapi.codec import to_wire
from kubeapi.diff import merge_patch
from kubeapi.meta import Manifest, ReadOnlyManifest
from leeward.api.names import BINDING_CONTROLLER_FINALIZER, TEMPLATE_DIGEST_ANNOTATION, binding_name, depended_by_label
from leeward.api.work import BindingSnapshot, ResourceBinding, ResourceBindingSpec
from leeward.core.execution.conflict_resolution import ConflictResolution, resolution_of, rules_of_resolution
from leeward.core.propagation.binding import API_VERSION, owner_of, resource_of
from leeward.core.propagation.claiming import CLAIM_LABELS
from leeward.core.propagation.digest import template_digest

DependantName = tuple[str, str]
"""Namespace and name of a binding that needs others."""


@dataclass(frozen=True, slots=True)
class Dependant:
    """A binding that needs the object in these clusters; none: it does not need it (any more)."""

    snapshot: BindingSnapshot
    permanent_id: str

    @property
    def name(self) -> DependantName:
        return self.snapshot.namespace, self.snapshot.name


@dataclass(frozen=True, slots=True)
class Agreement:
    """Wishes that the dependants of one object have together, and the fields in which they do not agree."""

    conflict_resolution: ConflictResolution = ConflictResolution.ABORT
    preserve: bool = False
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AttachedChange:
    """Writes that are to be made: one of a new binding, a merge patch, and a deletion; or nothing."""

    creates: Manifest | None = None
    patch: Manifest | None = None
    deletes: bool = False


def agree(specs: Iterable[ResourceBindingSpec]) -> Agreement:
    """Joins the wishes of the bindings: one that overwrites, or preserves, decides for all.

    Karmada: docs/proposals (conflicts of dependency distribution policies); same.
    """
    asked = [(resolution_of(spec), bool(spec.preserve_resources_on_deletion)) for spec in specs]
    resolutions, preserves = {resolution for resolution, _ in asked}, {preserve for _, preserve in asked}
    conflicts = [
        *(["ConflictResolution conflicted (Overwrite vs Abort)"] if len(resolutions) > 1 else []),
        *(["PreserveResourcesOnDeletion conflicted (true vs false)"] if len(preserves) > 1 else []),
    ]
    taking_over = (each for each in resolutions if rules_of_resolution(each).takes_over)
    return Agreement(next(taking_over, ConflictResolution.ABORT), True in preserves, tuple(conflicts))


def required_by(present: ResourceBinding | None, dependants: Sequence[Dependant]) -> tuple[BindingSnapshot, ...]:
    """The snapshots that are to be: those of `dependants` as they say, all others as they are.

    Who is not among them is not known, or somebody else's: nothing is taken away on it.
    """
    told = {dependant.name: dependant.snapshot for dependant in dependants}
    before = present.spec.required_by if present is not None else ()
    kept = [told.pop((snapshot.namespace, snapshot.name), snapshot) for snapshot in before]
    added = [told[place] for place in sorted(told)]
    return tuple(snapshot for snapshot in (*kept, *added) if snapshot.clusters)


def change_attached(
    template: ReadOnlyManifest, present: ResourceBinding | None, dependants: Sequence[Dependant], agreement: Agreement
) -> AttachedChange:
    """Changes that bring the binding of `template` to the needs of its `dependants`.

    A binding that nobody needs and no policy has claimed goes; one that nobody ever needed is somebody else's.
    """
    wanted = required_by(present, dependants)
    if present is None:
        return AttachedChange(creates=_build(template, wanted, dependants, agreement) if wanted else None)
    if not wanted and present.spec.required_by and not _is_claimed(present):
        return AttachedChange(deletes=True)
    if not wanted and not present.spec.required_by:
        return AttachedChange(patch=_labels_patch(present, wanted, dependants) or None)
    return AttachedChange(patch=_patch(template, present, wanted, dependants, agreement) or None)


def listed_in(attached: ResourceBinding) -> dict[DependantName, frozenset[str]]:
    """The clusters that the snapshots of a binding name, by dependant; of those in its own namespace with a label."""
    labels, namespace = attached.metadata.labels, attached.namespace
    return {
        (snapshot.namespace, snapshot.name): frozenset(target.name for target in snapshot.clusters)
        for snapshot in attached.spec.required_by
        if snapshot.namespace == namespace and depended_by_label(snapshot.namespace, snapshot.name) in labels
    }


def _build(
    template: ReadOnlyManifest, wanted: Sequence[BindingSnapshot], dependants: Sequence[Dependant], agreement: Agreement
) -> Manifest:
    metadata: ReadOnlyManifest = template["metadata"]
    spec = ResourceBindingSpec(resource=resource_of(template), required_by=tuple(wanted))
    return {
        "apiVersion": API_VERSION,
        "kind": "ResourceBinding",
        "metadata": {
            "name": binding_name(template["kind"], metadata["name"]),
            "namespace": metadata["namespace"],
            "labels": _labels({}, wanted, dependants),
            "annotations": {TEMPLATE_DIGEST_ANNOTATION: template_digest(template)},
            "finalizers": [BINDING_CONTROLLER_FINALIZER],
            "ownerReferences": [owner_of(template)],
        },
        "spec": {**to_wire(spec), **_asked_for(agreement)},
    }


def _patch(
    template: ReadOnlyManifest,
    present: ResourceBinding,
    wanted: Sequence[BindingSnapshot],
    dependants: Sequence[Dependant],
    agreement: Agreement,
) -> Manifest:
    patch = _labels_patch(present, wanted, dependants)
    spec: Manifest = to_wire(present.spec)
    target: Manifest = {**spec, "requiredBy": to_wire(wanted)}
    if not _is_claimed(present):
        target |= _asked_for(agreement)
        digest, noted = template_digest(template), present.metadata.annotations.get(TEMPLATE_DIGEST_ANNOTATION)
        if noted != digest:
            patch.setdefault("metadata", {})["annotations"] = {TEMPLATE_DIGEST_ANNOTATION: digest}
        if noted not in (None, digest):
            target["resource"] = to_wire(resource_of(template))
    if not wanted:
        target.pop("requiredBy")
    changed = merge_patch(spec, target)
    return {**patch, "spec": changed} if changed else patch


def _labels_patch(
    present: ResourceBinding, wanted: Sequence[BindingSnapshot], dependants: Sequence[Dependant]
) -> Manifest:
    labels = dict(present.metadata.labels)
    changed = merge_patch(labels, _labels(labels, wanted, dependants))
    return {"metadata": {"labels": changed}} if changed else {}


def _labels(
    present: Mapping[str, str], wanted: Iterable[BindingSnapshot], dependants: Collection[Dependant]
) -> dict[str, str]:
    """Labels with one for each dependant that is listed, with its permanent id; labels of others stay."""
    listed: Collection[DependantName] = {(snapshot.namespace, snapshot.name) for snapshot in wanted}
    told = {depended_by_label(*dependant.name) for dependant in dependants}
    others = {label: value for label, value in present.items() if label not in told}
    own = {depended_by_label(*each.name): each.permanent_id for each in dependants if each.name in listed}
    return others | own


def _asked_for(agreement: Agreement) -> dict[str, Any]:
    return {
        "conflictResolution": agreement.conflict_resolution.value,
        "preserveResourcesOnDeletion": agreement.preserve,
    }


def _is_claimed(binding: ResourceBinding) -> bool:
    """Tells whether a policy has placed it."""
    return binding.spec.placement is not None or any(label in binding.metadata.labels for label in CLAIM_LABELS)
