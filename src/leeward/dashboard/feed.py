"""Feed of one scope: versions of keyed objects, what changed between them, and who reads that.

    publish(at, collections)   the next version: what is set and what is gone since the last one
    open(since)                a reader, who goes on after `since` where the ring still knows it, and else begins anew

Objects are JSON already, and frames are made and compressed once for all readers: a change, and all there is by now. A
reader that does not keep up is ended, and comes back; nobody waits for one. Ids begin with a name of the feed, so that
those of another life are known as such.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from kubeapi import codec
from leeward.dashboard.frames import Frame

Collections = Mapping[str, Mapping[str, bytes]]
"""JSON of objects by collection and key."""

MOST_CHANGES, MOST_RING_BYTES = 1_000, 8 * 1024**2
MOST_WAITING = 256
"""Frames that a reader may be behind."""
CHUNK_BYTES = 256 * 1024
RESET, CHANGE = "reset", "change"


class _Change(NamedTuple):
    version: int
    frame: Frame


class FeedReader:
    """Frames for one browser, in their order. `frames` ends when it was too slow, or the feed is closed."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[Frame | None] = asyncio.Queue(MOST_WAITING)
        self.is_ended = False

    def give(self, frame: Frame) -> None:
        if self.is_ended:
            return
        try:
            self._waiting.put_nowait(frame)
        except asyncio.QueueFull:
            self.end()

    def end(self) -> None:
        """Ends the feed: it reads no more; what waits is not worth sending."""
        self.is_ended = True
        while not self._waiting.empty():
            self._waiting.get_nowait()
        self._waiting.put_nowait(None)

    async def next(self, timeout_seconds: float) -> Frame | None:
        """The next frame; None when the feed has ended. Raises: TimeoutError."""
        async with asyncio.timeout(timeout_seconds):
            return await self._waiting.get()


class Feed:
    """`name` is another one in each life of the process."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._version = 0
        self._at: datetime | None = None
        self._collections: Mapping[str, Mapping[str, bytes]] = {}
        self._whole: list[Frame] = []
        self._ring: deque[_Change] = deque()
        self._ring_bytes = 0
        self._readers: set[FeedReader] = set()

    @property
    def readers(self) -> int:
        return len(self._readers)

    @property
    def is_begun(self) -> bool:
        return self._at is not None

    def publish(self, at: datetime, collections: Collections) -> bool:
        """Tells whether anything is new."""
        is_first, before = self._at is None, self._collections
        changed = {name: _set(before.get(name, {}), objects) for name, objects in collections.items()}
        gone = {
            name: [key for key in objects if key not in collections.get(name, {})] for name, objects in before.items()
        }
        changed = {name: objects for name, objects in changed.items() if objects}
        gone = {name: keys for name, keys in gone.items() if keys}
        if not (is_first or changed or gone):
            return False
        self._at, self._collections = at, collections
        self._version += 1
        self._whole = []
        frames = self._reset() if is_first else [self._frame(CHANGE, "set", _joined(changed), codec.encode(gone))]
        if not is_first:
            self._remember(_Change(self._version, frames[0]))
        for reader in self._readers:
            for frame in frames:
                reader.give(frame)
        return True

    def open(self, since: str = "") -> tuple[FeedReader, list[Frame]]:
        """A reader, and the frames that it is to be sent first: none before the first version."""
        reader = FeedReader()
        self._readers.add(reader)
        if not self.is_begun:
            return reader, []
        version = self._known(since)
        if version is None:
            return reader, self._reset()
        return reader, [change.frame for change in self._ring if change.version > version]

    def leave(self, reader: FeedReader) -> None:
        self._readers.discard(reader)

    def close(self) -> None:
        for reader in self._readers:
            reader.end()
        self._readers.clear()

    def _known(self, since: str) -> int | None:
        """The version of an id, where all changes after it are in the ring."""
        name, dash, number = since.rpartition("-")
        if name != self._name or not dash or not number.isdecimal() or len(number) > 18:
            return None
        version, oldest = int(number), self._ring[0].version if self._ring else self._version + 1
        return version if oldest - 1 <= version <= self._version else None

    def _remember(self, change: _Change) -> None:
        self._ring.append(change)
        self._ring_bytes += len(change.frame.plain)
        while len(self._ring) > MOST_CHANGES or (self._ring_bytes > MOST_RING_BYTES and len(self._ring) > 1):
            self._ring_bytes -= len(self._ring.popleft().frame.plain)

    def _reset(self) -> list[Frame]:
        """All there is, in chunks: a reset, and changes. Only the last one bears the id from which to go on."""
        if not self._whole:
            self._whole = list(self._frames())
        return self._whole

    def _frames(self) -> Iterator[Frame]:
        event, parts = RESET, list(_chunks(self._collections))
        for index, part in enumerate(parts):
            field = "collections" if event == RESET else "set"
            yield self._frame(event, field, _joined(part), is_last=index == len(parts) - 1)
            event = CHANGE

    def _frame(self, event: str, field: str, objects: bytes, gone: bytes = b"{}", *, is_last: bool = True) -> Frame:
        """One server-sent event: JSON has no line ends."""
        event_id = f"{self._name}-{self._version}" if is_last else ""
        head = codec.encode({"id": event_id, "at": self._at, "more": not is_last})[:-1]
        rest = b"" if event == RESET else b',"unset":' + gone
        body = head + b',"' + field.encode() + b'":' + objects + rest + b"}"
        line = f"event: {event}\n" + (f"id: {event_id}\n" if event_id else "")
        return Frame(line.encode() + b"data: " + body + b"\n\n")


def _set(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> dict[str, bytes]:
    return {key: value for key, value in after.items() if before.get(key) != value}


def _joined(collections: Mapping[str, Mapping[str, bytes]]) -> bytes:
    named = (codec.encode(name) + b":" + _object(objects) for name, objects in collections.items())
    return b"{" + b",".join(named) + b"}"


def _object(objects: Mapping[str, bytes]) -> bytes:
    return b"{" + b",".join(codec.encode(key) + b":" + value for key, value in objects.items()) + b"}"


def _chunks(collections: Collections) -> Iterator[Collections]:
    """Collections in pieces of about CHUNK_BYTES, every collection at least once, so that an empty one is known as
    empty."""
    part: dict[str, dict[str, bytes]] = {name: {} for name in collections}
    size = 0
    for name, key, value in _items(collections):
        part.setdefault(name, {})[key] = value
        size += len(key) + len(value)
        if size >= CHUNK_BYTES:
            yield part
            part, size = {}, 0
    if part:
        yield part


def _items(collections: Collections) -> Iterable[tuple[str, str, bytes]]:
    return ((name, key, value) for name, objects in collections.items() for key, value in objects.items())
