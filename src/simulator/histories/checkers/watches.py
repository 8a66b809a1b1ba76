"""D5: a watch of the control plane tells all that became durable behind its revision, once, in order, and nothing else.

Each line is compared with what the store wrote under the watched prefix. Where a selector leaves lines out, order and
uniqueness are judged, and that a bookmark never runs back. An ERROR line ends the comparison: it is the honest end.
"""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator

from kubeclient import Request
from simulator.histories.checkers.ledger import Entry, Ledger
from simulator.histories.checkers.scene import Scene, Violation
from simulator.paths import Target, target_of

_LINE = re.compile(rb'\{"type":"([A-Z]+)","object":')
_REVISION = re.compile(rb'"resourceVersion":"(\d+)"')
"""Quotes within strings are escaped, so that this is a field."""
SELECTORS = ("labelSelector", "fieldSelector")


class WatchesChecker:
    """Opens one `WatchChecker` for each stream that can be judged."""

    def __init__(self, scene: Scene, ledger: Ledger) -> None:
        self._scene = scene
        self._ledger = ledger

    def follow(
        self, request: Request, pieces: AsyncIterator[bytes], found: Callable[[Iterator[Violation]], None]
    ) -> AsyncIterator[bytes]:
        """Passes the stream on in whole lines, each of which is looked at before."""
        target, version = target_of(request.path), request.query.get("resourceVersion", "")
        if target is None or target.name or not version.isdigit() or int(version) == 0:
            return pieces
        selects = any(request.query.get(name) for name in SELECTORS)
        watch = WatchChecker(target, int(version), self._ledger, selects=selects)

        async def followed() -> AsyncGenerator[bytes, None]:
            try:
                async for piece in pieces:
                    for problem in filter(None, map(watch.look, piece.splitlines())):
                        message = f"a watch of {target.prefix} from {version} {problem}"
                        found(iter((Violation("D5", self._scene.truth.now(), message),)))
                    yield piece
            finally:
                if isinstance(pieces, AsyncGenerator):
                    await pieces.aclose()

        return followed()


class WatchChecker:
    """One stream: how far it has told."""

    def __init__(self, target: Target, after: int, ledger: Ledger, *, selects: bool = False) -> None:
        self._prefix = target.prefix
        self._told = after
        self._ledger = ledger
        self._expected = ledger.after(target.prefix, after)
        self._next: Entry | None = None
        self._selects = selects

    def look(self, line: bytes) -> str:
        """Fault of the next line; empty where it has none."""
        kind = _LINE.match(line)
        if kind is None or kind[1] == b"ERROR":
            return ""
        found = _REVISION.search(line)
        if found is None:
            return f"tells of {kind[1].decode()} without a revision"
        return self._bookmark(int(found[1])) if kind[1] == b"BOOKMARK" else self._event(int(found[1]))

    def _bookmark(self, revision: int) -> str:
        if revision < self._told:
            return f"has a bookmark at {revision} behind {self._told}"
        self._told = revision
        left_out = self._peek()
        if left_out is not None and left_out.revision <= revision and not self._selects:
            return f"has a bookmark at {revision}, and has not told of {left_out.key} at {left_out.revision}"
        return ""

    def _event(self, revision: int) -> str:
        if revision <= self._told:
            return f"tells of {revision} after {self._told}"
        self._told = revision
        while self._selects and (entry := self._peek()) is not None and entry.revision < revision:
            self._next = None
        entry = self._peek()
        self._next = None
        if entry is None or entry.revision != revision:
            return f"tells of {revision}; what came next is {entry or 'nothing that is durable'}"
        return ""

    def _peek(self) -> Entry | None:
        """Entry that was written next under the prefix, as far as it is durable."""
        if self._next is None:
            self._next = next(self._expected, None)
            if self._next is None:
                self._expected = self._ledger.after(self._prefix, self._told)
        return self._next
