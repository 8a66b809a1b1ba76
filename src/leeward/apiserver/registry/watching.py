"""Watch: the store's records as a stream of events.

An event is what a change means for the selection: an object that comes into it is ADDED, one that leaves it is
DELETED, whatever happened to it in truth. The stream begins with the present state where the client asks for that,
and ends with its time-out, when its reader is too slow, or when the server closes.

Holds: D5.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from leeward.api import codec
from leeward.apiserver import refusals
from leeward.apiserver.kinds.kind import Kind
from leeward.apiserver.registry.options import ListOptions
from leeward.apiserver.registry.reading import check_not_future, prefix_of
from leeward.apiserver.registry.selection import Selection
from leeward.apiserver.store import Compacted, Record, Store, Watcher
from leeward.loop.clock import Clock

BOOKMARK_SECONDS = 60.0
DEFAULT_TIMEOUT_SECONDS = 1800.0

Render = Callable[[bytes], bytes]
"""From a stored value to the object in a frame."""


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """What to watch, and how to show it."""

    kind: Kind
    namespace: str
    selection: Selection
    options: ListOptions
    render: Render

    @property
    def starts_with_state(self) -> bool:
        if self.options.send_initial_events is not None:
            return self.options.send_initial_events
        return not self.options.resource_version


def open_watch(store: Store, clock: Clock, request: WatchRequest) -> AsyncGenerator[bytes, None]:
    """The frames, one JSON object each. Raises: Refused, at once."""
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
    return _frames(clock, request, watcher, present)


async def _expired(asked: int, store: Store) -> AsyncGenerator[bytes, None]:
    refusal = refusals.expired(f"too old resource version: {asked} ({store.compacted})")
    yield frame("ERROR", codec.encode(refusals.render_status(refusal.status)))


async def _frames(
    clock: Clock, request: WatchRequest, watcher: Watcher, present: list[Record]
) -> AsyncGenerator[bytes, None]:
    options = request.options
    deadline = clock.monotonic() + (options.timeout_seconds or DEFAULT_TIMEOUT_SECONDS)
    try:
        for record in present:
            if request.selection.matches(record.value):
                yield frame("ADDED", request.render(record.value))
        if options.send_initial_events and options.bookmarks:
            yield _bookmark(request.kind, watcher.progress, initial=True)
        async for event in _live(clock, request, watcher, deadline):
            yield event
        if options.bookmarks:
            yield _bookmark(request.kind, watcher.progress)
    finally:
        watcher.close()


async def _live(clock: Clock, request: WatchRequest, watcher: Watcher, deadline: float) -> AsyncGenerator[bytes, None]:
    bookmark_at = clock.monotonic() + BOOKMARK_SECONDS
    while True:
        wait_until = min(bookmark_at, deadline)
        try:
            record = watcher.next_ready()
            if record is None:
                async with asyncio.timeout_at(wait_until):
                    record = await watcher.next()
        except TimeoutError:
            if wait_until == deadline:
                return
            bookmark_at += BOOKMARK_SECONDS
            if request.options.bookmarks:
                yield _bookmark(request.kind, watcher.progress)
            continue
        if record is None:
            return
        event = _event_of(request, record)
        if event is not None:
            yield event


def _event_of(request: WatchRequest, record: Record) -> bytes | None:
    """What the record means for the selection, or nothing."""
    previous = record.previous
    before = previous is not None and request.selection.matches(previous.value)
    after = not record.deleted and request.selection.matches(record.value)
    if after:
        return frame("MODIFIED" if before else "ADDED", request.render(record.value))
    if before or (record.deleted and previous is None and request.selection.matches(record.value)):
        return frame("DELETED", request.render(_last_seen(record)))
    return None


def _last_seen(record: Record) -> bytes:
    """The state that an object had when it was in the selection last, under the revision at which it left."""
    if record.deleted or record.previous is None:
        return record.value
    manifest = codec.decode_manifest(record.previous.value)
    manifest["metadata"]["resourceVersion"] = str(record.revision)
    return codec.encode(manifest)


def _bookmark(kind: Kind, revision: int, *, initial: bool = False) -> bytes:
    metadata: dict[str, object] = {"resourceVersion": str(revision)}
    if initial:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return frame("BOOKMARK", codec.encode({"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}))


def frame(event_type: str, body: bytes) -> bytes:
    return b'{"type":"%s","object":%s}' % (event_type.encode(), body)
