"""Retention: what is written into a member is our content, and everything that is not ours as it is there.

Karmada: pkg/util/objectwatcher, pkg/resourceinterpreter/default/native/retain.go; same.
Holds: S9 (retained fields survive).
"""

from collections.abc import Mapping
from typing import Any, cast

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.quantity import parse_quantity
from kubeapi.unstructured import mapping_at, put, text_at, value_at
from leeward.api.names import MANAGED_ANNOTATIONS_ANNOTATION, MANAGED_LABELS_ANNOTATION, PRESERVED_ANNOTATION
from leeward.core.copies.job_copies import is_job
from leeward.core.execution.first_ordinals import with_kept_ordinals
from leeward.core.execution.ownership import managed_keys
from leeward.core.interpreter import retain
from leeward.core.interpreter.jobs import says_finished

_QUANTITIES = frozenset({"requests", "limits", "overhead", "capacity", "hard"})
"""Fields whose members are quantities, which the API server writes in its own way (`0.1` becomes `100m`)."""

_REPORTED = frozenset({"metadata", "status"})
_OF_EACH_WRITE = frozenset({"resourceVersion", "managedFields"})

_GIVEN_AT_BIRTH = {"PersistentVolumeClaim": (("spec", "storageClassName"),)}
"""Fields that a member fills in when the object is made, and that nobody may take away. Karmada's PUT is refused."""


def merge(desired: ReadOnlyManifest, observed: ReadOnlyManifest, retained: ReadOnlyManifest | None = None) -> Manifest:
    """The object to PUT over `observed`. `retained` is `desired` with what of its kind belongs to the member."""
    merged = retain(desired, observed) if retained is None else dict(retained)
    for path in _GIVEN_AT_BIRTH.get(text_at(desired, "kind"), ()):
        if value_at(merged, *path) is None and (given := value_at(observed, *path)) is not None:
            put(merged, given, *path)
    merged = with_kept_ordinals(merged, observed)
    done = value_at(observed, "spec", "completions")
    if done is not None and is_job(observed) and says_finished(observed.get("status")):
        put(merged, done, "spec", "completions")  # a finished Job does no more, and another number is refused
    theirs = mapping_at(observed, "metadata")
    kept = {key: theirs[key] for key in ("resourceVersion", "finalizers", "ownerReferences") if key in theirs}
    marks = {
        "labels": _merge_marks(desired, observed, "labels", MANAGED_LABELS_ANNOTATION),
        "annotations": _merge_marks(merged, observed, "annotations", MANAGED_ANNOTATIONS_ANNOTATION),
    }
    metadata = {key: value for key, value in mapping_at(merged, "metadata").items() if key not in marks}
    merged["metadata"] = {**metadata, **kept, **{key: value for key, value in marks.items() if value}}
    if "status" in observed:
        merged["status"] = observed["status"]
    return merged


def only_reports(before: ReadOnlyManifest, after: ReadOnlyManifest) -> bool:
    """Tells whether an object has changed in what it reports alone: its status, and who manages which fields of it."""
    if any(not is_equal(before.get(key), after.get(key)) for key in (before.keys() | after.keys()) - _REPORTED):
        return False
    first, second = mapping_at(before, "metadata"), mapping_at(after, "metadata")
    return all(is_equal(first.get(key), second.get(key)) for key in (first.keys() | second.keys()) - _OF_EACH_WRITE)


def covers(observed: Any, desired: Any) -> bool:
    """Tells whether `observed` has everything that `desired` asks for; what is empty asks for nothing.

    It may have more: defaults, and what others have set. Lists must have the same length.
    """
    if isinstance(desired, str):
        return is_equal(observed, desired)
    if desired in (None, {}, []):
        return True
    if isinstance(desired, (dict, Mapping)):
        return _covers_mapping(observed, cast(ReadOnlyManifest, desired))
    if isinstance(desired, list):
        return _covers_list(observed, cast(list[Any], desired))
    return is_equal(observed, desired)


def _merge_marks(
    desired: ReadOnlyManifest, observed: ReadOnlyManifest, field: str, list_annotation: str
) -> dict[str, Any]:
    """Ours as desired; those of others stay; those that were ours and are desired no more go, as does the mark of what
    was released before."""
    ours = managed_keys(observed, list_annotation)
    present = mapping_at(observed, "metadata", field)
    others = {key: value for key, value in present.items() if key not in ours and key != PRESERVED_ANNOTATION}
    return {**others, **mapping_at(desired, "metadata", field)}


def _covers_mapping(observed: Any, desired: ReadOnlyManifest) -> bool:
    if not isinstance(observed, Mapping):
        return False
    present = cast(ReadOnlyManifest, observed)
    return all(
        _covers_amounts(present.get(key), value) if key in _QUANTITIES else covers(present.get(key), value)
        for key, value in desired.items()
    )


def _covers_list(observed: Any, desired: list[Any]) -> bool:
    if not isinstance(observed, list):
        return False
    present = cast(list[Any], observed)
    return len(present) == len(desired) and all(covers(*pair) for pair in zip(present, desired, strict=True))


def _covers_amounts(observed: Any, desired: Any) -> bool:
    if not isinstance(desired, Mapping):
        return covers(observed, desired)
    amounts = cast(ReadOnlyManifest, desired).items()
    return all(_is_same_amount(mapping_at({"": observed}, "").get(key), amount) for key, amount in amounts)


def _is_same_amount(observed: Any, desired: Any) -> bool:
    if covers(observed, desired):
        return True
    try:
        return parse_quantity(observed) == parse_quantity(desired)
    except (ValueError, ArithmeticError):
        return False
