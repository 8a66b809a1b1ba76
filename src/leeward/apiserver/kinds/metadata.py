"""What holds for the metadata of every object: names, labels, annotations, finalizers, owners; what is immutable."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from leeward.api.meta import ReadOnlyManifest
from leeward.api.status import Problem
from leeward.apiserver.kinds import names
from leeward.apiserver.kinds.kind import Kind
from leeward.apiserver.values import entries, section, texts

MAX_ANNOTATION_BYTES = 256 * 1024
_IMMUTABLE_FIELDS = ("uid", "deletionTimestamp", "deletionGracePeriodSeconds")
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")


def validate_metadata(kind: Kind, manifest: ReadOnlyManifest) -> list[Problem]:
    metadata: Mapping[str, Any] = manifest["metadata"]
    return [
        *_name_problems(kind, metadata),
        *_label_problems(section(metadata, "labels")),
        *_annotation_problems(section(metadata, "annotations")),
        *_finalizer_problems(texts(metadata, "finalizers"), qualified=not kind.custom),
        *_owner_problems(entries(metadata, "ownerReferences")),
    ]


def validate_metadata_update(old: ReadOnlyManifest, new: ReadOnlyManifest) -> list[Problem]:
    """What an update must not do to the metadata; to be asked before the system's fields are put back.

    A changed field is reported twice, as kube-apiserver does, which asks in two places.
    """
    before: Mapping[str, Any] = old["metadata"]
    after: Mapping[str, Any] = new["metadata"]
    problems = [
        Problem.invalid(f"metadata.{field}", after[field], "field is immutable")
        for field in _IMMUTABLE_FIELDS
        if field in after and after[field] != before.get(field)
    ] * 2
    if before.get("deletionTimestamp"):
        added = sorted(set(texts(after, "finalizers")) - set(texts(before, "finalizers")))
        if added:
            said = "no new finalizers can be added if the object is being deleted, found new finalizers "
            problems.append(Problem.forbidden("metadata.finalizers", said + _go_strings(added)))
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


def _label_problems(labels: Mapping[str, str]) -> list[Problem]:
    problems: list[Problem] = []
    for key, value in labels.items():
        problems += [Problem.invalid("metadata.labels", key, said) for said in names.qualified_name(key)]
        problems += [Problem.invalid("metadata.labels", value, said) for said in names.label_value(value)]
    return problems


def _annotation_problems(annotations: Mapping[str, str]) -> list[Problem]:
    problems: list[Problem] = []
    for key in annotations:
        lowered = names.qualified_name(key.lower())
        problems += [Problem.invalid("metadata.annotations", key, said) for said in lowered]
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > MAX_ANNOTATION_BYTES:
        problems.append(too_long("metadata.annotations", MAX_ANNOTATION_BYTES))
    return problems


def _finalizer_problems(finalizers: Sequence[str], *, qualified: bool) -> list[Problem]:
    problems: list[Problem] = []
    for index, finalizer in enumerate(finalizers):
        said = names.qualified_name(finalizer)
        problems += [Problem.invalid("metadata.finalizers", finalizer, message) for message in said]
        if qualified and not said and "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            message = "name is neither a standard finalizer name nor is it fully qualified"
            problems.append(Problem.invalid(f"metadata.finalizers[{index}]", finalizer, message))
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        message = "finalizer orphan and foregroundDeletion cannot be both set"
        problems.append(Problem.invalid("metadata.finalizers", list(finalizers), message))
    return problems


def finalizer_warnings(kind: Kind, manifest: ReadOnlyManifest) -> list[str]:
    """Custom kinds may have finalizers without a domain, but should not."""
    return [
        f'metadata.finalizers: "{finalizer}": prefer a domain-qualified finalizer name to avoid accidental conflicts '
        "with other finalizer writers"
        for finalizer in (texts(manifest["metadata"], "finalizers") if kind.custom else ())
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS
    ]


def _owner_problems(owners: Sequence[Mapping[str, Any]]) -> list[Problem]:
    problems: list[Problem] = []
    for index, owner in enumerate(owners):
        for field in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(field):
                path = f"metadata.ownerReferences[{index}].{field}"
                problems.append(Problem.invalid(path, "", f"{field} must not be empty"))
    if sum(1 for owner in owners if owner.get("controller")) > 1:
        message = "Only one reference can have Controller set to true"
        problems.append(Problem.invalid("metadata.ownerReferences", list(owners), message))
    return problems


def too_long(field: str, limit: int) -> Problem:
    return Problem(field, "FieldValueTooLong", f"Too long: may not be more than {limit} bytes")


def _go_strings(values: Sequence[str]) -> str:
    return "[]string{" + ", ".join(f'"{value}"' for value in values) + "}"
