"""Watch: the store's records as a stream of events, in pieces of as many frames as are ready together.

An event is what a change means for the selection: an object that comes into it is ADDED, one that leaves it is
DELETED, whatever happened to it in truth. The stream begins with the present state where the client asks for that,
and ends with its time-out, when its reader is too slow, when its kind is defined anew, or when the server closes. What
several watch in the same way is made once for all of them (`watch_frame_cache.py`).

Holds: D5.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter

from kubeapi import codec
from kubeapi.loop import Clock
from kubeapi.meta import Manifest
from kubeserver import errors
from kubeserver.kinds.kind import Kind
from kubeserver.registry.conversion import show
from kubeserver.registry.objects import restamped
from kubeserver.registry.open_watches import OpenWatches
from kubeserver.registry.options import ListOptions
from kubeserver.registry.reading import check_not_future, prefix_of
from kubeserver.registry.selection import Selection
from kubeserver.registry.watch_frame_cache import SharedPieces, View
from kubeserver.store import YIELD_BYTES, Compacted, Record, Store, Watcher
from kubeserver.structures.structure import blank

BOOKMARK_SECONDS = 60.0
DEFAULT_TIMEOUT_SECONDS = 1800.0
SHOWN_AT_ONCE = 500
"""Objects of the present state that are brought into the version of the watch together."""

Render = Callable[[bytes], bytes]
"""Function from a shown value to the object in a frame."""


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """Request to watch, and how to show it."""

    kind: Kind
    namespace: str
    selection: Selection
    options: ListOptions
    render: Render
    view: View | None = None
    """View on the objects: who has the same one sees the same; None for a watch that is like no other."""

    @property
    def starts_with_state(self) -> bool:
        if self.options.send_initial_events is not None:
            return self.options.send_initial_events
        return not self.options.resource_version


def open_watch(
    store: Store, clock: Clock, request: WatchRequest, shared: SharedPieces, watches: OpenWatches
) -> AsyncGenerator[bytes, None]:
    """The frames: pieces of whole lines, one JSON object each. Raises: Refused, at once."""
    check_not_future(store, request.options.resource_version)
    prefix = prefix_of(request.kind, request.namespace)
    present: list[Record] = []
    after = request.options.resource_version or store.revision
    if request.starts_with_state:
        listing = store.list(prefix)
        after, present = listing.revision, listing.records
    try:
        watcher = store.watch(prefix, after)
    except Compacted:
        return _expired(after, store)
    watches.add(request.kind.prefix, watcher)
    return _Watch(clock, request, watcher, shared).pieces(list(reversed(present)))


async def _expired(asked: int, store: Store) -> AsyncGenerator[bytes, None]:
    refusal = errors.expired(f"too old resource version: {asked} ({store.compacted})")
    yield _error(refusal)


@dataclass(frozen=True, slots=True)
class _Watch:
    """One stream that goes on."""

    clock: Clock
    request: WatchRequest
    watcher: Watcher
    shared: SharedPieces

    async def pieces(self, present: list[Record]) -> AsyncGenerator[bytes, None]:
        """`present` is the state to begin with, its last record first, and is empty once that was told.

        What a watch holds while it waits it holds for half an hour, and so do a thousand others: no piece, no state.
        """
        options = self.request.options
        deadline = self.clock.monotonic() + (options.timeout_seconds or DEFAULT_TIMEOUT_SECONDS)
        try:
            async for piece in self._state(present):
                yield piece
                del piece
            if options.send_initial_events and options.bookmarks:
                yield self._bookmark(initial=True)
            async for piece in self._live(deadline):
                yield piece
                del piece
            if options.bookmarks:
                yield self._bookmark()
        except errors.Refused as refusal:
            yield _error(refusal)
        finally:
            self.watcher.close()

    async def _state(self, present: list[Record]) -> AsyncGenerator[bytes, None]:
        """Frames of what is there, at most `YIELD_BYTES` at a time; takes it out of `present`."""
        frames, size = list[bytes](), 0
        while present:
            records = present[-SHOWN_AT_ONCE:][::-1]
            del present[-SHOWN_AT_ONCE:]
            for value in await show(self.request.kind, records):
                if self.request.selection.matches(value):
                    frames.append(frame("ADDED", self.request.render(value)))
                    size += len(frames[-1])
                if size >= YIELD_BYTES:
                    piece, frames, size = b"".join(frames), [], 0
                    yield piece
                    del piece
                    await asyncio.sleep(0)
        if frames:
            yield b"".join(frames)

    async def _live(self, deadline: float) -> AsyncGenerator[bytes, None]:
        """Lines of what happens from now on; a watch without bookmarks is woken by events alone."""
        bookmark_at = self.clock.monotonic() + BOOKMARK_SECONDS if self.request.options.bookmarks else math.inf
        while self.clock.monotonic() < deadline:
            piece = await self._next_piece(min(bookmark_at, deadline))
            if piece:
                yield piece
            elif piece is None and self.watcher.ended:
                return
            del piece
            if bookmark_at <= self.clock.monotonic() < deadline:
                bookmark_at += BOOKMARK_SECONDS
                yield self._bookmark()

    async def _next_piece(self, until: float) -> bytes | None:
        """Piece that comes next; None where nothing came until then."""
        records = await self.watcher.take(until)
        return await self._piece(records) if records else None

    async def _piece(self, records: Sequence[Record]) -> bytes:
        """Meaning of the records, which follow each other, for the selection; empty when they mean nothing."""
        request = self.request
        if request.view is None:
            return await _events_of(request, records)
        key = (request.view, records[0].revision, records[-1].revision)
        piece = self.shared.find(key)
        if piece is None:
            piece = await _events_of(request, records)
            self.shared.keep(key, piece)
        return piece

    def _bookmark(self, *, initial: bool = False) -> bytes:
        return _bookmark(self.request, self.watcher.progress, initial=initial)


async def _events_of(request: WatchRequest, records: Sequence[Record]) -> bytes:
    """Raises: Refused where a record cannot be shown."""
    if request.kind.form is None:
        return b"".join([_event_of(request, record, attrgetter("value")) for record in records])
    before = () if request.selection.everything else [r.previous for r in records if r.previous is not None]
    states = [*records, *before]
    shown = dict(zip(states, await show(request.kind, states), strict=True))
    return b"".join([_event_of(request, record, lambda state: shown.get(state, state.value)) for record in records])


def _event_of(request: WatchRequest, record: Record, value_of: Callable[[Record], bytes]) -> bytes:
    """Meaning of the record for the selection; empty when it means nothing."""
    selected, previous = request.selection.matches, record.previous
    before = previous is not None and selected(value_of(previous))
    after = not record.deleted and selected(value_of(record))
    if after:
        return frame("MODIFIED" if before else "ADDED", request.render(value_of(record)))
    if before or (record.deleted and previous is None and selected(value_of(record))):
        return frame("DELETED", request.render(_last_seen(record, value_of)))
    return b""


def _last_seen(record: Record, value_of: Callable[[Record], bytes]) -> bytes:
    """The state that an object had when it was in the selection last, under the revision at which it left."""
    if record.deleted or record.previous is None:
        return value_of(record)
    return restamped(value_of(record.previous), record.revision)


def _bookmark(request: WatchRequest, revision: int, *, initial: bool = False) -> bytes:
    """An object that says nothing but a revision, in the form of the others."""
    kind = request.kind
    metadata: dict[str, object] = {"resourceVersion": str(revision)}
    if initial:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    unsaid: Manifest = {} if kind.custom else blank(kind.structure)
    bookmark = {"kind": kind.kind, "apiVersion": kind.api_version, **unsaid, "metadata": metadata}
    return frame("BOOKMARK", request.render(codec.encode(bookmark)))


def _error(refusal: errors.Refused) -> bytes:
    return frame("ERROR", codec.encode(errors.render_status(refusal.status)))


def frame(event_type: str, body: bytes) -> bytes:
    """One line, with its end."""
    return b'{"type":"%s","object":%s}\n' % (event_type.encode(), body)
