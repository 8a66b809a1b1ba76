"""The two operations on owned fields.

update   takes what it adds or changes, from everybody
apply    takes what it says; others who own a field with another value are in conflict, unless it is forced;
         what it said last time and does not say any more goes, if nobody else owns it
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from leeward.api.meta import Manifest, ReadOnlyManifest
from leeward.apiserver.patch.apply.fieldset import EMPTY, FieldSet, Path
from leeward.apiserver.patch.apply.managers import APPLY, UPDATE, Entry, Managed, Manager
from leeward.apiserver.patch.apply.typed import Difference, compare, fields_of, merge, named_parents, remove
from leeward.apiserver.structure import Structure

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
    """Others own fields that were applied with another value."""

    def __init__(self, found: Sequence[tuple[Manager, list[Path]]]) -> None:
        super().__init__(f"{len(found)} managers are in conflict")
        self.found = found


def nothing_ignored(path: Path) -> bool:
    del path
    return False


def update(
    structure: Structure, old: Any, new: Any, managed: Managed, manager: Manager, time: str, ignored: Ignored
) -> None:
    """Changes `managed` to what holds after somebody wrote `new` in place of `old`."""
    difference = compare(structure, old, new)
    taken, removed = _ownable(difference.taken, ignored), _ownable(difference.removed, ignored)
    for entry in managed.entries():
        managed.put(replace(entry, fields=entry.fields - taken - removed))
    if taken:
        mine = managed.entry_of(manager)
        fields = mine.fields if mine is not None else EMPTY
        managed.put(Entry(manager, fields | taken, time))
    managed.cap()


def apply(
    structure: Structure,
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
    assert manager.operation == APPLY
    last = managed.entry_of(manager)
    said = fields_of(structure, config)
    wanted = _ownable(said, ignored)
    managed.put(Entry(manager, wanted, time))
    merged = merge(structure, live, config)
    if last is not None:
        forgotten = named_parents(structure, last.fields) - named_parents(structure, managed.owned() | said)
        merged = remove(structure, merged, forgotten)
    difference = compare(structure, live, merged)
    _settle(managed, manager, difference, ignored, force)
    if last is not None and last.fields == wanted and not (difference.taken or difference.removed):
        managed.put(last)
    return merged


def adopt(structure: Structure, empty: Any, live: ReadOnlyManifest, api_version: str, time: str) -> Managed:
    """The owners of an object that nobody applied so far: one who made all of it."""
    managed = Managed()
    manager = Manager(BEFORE_FIRST_APPLY, UPDATE, api_version)
    update(structure, empty, live, managed, manager, time, nothing_ignored)
    return managed


def _settle(managed: Managed, manager: Manager, difference: Difference, ignored: Ignored, force: bool) -> None:
    """Takes from others what the apply changed. Raises: Conflicts unless forced."""
    taken, removed = _ownable(difference.taken, ignored), _ownable(difference.removed, ignored)
    found = [(entry.manager, sorted(entry.fields & taken)) for entry in managed.others(manager) if entry.fields & taken]
    if found and not force:
        raise Conflicts(sorted(found, key=lambda pair: pair[0].identity))
    for entry in managed.others(manager):
        managed.put(replace(entry, fields=entry.fields - taken - removed))


def _ownable(paths: set[Path] | FieldSet, ignored: Ignored) -> FieldSet:
    return frozenset(path for path in paths if path not in _SYSTEM and not ignored(path))
