"""`metadata.managedFields`: who owns what, read from an object and written into it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct, structs

from kubeserver.patch.apply.fieldset import EMPTY, FieldSet, parse_fields, render_fields
from kubeserver.values import section

APPLY, UPDATE = "Apply", "Update"
MAX_UPDATERS = 10
ANCIENT = "ancient-changes"


class Manager(Struct, frozen=True):
    """Manager of fields: who writes, and how. An apply is the same one in every version of the API."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""

    @property
    def identity(self) -> tuple[str, str, str, str]:
        version = "" if self.operation == APPLY else self.api_version
        return (self.name, self.operation, version, self.subresource)

    def __str__(self) -> str:
        said = f'"{self.name}"'
        if self.subresource:
            said += f' with subresource "{self.subresource}"'
        return f"{said} using {self.api_version}" if self.operation == UPDATE else said


class Entry(Struct, frozen=True):
    """Fields that one manager owns, and when it last took something; "" where that is not kept."""

    manager: Manager
    fields: FieldSet
    time: str = ""


class Managed:
    """All entries of one object, by manager. `written` are those that an object has: they are rendered as they are."""

    def __init__(self, entries: Iterable[Entry] = (), written: Sequence[dict[str, Any]] = ()) -> None:
        known = list(entries)
        self._entries = {entry.manager.identity: entry for entry in known}
        self._written = {id(entry): (entry, wire) for entry, wire in zip(known, written, strict=False)}

    def __bool__(self) -> bool:
        return bool(self._entries)

    def entry_of(self, manager: Manager) -> Entry | None:
        return self._entries.get(manager.identity)

    def others(self, manager: Manager) -> list[Entry]:
        return [entry for key, entry in self._entries.items() if key != manager.identity]

    def entries(self) -> Sequence[Entry]:
        return list(self._entries.values())

    def put(self, entry: Entry) -> None:
        """An entry without fields goes."""
        if entry.fields:
            self._entries[entry.manager.identity] = entry
        else:
            self._entries.pop(entry.manager.identity, None)

    def owned(self) -> FieldSet:
        return EMPTY.union(*(entry.fields for entry in self._entries.values()))

    def cap(self) -> None:
        """Merges updaters: many in one object become one that did the oldest changes."""
        updates = sorted((e for e in self.entries() if e.manager.operation == UPDATE), key=_time)
        surplus = len(updates) - MAX_UPDATERS
        if surplus <= 0:
            return
        merged = updates[: surplus + 1]
        for entry in merged:
            del self._entries[entry.manager.identity]
        fields = EMPTY.union(*(entry.fields for entry in merged))
        self.put(Entry(structs.replace(merged[-1].manager, name=ANCIENT, subresource=""), fields, merged[-1].time))

    def render(self) -> list[dict[str, Any]]:
        """Entries in the order of Kubernetes: managers that apply first, then by time and name."""
        return [self._render(entry) for entry in sorted(self._entries.values(), key=_rank)]

    def _render(self, entry: Entry) -> dict[str, Any]:
        known = self._written.get(id(entry))
        return known[1] if known is not None else _render(entry)


def read_managed(wire: Any, *, stored: bool = False) -> Managed:
    """`stored`: it was rendered here, and never changes. Raises: ValueError for what is no list of entries."""
    if not isinstance(wire, list):
        raise ValueError("managedFields is no list")
    entries = cast(list[Any], wire)
    return Managed(map(_read, entries), entries if stored else ())


def is_reset(wire: Any) -> bool:
    """An empty list, or one empty entry: the owners are to be forgotten."""
    return wire in ([], [{}])


def _time(entry: Entry) -> str:
    return entry.time


def _rank(entry: Entry) -> tuple[str, ...]:
    manager = entry.manager
    return (manager.operation, entry.time, manager.name, manager.api_version, manager.subresource)


def _render(entry: Entry) -> dict[str, Any]:
    manager = entry.manager
    wire = {"manager": manager.name, "operation": manager.operation, "apiVersion": manager.api_version}
    times = {"time": entry.time} if entry.time else {}
    subresource = {"subresource": manager.subresource} if manager.subresource else {}
    fields = {"fieldsType": "FieldsV1", "fieldsV1": render_fields(entry.fields)}
    return {**wire, **times, **fields, **subresource}


def _read(wire: Any) -> Entry:
    if not isinstance(wire, dict):
        raise ValueError("an entry of managedFields is no object")
    entry = cast(Mapping[str, Any], wire)
    if entry.get("operation") not in (APPLY, UPDATE):
        raise ValueError("an entry of managedFields has no operation")
    texts = [str(entry.get(key) or "") for key in ("manager", "operation", "apiVersion", "subresource")]
    return Entry(Manager(*texts), parse_fields(section(entry, "fieldsV1")), str(entry.get("time") or ""))
