"""The system's part of the metadata: what the server itself writes at birth, at a change, and at the end of an object.

Pure: the present instant, uids and suffixes come in as arguments.
"""

from datetime import datetime, timedelta
from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest, format_time
from kubeserver.kinds.kind import Kind
from kubeserver.registry.objects import metadata_of
from kubeserver.values import section

_NAMESPACES = "//namespaces/"

MAX_GENERATED_PREFIX, SUFFIX_LETTERS = 58, 5
LONGEST_WAIT_SECONDS = 10**9
"""A deletion that is to come later than that has a date all the same."""
_SYSTEM_FIELDS = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "deletionGracePeriodSeconds")
_STATUS_WRITES_METADATA = ("annotations", "finalizers", "ownerReferences")


def is_nameless(manifest: ReadOnlyManifest) -> bool:
    """Tells whether the server makes the name of a new object, with a suffix."""
    metadata = section(manifest, "metadata")
    return not metadata.get("name") and bool(metadata.get("generateName"))


def is_made_of(prefix: str, name: str) -> bool:
    """Tells whether a name may be one that the server made, of a `generateName`."""
    made = prefix[:MAX_GENERATED_PREFIX]
    return bool(prefix) and name.startswith(made) and len(name) == len(made) + SUFFIX_LETTERS


def stamp_new(kind: Kind, namespace: str, manifest: Manifest, now: datetime, uid: str, suffix: str) -> None:
    """Gives a new object its name, uid, birth and first generation, and takes away what only the server may say.

    `suffix` is for the name of one that `is_nameless`.
    """
    metadata = metadata_of(manifest)
    for field in ("deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion", "namespace"):
        metadata.pop(field, None)
    if is_nameless(manifest):
        metadata["name"] = metadata["generateName"][:MAX_GENERATED_PREFIX] + suffix
    if kind.namespaced:
        metadata["namespace"] = namespace
    metadata["uid"] = uid
    metadata["creationTimestamp"] = format_time(now)
    if kind.generation is not None:
        metadata["generation"] = 1
    if kind.status and not kind.creates_status:
        manifest.pop("status", None)


def stamp_changed(kind: Kind, old: ReadOnlyManifest, new: Manifest, *, counts: bool = True) -> None:
    """Puts the system's fields of `old` into `new`, and counts a new generation when there is one.

    Changes of the status are no reason to count.
    """
    before, after = old["metadata"], metadata_of(new)
    for field in (*_SYSTEM_FIELDS, "name", "namespace", "resourceVersion"):
        if field in before:
            after[field] = before[field]
        else:
            after.pop(field, None)
    if counts and kind.generation is not None and kind.generation(old, new):
        after["generation"] = before.get("generation", 0) + 1


def only_spec(kind: Kind, old: ReadOnlyManifest, new: Manifest) -> Manifest:
    """Object with what an update of it may change: all but its status, if that has its own subresource."""
    if kind.prefix == _NAMESPACES:
        new = {**new, "spec": old.get("spec") or {}}
    if not kind.status:
        return new
    kept = {key: value for key, value in new.items() if key != "status"}
    return {**kept, "status": old["status"]} if "status" in old else kept


def only_status(kind: Kind, old: ReadOnlyManifest, new: ReadOnlyManifest) -> Manifest:
    """Object with what an update of the status subresource may change. Built-in kinds also let annotations and the like
    through."""
    metadata: dict[str, Any] = dict(old["metadata"])
    if not kind.custom:
        asked = metadata_of(dict(new))
        metadata = {key: value for key, value in metadata.items() if key not in _STATUS_WRITES_METADATA}
        metadata |= {key: asked[key] for key in _STATUS_WRITES_METADATA if key in asked}
    owners = metadata_of(dict(new)).get("managedFields")
    if owners is not None:
        metadata["managedFields"] = owners
    rest = {key: value for key, value in old.items() if key not in ("metadata", "status")}
    changed = {**rest, "metadata": metadata}
    return {**changed, "status": new["status"]} if new.get("status") is not None else changed


def only_fields(old: ReadOnlyManifest, new: ReadOnlyManifest, subresource: str) -> Manifest:
    """Object with what a write to one of a Pod's smaller subresources may change."""
    spec, wanted = dict(section(old, "spec")), section(new, "spec")
    if subresource == "ephemeralcontainers":
        spec.pop("ephemeralContainers", None)
        added = {key: wanted[key] for key in ("ephemeralContainers",) if key in wanted}
        return {**old, "spec": {**spec, **added}}
    resources = {c.get("name"): c.get("resources", {}) for c in wanted.get("containers") or ()}
    resized = [{**c, "resources": resources.get(c["name"], c.get("resources", {}))} for c in spec["containers"]]
    return {**old, "spec": {**spec, "containers": resized}}


def stamp_deleted(old: ReadOnlyManifest, now: datetime, grace_seconds: int, finalizers: list[str]) -> Manifest:
    """The object as it waits for its end. A deletion that was asked for before may only come sooner."""
    metadata = dict(old["metadata"])
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    first = "deletionTimestamp" not in metadata
    if first or grace_seconds < metadata.get("deletionGracePeriodSeconds", 0):
        metadata["deletionTimestamp"] = format_time(now + timedelta(seconds=min(grace_seconds, LONGEST_WAIT_SECONDS)))
        metadata["deletionGracePeriodSeconds"] = grace_seconds
    if first and metadata.get("generation"):
        metadata["generation"] += 1
    return {**old, "metadata": metadata}


def is_finished(manifest: ReadOnlyManifest) -> bool:
    """Tells whether nothing holds an object back any more that is being deleted. Holds: D8."""
    metadata = manifest["metadata"]
    return (
        "deletionTimestamp" in metadata
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
        and not (manifest["kind"] == "Namespace" and section(manifest, "spec").get("finalizers"))
    )
