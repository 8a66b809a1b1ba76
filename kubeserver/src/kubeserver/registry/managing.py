"""Field managers: who writes, and what that does to `metadata.managedFields`.

An object that was stored without owners stays without them until somebody applies it.
"""

from collections.abc import Mapping
from typing import Any

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.status import Status, StatusCause, StatusDetails
from kubeserver import errors
from kubeserver.kinds.kind import Kind
from kubeserver.kinds.metadata import MAX_ANNOTATION_BYTES
from kubeserver.patch.apply import last_applied, updating
from kubeserver.patch.apply.checking import render_schema_errors, schema_errors
from kubeserver.patch.apply.fieldset import EMPTY, Path, in_order, show_path
from kubeserver.patch.apply.managers import APPLY, UPDATE, Managed, Manager, is_reset, read_managed
from kubeserver.registry.objects import metadata_of
from kubeserver.registry.versions import KindVersions
from kubeserver.structures.structure import empty

MAX_NAME = 128
_FIELD = "managedFields"


def manager_name(query: Mapping[str, str], headers: Mapping[str, str]) -> str:
    """Field manager that the request names, else the program that sent it."""
    agent = headers.get("user-agent", "").partition("/")[0][:MAX_NAME]
    return query.get("fieldManager") or "".join(c for c in agent if c.isprintable()) or "unknown"


def tracked_create(kind: Kind, manifest: ReadOnlyManifest, name: str, time: str) -> Manifest:
    """The new object with its first owner written down."""
    metadata = dict(manifest["metadata"])
    managed = _given(metadata.pop(_FIELD, None)) or Managed()
    before: Manifest = {} if kind.custom else empty(kind.structure)
    new = {**manifest, "metadata": metadata}
    _updated(kind, before, new, managed, name, "", time)
    return new


def track_change(kind: Kind, old: ReadOnlyManifest, new: Manifest, name: str, subresource: str, time: str) -> None:
    """Writes down what somebody took by changing `old` into `new`."""
    stored, given = old["metadata"].get(_FIELD), metadata_of(new).pop(_FIELD, None)
    if is_reset(given) and not subresource:
        return
    managed = (None if subresource or is_equal(given, stored) else _given(given)) or _stored(stored)
    if managed:
        _updated(kind, old, new, managed, name, subresource, "" if subresource == "scale" else time)


def applied(
    kind: Kind, live: Manifest | None, config: ReadOnlyManifest, name: str, subresource: str, time: str, force: bool
) -> Manifest:
    """The object after the apply of a configuration that fits the kind, with its new owners. Raises: Refused."""
    manager = Manager(name, APPLY, kind.api_version, subresource)
    ignored = _ignored(kind, subresource)

    def apply(*, force: bool) -> tuple[Manifest, Managed]:
        managed = Managed()
        if live is not None:
            managed = _stored(live["metadata"].get(_FIELD)) or _adopted(kind, live, time)
        versions = KindVersions(kind)
        return updating.apply(versions, live or {}, config, managed, manager, time, ignored, force=force), managed

    is_kubectl = name == last_applied.MANAGER and not subresource
    try:
        merged, managed = apply(force=force)
    except updating.Conflicts as conflicts:
        allowed = last_applied.said_last(kind.structure, live or {}) if is_kubectl else EMPTY
        others = conflicts.beyond(allowed)
        if others.found:
            raise _refusal(others) from None
        merged, managed = apply(force=True)
    if is_kubectl:
        merged = last_applied.say(merged, config, MAX_ANNOTATION_BYTES)
    metadata: dict[str, Any] = {**merged["metadata"], _FIELD: managed.render()}
    return {**merged, "metadata": metadata}


def _adopted(kind: Kind, live: Manifest, time: str) -> Managed:
    before: Manifest = {} if kind.custom else empty(kind.structure)
    return updating.adopt(KindVersions(kind), before, live, kind.api_version, time)


def _updated(
    kind: Kind, old: ReadOnlyManifest, new: Manifest, managed: Managed, name: str, subresource: str, time: str
) -> None:
    manager = Manager(name, UPDATE, kind.api_version, subresource)
    updating.update(KindVersions(kind), old, new, managed, manager, time, _ignored(kind, subresource))
    if managed:
        metadata_of(new)[_FIELD] = managed.render()


def _given(wire: Any, *, stored: bool = False) -> Managed | None:
    """The owners that are written down; None where there are none that can be read."""
    try:
        return read_managed(wire, stored=stored) if wire else None
    except ValueError:
        return None


def _stored(wire: Any) -> Managed | None:
    """The owners that the stored object has."""
    return _given(wire, stored=True)


def _ignored(kind: Kind, subresource: str) -> updating.Ignored:
    """Fields that a write to the object, or to one of its subresources, cannot own."""
    if subresource == "status":
        return _outside_status if kind.custom else _spec_and_labels
    return _status if kind.status and not subresource else updating.nothing_ignored


def _status(path: Path) -> bool:
    return path[0] == "f:status"


def _outside_status(path: Path) -> bool:
    return path[0] != "f:status"


def _spec_and_labels(path: Path) -> bool:
    return path[0] == "f:spec" or path[:2] == ("f:metadata", "f:labels")


def check_fits(kind: Kind, config: ReadOnlyManifest) -> None:
    """Raises: Refused for a configuration that its kind has no place for."""
    found = schema_errors(kind.structure, config)
    if found:
        metadata = config["metadata"]
        place = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}; {_named(kind)}"
        raise errors.plain_error(f"failed to create typed patch object ({place}): {render_schema_errors(found)}")


def _named(kind: Kind) -> str:
    return f"{kind.group or ''}/{kind.version}, Kind={kind.kind}"


def _refusal(conflicts: updating.Conflicts) -> errors.Refused:
    pairs = [(manager, path) for manager, paths in conflicts.found for path in in_order(paths)]
    causes = tuple(
        StatusCause("FieldManagerConflict", f"conflict with {manager}", show_path(path)) for manager, path in pairs
    )
    message = f"Apply failed with {len(pairs)} conflicts: " + "\n".join(
        "\n".join([f"conflicts with {manager}:", *(f"- {show_path(path)}" for path in in_order(paths))])
        for manager, paths in conflicts.found
    )
    if len(pairs) == 1:
        message = f"Apply failed with 1 conflict: conflict with {pairs[0][0]}: {show_path(pairs[0][1])}"
    status = Status(message=message, reason="Conflict", details=StatusDetails(causes=causes), code=409)
    return errors.Refused(status)
