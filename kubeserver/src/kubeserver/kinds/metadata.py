"""Rules of the metadata of every object: names, labels, annotations, finalizers, owners; what is immutable."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from kubeapi import codec
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.status import Problem
from kubeserver import names
from kubeserver.kinds.kind import Kind
from kubeserver.kinds.label_selectors import label_problems
from kubeserver.values import entries, section, texts

MAX_ANNOTATION_BYTES = 256 * 1024
MAX_ENTRIES = 5_000
"""Most labels, annotations, finalizers or owners: each is looked at many times with every write (ours)."""
ADDED_ENTRIES = 50
"""Entries beyond these that an object may have once it is stored: admission and controllers add their own."""
_BOUNDED = ("labels", "annotations", "finalizers", "ownerReferences")
_IMMUTABLE_FIELDS = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds")
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_PLAIN_FINALIZERS = ("admissionregistration.k8s.io", "apiextensions.k8s.io", "coordination.k8s.io", "policy")
"""Groups whose objects may have finalizers without a domain, as custom ones may."""
_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
_CHECKS_USUALLY = 4
_CHECKS_ON_UPDATE = {
    ("apiextensions.k8s.io", "customresourcedefinitions"): 3,
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): 3,
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): 3,
    ("apps", "deployments"): 3,
    ("autoscaling", "horizontalpodautoscalers"): 3,
    ("batch", "cronjobs"): 3,
    ("coordination.k8s.io", "leases"): 3,
    ("discovery.k8s.io", "endpointslices"): 3,
    ("events.k8s.io", "events"): 3,
    ("scheduling.k8s.io", "priorityclasses"): 3,
    ("", "limitranges"): 3,
    ("", "podtemplates"): 3,
    ("", "events"): 2,
    ("policy", "poddisruptionbudgets"): 2,
    ("", "persistentvolumeclaims"): 5,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): 5,
    ("rbac.authorization.k8s.io", "clusterroles"): 5,
    ("rbac.authorization.k8s.io", "rolebindings"): 5,
    ("rbac.authorization.k8s.io", "roles"): 5,
}
"""Number of times that kube-apiserver asks whether the labels, annotations and owners of an updated object are valid:
twice for all kinds, and once or twice more in the rules of each. It names a fault as often, and clients count
causes."""


def validate_metadata(kind: Kind, manifest: ReadOnlyManifest, *, update: bool = False) -> list[Problem]:
    metadata: Mapping[str, Any] = manifest["metadata"]
    asked = _asked_on_update(kind) if update else 1
    finalizers = texts(metadata, "finalizers")
    always = [
        *label_problems(section(metadata, "labels"), "metadata.labels"),
        *annotation_problems(section(metadata, "annotations"), "metadata.annotations"),
        *_owner_problems(entries(metadata, "ownerReferences")),
    ]
    return [
        *_name_problems(kind, metadata),
        *_generation_problems(metadata),
        *always * asked,
        *_finalizer_problems(finalizers) * max(asked - 2, 1),
        *_standard_problems(kind, finalizers) * max(asked - 2, 1),
    ]


def _asked_on_update(kind: Kind) -> int:
    return 3 if kind.custom else _CHECKS_ON_UPDATE.get((kind.group, kind.plural), _CHECKS_USUALLY)


def size_problems(manifest: ReadOnlyManifest, *, stored: bool = False) -> list[Problem]:
    """Problems of what is too much to be looked at one by one; to be asked before anything else is. `stored`: the
    object is there already."""
    most = MAX_ENTRIES + (ADDED_ENTRIES if stored else 0)
    metadata: Mapping[str, Any] = manifest["metadata"]
    sizes = {field: len(metadata.get(field) or ()) for field in _BOUNDED}
    return [
        Problem(f"metadata.{field}", "FieldValueTooMany", f"Too many: {size}: must have at most {MAX_ENTRIES} items")
        for field, size in sizes.items()
        if size > most
    ]


def validate_metadata_update(old: ReadOnlyManifest, new: ReadOnlyManifest) -> list[Problem]:
    """Problems of an update that does what it must not to the metadata; to be asked before the system's fields are put
    back.

    A changed field is reported twice, as kube-apiserver does, which asks in two places.
    """
    before: Mapping[str, Any] = old["metadata"]
    after: Mapping[str, Any] = new["metadata"]
    problems = [
        Problem.invalid(f"metadata.{field}", after[field], "field is immutable")
        for field in _IMMUTABLE_FIELDS
        if field in after and not is_equal(after[field], before.get(field))
    ] * 2
    if before.get("deletionTimestamp"):
        added = sorted(set(texts(after, "finalizers")) - set(texts(before, "finalizers")))
        if added:
            said = "no new finalizers can be added if the object is being deleted, found new finalizers "
            problems += [Problem.forbidden("metadata.finalizers", said + _go_strings(added))] * 2
    return problems


def _name_problems(kind: Kind, metadata: Mapping[str, Any]) -> list[Problem]:
    name = cast(str, metadata.get("name") or "")
    generate_name = cast(str, metadata.get("generateName") or "")
    if not name:
        return [Problem.required("metadata.name", "name or generateName is required")]
    prefix = generate_name[:-1] + "a" if generate_name.endswith("-") else generate_name
    return [
        *(Problem.invalid("metadata.generateName", generate_name, said) for said in _of(kind, prefix)),
        *(Problem.invalid("metadata.name", name, said) for said in _of(kind, name)),
    ]


def _of(kind: Kind, name: str) -> Iterable[str]:
    return kind.name_rule(name) if name else ()


def annotation_problems(annotations: Mapping[str, str], path: str) -> list[Problem]:
    problems: list[Problem] = []
    for key in annotations:
        lowered = names.qualified_name(key.lower())
        problems += [Problem.invalid(path, key, said) for said in lowered]
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > MAX_ANNOTATION_BYTES:
        problems.append(too_long(path, MAX_ANNOTATION_BYTES))
    return problems


def _generation_problems(metadata: Mapping[str, Any]) -> list[Problem]:
    generation = metadata.get("generation", 0)
    said = "must be greater than or equal to 0"
    return [Problem.invalid("metadata.generation", generation, said)] if generation < 0 else []


def _finalizer_problems(finalizers: Sequence[str]) -> list[Problem]:
    problems = [
        Problem.invalid("metadata.finalizers", finalizer, message)
        for finalizer in finalizers
        for message in names.qualified_name(finalizer)
    ]
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        message = "finalizer orphan and foregroundDeletion cannot be both set"
        problems.append(Problem.invalid("metadata.finalizers", list(finalizers), message))
    return problems


def _standard_problems(kind: Kind, finalizers: Sequence[str]) -> list[Problem]:
    """Kinds of Kubernetes itself have finalizers with a domain, or well-known ones."""
    if kind.custom or kind.group in _PLAIN_FINALIZERS:
        return []
    said = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        Problem.invalid(f"metadata.finalizers[{index}]", finalizer, said)
        for index, finalizer in enumerate(finalizers)
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS
    ]


def finalizer_warnings(manifest: ReadOnlyManifest, old: ReadOnlyManifest | None) -> list[str]:
    """Custom kinds may have finalizers without a domain, but should not."""
    known = texts(old["metadata"], "finalizers") if old is not None else []
    return [
        f'metadata.finalizers: "{finalizer}": prefer a domain-qualified finalizer name to avoid accidental conflicts '
        "with other finalizer writers"
        for finalizer in texts(manifest["metadata"], "finalizers")
        if "/" not in finalizer and finalizer not in (*_STANDARD_FINALIZERS, *known)
    ]


def _owner_problems(owners: Sequence[Mapping[str, Any]]) -> list[Problem]:
    problems: list[Problem] = []
    controller = ""
    for owner in owners:
        problems += _fields_of_owner(owner)
        if owner.get("controller"):
            called = f"{owner.get('kind', '')}/{owner.get('name', '')}"
            if controller:
                said = "Only one reference can have Controller set to true."
                both = f'Found "true" in references for {controller} and {called}'
                everyone = [_written(one) for one in owners]
                problems.append(Problem.invalid("metadata.ownerReferences", everyone, f"{said} {both}"))
            controller = controller or called
    return problems


def _fields_of_owner(owner: Mapping[str, Any]) -> list[Problem]:
    version = owner.get("apiVersion", "")
    problems = [
        Problem.invalid(f"metadata.ownerReferences.{field}", "", "must not be empty")
        for field in ("kind", "name", "uid")
        if not owner.get(field)
    ]
    if not version.rpartition("/")[2] or version.count("/") > 1:
        said = "version must not be empty"
        problems.insert(0, Problem.invalid("metadata.ownerReferences.apiVersion", version, said))
    if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Event"):
        said = "/v1, Kind=Event is disallowed from being an owner"
        problems.append(Problem.invalid("metadata.ownerReferences", _written(owner), said))
    return problems


def drop_repeated_owners(manifest: Manifest) -> list[str]:
    """Takes owners away that are said again, word for word; returns what is to be said about that."""
    owners = entries(manifest["metadata"], "ownerReferences")
    once = {codec.canonical(owner): owner for owner in reversed(owners)}
    if len(once) == len(owners):
        return []
    kept = {id(owner) for owner in once.values()}
    repeated = [owner.get("uid", "") for owner in owners if id(owner) not in kept]
    manifest["metadata"]["ownerReferences"] = [owner for owner in owners if id(owner) in kept]
    said = (
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may "
        "reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
    )
    return [said + ", ".join(repeated)]


def _written(owner: Mapping[str, Any]) -> dict[str, Any]:
    return {field: owner[field] for field in _OWNER_FIELDS if field in owner}


def too_long(field: str, limit: int) -> Problem:
    return Problem(field, "FieldValueTooLong", f"Too long: may not be more than {limit} bytes")


def _go_strings(values: Sequence[str]) -> str:
    return "[]string{" + ", ".join(f'"{value}"' for value in values) + "}"
