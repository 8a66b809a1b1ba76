"""The two operations on owned fields.

update   takes what it adds or changes, from everybody
apply    takes what it says; others who own a field with another value are in conflict, unless it is forced;
         what it said last time and does not say any more goes, if nobody else owns it

Everybody's fields are compared in the version in which they own them; who owns some of a version that does not exist
any more owns nothing.
"""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import structs

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeserver.patch.apply.fieldset import EMPTY, FieldSet, Path
from kubeserver.patch.apply.forgetting import forget
from kubeserver.patch.apply.managers import APPLY, UPDATE, Entry, Managed, Manager
from kubeserver.patch.apply.typed import fields_of, merge
from kubeserver.patch.apply.versions import Comparison, Versions

BEFORE_FIRST_APPLY = "before-first-apply"
Ignored = Callable[[Path], bool]

_SYSTEM_METADATA = (
    "name", "namespace", "creationTimestamp", "selfLink", "uid", "generation", "managedFields", "resourceVersion",
    "clusterName", "deletionTimestamp", "deletionGracePeriodSeconds",
)  # fmt: skip
_SYSTEM: frozenset[Path] = frozenset(
    (("f:apiVersion",), ("f:kind",), ("f:metadata",), *(("f:metadata", f"f:{name}") for name in _SYSTEM_METADATA))
)


class Conflicts(Exception):
    """Refusal of an apply that gives another value to fields which others own."""

    def __init__(self, found: Sequence[tuple[Manager, list[Path]]]) -> None:
        super().__init__(f"{len(found)} managers are in conflict")
        self.found = found

    def beyond(self, allowed: FieldSet) -> "Conflicts":
        """Conflicts that are left when the `allowed` fields may be taken."""
        left = [(manager, [path for path in paths if path not in allowed]) for manager, paths in self.found]
        return Conflicts([(manager, paths) for manager, paths in left if paths])


def nothing_ignored(path: Path) -> bool:
    del path
    return False


def update(
    versions: Versions, old: Any, new: Any, managed: Managed, manager: Manager, time: str, ignored: Ignored
) -> None:
    """Changes `managed` to what holds after somebody wrote `new` in place of `old`, in the version of `manager`."""
    comparison = Comparison(versions, manager.api_version, old, new)
    for entry in managed.entries():
        managed.put(_left(entry, comparison, ignored))
    difference = comparison.at(manager.api_version)
    assert difference is not None, f"nobody can write {manager.api_version}: there is no such version"
    if taken := _ownable(difference.taken, ignored):
        mine = managed.entry_of(manager)
        fields = mine.fields if mine is not None else EMPTY
        managed.put(Entry(manager, fields | taken, time))
    managed.cap()


def apply(
    versions: Versions,
    live: ReadOnlyManifest,
    config: ReadOnlyManifest,
    managed: Managed,
    manager: Manager,
    time: str,
    ignored: Ignored,
    *,
    force: bool,
) -> Manifest:
    """The new object; changes `managed`. Raises: Conflicts."""
    structure = versions.structure(manager.api_version)
    assert manager.operation == APPLY
    assert structure is not None, f"nobody can apply {manager.api_version}: there is no such version"
    last = managed.entry_of(manager)
    said = fields_of(structure, config)
    wanted = _ownable(said, ignored)
    managed.put(Entry(manager, wanted, time))
    merged = merge(structure, live, config)
    if last is not None:
        merged = forget(versions, merged, last, managed, Entry(manager, said))
    comparison = Comparison(versions, manager.api_version, live, merged)
    _settle(managed, manager, comparison, ignored, force)
    if last is not None and last.fields == wanted and not comparison.at(manager.api_version):
        managed.put(Entry(manager, wanted, last.time))
    return merged


def adopt(versions: Versions, empty: Any, live: ReadOnlyManifest, api_version: str, time: str) -> Managed:
    """The owners of an object that nobody applied so far: one who made all of it."""
    managed = Managed()
    manager = Manager(BEFORE_FIRST_APPLY, UPDATE, api_version)
    update(versions, empty, live, managed, manager, time, nothing_ignored)
    return managed


def _settle(managed: Managed, manager: Manager, comparison: Comparison, ignored: Ignored, force: bool) -> None:
    """Takes from others what the apply changed. Raises: Conflicts unless forced."""
    others = managed.others(manager)
    found = [(entry.manager, sorted(fields)) for entry in others if (fields := _contested(entry, comparison, ignored))]
    if found and not force:
        raise Conflicts(sorted(found, key=lambda pair: pair[0].identity))
    for entry in others:
        managed.put(_left(entry, comparison, ignored))


def _contested(entry: Entry, comparison: Comparison, ignored: Ignored) -> FieldSet:
    """Fields that somebody owns and somebody else has changed."""
    difference = comparison.at(entry.manager.api_version)
    return entry.fields & _ownable(difference.taken, ignored) if difference is not None else EMPTY


def _left(entry: Entry, comparison: Comparison, ignored: Ignored) -> Entry:
    """Entry of what somebody still owns after a write of somebody else."""
    difference = comparison.at(entry.manager.api_version)
    if difference is None:
        return structs.replace(entry, fields=EMPTY)
    gone = _ownable(entry.fields.intersection(difference.taken | difference.removed), ignored)
    return structs.replace(entry, fields=entry.fields - gone) if gone else entry


def _ownable(paths: set[Path] | FieldSet, ignored: Ignored) -> FieldSet:
    return frozenset(path for path in paths if path not in _SYSTEM and not ignored(path))
