"""Rows of applications by their state, rendered, each with what it was made of: kept from version to version."""

from collections.abc import Mapping, Set
from itertools import chain

from kubeapi import codec
from leeward.api.work import Binding
from leeward.dashboard.views.binding_index import IndexChange
from leeward.operations.applications import (
    ApplicationRow,
    OutageOf,
    RowState,
    application_key,
    application_row,
    is_listed,
)


class _KnownRow:
    """A row, and what it was made of. `state` is that by which it is listed, None where it is not."""

    __slots__ = ("binding", "known", "row", "state")

    def __init__(self, binding: Binding, known: OutageOf | None, overfull: Set[str]) -> None:
        self.binding = binding
        self.known = known
        self.row = application_row(binding, known, overfull)
        self.state = self.row.state if is_listed(binding, self.row) else None


class ApplicationRows:
    """`rendered` counts the rows that were made so far."""

    def __init__(self) -> None:
        self._known: dict[str, _KnownRow] = {}
        self._by_outages: Mapping[str, OutageOf] = {}
        self._overfull: Set[str] = frozenset()
        self._rows: dict[RowState, dict[str, ApplicationRow]] = {state: {} for state in RowState}
        self._bodies: dict[RowState, dict[str, bytes]] = {state: {} for state in RowState}
        self._unsorted: set[RowState] = set()
        self.rendered = 0

    def update(self, change: IndexChange, by_outages: Mapping[str, OutageOf], overfull: Set[str]) -> None:
        """`by_outages` is what outages tell of applications, by key. Pods wait for a node in `overfull` clusters."""
        changed, self._overfull = self._overfull ^ overfull, overfull
        for binding in change.gone:
            self._drop(application_key(binding))
        for binding in change.new:
            key = application_key(binding)
            self._put(key, binding, by_outages.get(key))
        for key in {*self._by_outages, *by_outages} & self._known.keys():
            known, told = self._known[key], by_outages.get(key)
            if known.known != told:
                self._put(key, known.binding, told)
        for key, known in tuple(self._known.items()) if changed else ():
            if any(target.name in changed for target in known.binding.spec.clusters):
                self._put(key, known.binding, known.known)
        self._by_outages = by_outages

    @property
    def rows(self) -> Mapping[RowState, Mapping[str, ApplicationRow]]:
        """Rows by state and key, in the order of the keys; states that none has are left out."""
        self._sort()
        return {state: rows for state, rows in self._rows.items() if rows}

    @property
    def bodies(self) -> dict[str, bytes]:
        """JSON by key: those that need somebody first; within a state by key."""
        self._sort()
        return dict(chain.from_iterable(bodies.items() for bodies in self._bodies.values()))

    def _put(self, key: str, binding: Binding, told: OutageOf | None) -> None:
        before = self._known.get(key)
        now = self._known[key] = _KnownRow(binding, told, self._overfull)
        self.rendered += 1
        state = now.state
        if before is not None and before.state is not state:
            self._take_out(key, before.state)
        if state is not None:
            if key not in self._rows[state]:
                self._unsorted.add(state)
            self._rows[state][key], self._bodies[state][key] = now.row, codec.encode(now.row)

    def _drop(self, key: str) -> None:
        known = self._known.pop(key, None)
        if known is not None:
            self._take_out(key, known.state)

    def _take_out(self, key: str, state: RowState | None) -> None:
        if state is not None:
            del self._rows[state][key], self._bodies[state][key]

    def _sort(self) -> None:
        for state in self._unsorted:
            order = sorted(self._rows[state])
            self._rows[state] = {key: self._rows[state][key] for key in order}
            self._bodies[state] = {key: self._bodies[state][key] for key in order}
        self._unsorted.clear()
