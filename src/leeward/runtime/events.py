"""Kubernetes events: the story that `kubectl describe` tells.

Equal events of one object are counted up instead of written again, and the count is written once in a while: what is
new comes first, and where much happens at once counting waits. Recording never waits and never fails its caller: the
buffer is bounded, and what does not fit is dropped with a line in the log.
"""

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import datetime
from heapq import heappop, heappush
from itertools import count

import msgspec

from leeward.api.core import Event, EventSource, ObjectReference
from leeward.api.meta import ObjectMeta, format_time, wire_time
from leeward.api.resource import EVENTS
from leeward.client import Client, NotFound, WorldError
from leeward.loop.clock import Clock
from leeward.loop.randomness import Randomness
from leeward.runtime.crowd import Crowd

log = logging.getLogger(__name__)

BUFFER = 10_000
REMEMBERED = 4_096
NORMAL, WARNING = "Normal", "Warning"
COUNT_SECONDS = {NORMAL: 300.0, WARNING: 10.0}
"""What happens again and again is counted up in the server at most once in this time."""
CROWD, CROWD_SECONDS = 64, 10.0
"""So many events within this time are a crowd: the server has better things to do than to count."""


@dataclass(frozen=True, slots=True)
class Note:
    """One thing to tell about one object."""

    component: str
    about: ObjectReference
    type: str
    reason: str
    message: str


@dataclass(slots=True)
class _Written:
    """An event as the server has it, until when it is not counted up, and how often it has happened since."""

    note: Note

    name: str
    namespace: str
    count: int
    rests_until: float
    again: int = 0
    last_at: datetime | None = None


class EventRecorder:
    """Start `run` as a task."""

    def __init__(self, client: Client, clock: Clock, randomness: Randomness) -> None:
        self._client = client
        self._clock = clock
        self._randomness = randomness
        self._notes: asyncio.Queue[tuple[Note, datetime]] = asyncio.Queue(BUFFER)
        self._written: OrderedDict[Note, _Written] = OrderedDict()
        self._counting: list[tuple[float, int, _Written]] = []
        self._order = count()
        self._crowd = Crowd(CROWD, CROWD_SECONDS)

    def record(self, note: Note) -> None:
        name = f"{note.about.namespace}/{note.about.name}" if note.about.namespace else note.about.name
        log.info("%s %s: %s: %s", note.about.kind, name, note.reason, note.message)
        try:
            self._notes.put_nowait((note, self._clock.now()))
        except asyncio.QueueFull:
            log.warning("dropped event %s of %s %s", note.reason, note.about.kind, note.about.name)

    async def run(self) -> None:
        """Writes what was recorded, until cancelled."""
        while True:
            recorded = await self._next()
            try:
                await (self._count_up() if recorded is None else self._tell(*recorded))
            except WorldError as error:
                log.warning("an event%s is lost: %s", _title(recorded), error)
            except Exception:
                log.exception("an event%s is lost", _title(recorded))

    async def _next(self) -> tuple[Note, datetime] | None:
        """None when an event is to be counted up, and there is nothing new to tell."""
        if not self._notes.empty():
            return self._notes.get_nowait()
        seconds = self._counting[0][0] - self._clock.monotonic() if self._counting else None
        try:
            async with asyncio.timeout(seconds):
                return await self._notes.get()
        except TimeoutError:
            return None

    async def _tell(self, note: Note, at: datetime) -> None:
        now = self._clock.monotonic()
        key = replace(note, about=msgspec.structs.replace(note.about, resource_version=""))
        self._crowd.add(key, now)
        known = self._written.get(key)
        if known is None:
            await self._remember(key, note, at)
            return
        self._written.move_to_end(key)
        known.last_at = at
        known.again += 1
        if known.again == 1:
            due = now + COUNT_SECONDS[note.type] if self._crowd.is_there(now) else known.rests_until
            heappush(self._counting, (due, next(self._order), known))

    async def _count_up(self) -> None:
        _, _, written = heappop(self._counting)
        key, times, last_at = written.note, written.count + written.again, written.last_at or self._clock.now()
        written.count, written.again = times, 0
        patch = {"count": times, "lastTimestamp": format_time(last_at)}
        try:
            await self._client.patch(EVENTS, written.name, patch, written.namespace)
        except NotFound:
            await self._remember(key, key, last_at)
            return
        written.rests_until = self._clock.monotonic() + COUNT_SECONDS[key.type]

    async def _remember(self, key: Note, note: Note, at: datetime) -> None:
        name, namespace = await self._create(note, at)
        rests_until = self._clock.monotonic() + COUNT_SECONDS[note.type]
        self._written[key] = _Written(key, name, namespace, 1, rests_until)
        if len(self._written) > REMEMBERED:
            self._written.popitem(last=False)

    async def _create(self, note: Note, at: datetime) -> tuple[str, str]:
        """Returns its name and namespace."""
        namespace = note.about.namespace or "default"
        name = f"{note.about.name}.{self._randomness.token()[:16]}"
        event = Event(
            metadata=ObjectMeta(name=name, namespace=namespace),
            involved_object=note.about,
            type=note.type,
            reason=note.reason,
            message=note.message[:1024],
            source=EventSource(component=note.component),
            reporting_component=note.component,
            first_timestamp=wire_time(at),
            last_timestamp=wire_time(at),
            count=1,
        )
        await self._client.create(EVENTS, event, namespace)
        return name, namespace


def _title(recorded: tuple[Note, datetime] | None) -> str:
    if recorded is None:
        return ""
    note, _ = recorded
    return f" {note.reason} of {note.about.kind} {note.about.name}"
