"""Events end by themselves: each is deleted when it was last written so long ago.

    follow: every change of an event ▸ when it is due      expire: sleep until the first is due ▸ delete what is

The instant of a write is seen as it happens; that of an event which was there before the server is read from the event
itself, which says when it was last observed. Deletions are few at a time, are seen by watches, and ask nobody.

Kubernetes: `--event-ttl` of kube-apiserver; same. There the store forgets, here it is a deletion like any other.
"""

import asyncio
import logging
from contextlib import aclosing
from datetime import datetime, timedelta

from leeward.api import codec
from leeward.api.meta import Manifest, parse_time
from leeward.apiserver.housekeeping.changes import changes
from leeward.apiserver.kinds.kind import Kind
from leeward.apiserver.registry.writing import Writer
from leeward.apiserver.store import Raced, Record, StoreFailed
from leeward.apiserver.values import section

log = logging.getLogger(__name__)

EVENT_TTL_SECONDS = 3600.0
MAX_DELETIONS = 200
"""At a time; between two such steps others have their turn."""
PAUSE_SECONDS, LONGEST_SLEEP_SECONDS = 0.05, 60.0


class EventExpiry:
    """Deletes events of `kind` when they are `ttl_seconds` old."""

    def __init__(self, writer: Writer, kind: Kind, ttl_seconds: float) -> None:
        self._writer = writer
        self._kind = kind
        self._ttl = timedelta(seconds=ttl_seconds)
        self._due: dict[str, tuple[int, datetime]] = {}
        """Revision and end of each event, in the order of their ends."""
        self._known = asyncio.Event()

    async def follow(self) -> None:
        """Learns of events until it is cancelled."""
        listed = self._writer.store.list(self._kind.prefix).records
        now = self._writer.clock.now()
        for record, seen in sorted(((r, min(_last_seen(r, now), now)) for r in listed), key=lambda pair: pair[1]):
            self._learn(record, seen)
        async with aclosing(changes(self._writer.store, self._kind.prefix)) as records:
            async for record in records:
                self._learn(record, self._writer.clock.now())

    async def expire(self) -> None:
        """Deletes what is due until it is cancelled."""
        while True:
            await self._known.wait()
            due = self._due_by(self._writer.clock.now())
            for key in due:
                await self._delete(key)
            await asyncio.sleep(PAUSE_SECONDS if due else self._pause_seconds())

    def _learn(self, record: Record, seen: datetime) -> None:
        known = self._due.get(record.key)
        if known is not None and known[0] == record.revision:
            return
        self._due.pop(record.key, None)
        if not record.deleted:
            self._due[record.key] = record.revision, seen + self._ttl
        if self._due:
            self._known.set()
        else:
            self._known.clear()

    def _due_by(self, now: datetime) -> list[str]:
        due: list[str] = []
        for key, (_, end) in self._due.items():
            if end > now or len(due) == MAX_DELETIONS:
                break
            due.append(key)
        return due

    def _pause_seconds(self) -> float:
        _, end = next(iter(self._due.values()), (0, self._writer.clock.now()))
        left = (end - self._writer.clock.now()).total_seconds()
        return min(max(left, PAUSE_SECONDS), LONGEST_SLEEP_SECONDS)

    async def _delete(self, key: str) -> None:
        """An event that was written again meanwhile is learned of anew."""
        revision, _ = self._due[key]
        record = self._writer.store.head(key)
        if record is None or record.revision != revision:
            self._due.pop(key, None)
            return
        try:
            await self._writer.erase(self._kind, key, record)
        except Raced:
            pass
        except StoreFailed as error:
            log.warning("%s could not be deleted at its end: %s", key, error)
            return
        if self._due.get(key, (0,))[0] == revision:
            del self._due[key]


def _last_seen(record: Record, now: datetime) -> datetime:
    """By its own account; an event that does not say was seen `now`."""
    event: Manifest = codec.decode_manifest(record.value)
    told = (
        section(event, "series").get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        event["metadata"].get("creationTimestamp"),
    )
    instants = [instant for text in told if (instant := _instant(text)) is not None]
    return max(instants, default=now)


def _instant(text: object) -> datetime | None:
    try:
        return parse_time(text) if isinstance(text, str) else None
    except ValueError:
        return None
