"""Kubernetes events: the story that `kubectl describe` tells.

A change of state is a new event, with its own time: whatever differs from what the component told of the object last.
Only repetition of the last folds: it is counted up in the server once in a while, and where much happens at once
counting waits.

A source that goes to and fro writes within a budget (`Budget`): past it, what it tells is folded into its last event of
the same reason, which gets the new message and time. Recording never waits and never fails its caller: the buffer is
bounded, and what does not fit is dropped with a line in the log.
"""

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heappop, heappush
from itertools import count

from kubeapi.loop.clock import Clock
from kubeapi.loop.randomness import Randomness
from kubeapi.meta import ObjectMeta, format_time, wire_time
from leeward.api.core import Event, EventSource, ObjectReference
from leeward.api.resource import EVENTS
from leeward.client import Client, NotFound, WorldError
from leeward.runtime.crowd import Crowd

log = logging.getLogger(__name__)

BUFFER = 10_000
MAX_MESSAGE = 1_024
REMEMBERED = 4_096
"""So many sources of events are remembered: a component and an object of which it tells."""
BURST, REFILL_SECONDS = 50, 60.0
"""A source may write so many new events at once, and one more in this time."""
CHANGE_SECONDS = 10.0
"""Past its budget, what a source tells is written at most once in this time for each reason."""
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
    """An event as the server has it, until when it is not counted up, and how often it has happened since.

    `due` is when the server is told of that.
    """

    note: Note
    name: str
    namespace: str
    count: int
    rests_until: float
    again: int = 0
    due: float | None = None
    last_at: datetime | None = None


@dataclass(slots=True)
class Budget:
    """New events that a source may write now: `BURST` of them, and one more every `REFILL_SECONDS`."""

    left: float
    since: float

    def take(self, now: float) -> bool:
        self.left = min(float(BURST), self.left + (now - self.since) / REFILL_SECONDS)
        self.since = now
        if self.left < 1:
            return False
        self.left -= 1
        return True


@dataclass(slots=True)
class _Source:
    """What one component has told of one object: its last event, and the last of each reason."""

    budget: Budget
    last: _Written | None = None
    by_reason: dict[str, _Written] = field(default_factory=dict[str, _Written])


Subject = tuple[str, str, str, str, str, str]


def _subject(note: Note) -> Subject:
    about = note.about
    return note.component, about.api_version, about.kind, about.namespace, about.name, about.uid


class EventRecorder:
    """Start `run` as a task."""

    def __init__(self, client: Client, clock: Clock, randomness: Randomness) -> None:
        self._client = client
        self._clock = clock
        self._randomness = randomness
        self._notes: asyncio.Queue[tuple[Note, datetime]] = asyncio.Queue(BUFFER)
        self._sources: OrderedDict[Subject, _Source] = OrderedDict()
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
        self._crowd.add((_subject(note), note.reason, note.message), now)
        source = self._source(note, now)
        known = source.last
        if known is not None and _says(known.note) == _says(note):
            due = now + COUNT_SECONDS[note.type] if self._crowd.is_there(now) else known.rests_until
            self._fold(known, note, at, due)
        elif source.budget.take(now) or note.reason not in source.by_reason:
            await self._write(source, note, at)
        else:
            known = source.last = source.by_reason[note.reason]
            self._fold(known, note, at, max(now, known.rests_until - COUNT_SECONDS[note.type] + CHANGE_SECONDS))

    def _source(self, note: Note, now: float) -> _Source:
        source = self._sources.setdefault(_subject(note), _Source(Budget(BURST, now)))
        self._sources.move_to_end(_subject(note))
        if len(self._sources) > REMEMBERED:
            self._sources.popitem(last=False)
        return source

    def _fold(self, known: _Written, note: Note, at: datetime, due: float) -> None:
        """Counts `note` into an event that is there; when `due` has come, the server is told."""
        known.note = note
        known.last_at = at
        known.again += 1
        if known.due is None or due < known.due:
            known.due = due
            heappush(self._counting, (due, next(self._order), known))

    async def _count_up(self) -> None:
        due, _, written = heappop(self._counting)
        if written.due != due:
            return
        note, times, last_at = written.note, written.count + written.again, written.last_at or self._clock.now()
        written.count, written.again, written.due = times, 0, None
        patch = {"count": times, "lastTimestamp": format_time(last_at), "message": note.message[:MAX_MESSAGE]}
        try:
            await self._client.patch(EVENTS, written.name, patch, written.namespace)
        except NotFound:
            written.name, written.namespace = await self._create(note, last_at)
            written.count = 1
        written.rests_until = self._clock.monotonic() + COUNT_SECONDS[note.type]

    async def _write(self, source: _Source, note: Note, at: datetime) -> None:
        name, namespace = await self._create(note, at)
        rests_until = self._clock.monotonic() + COUNT_SECONDS[note.type]
        source.last = source.by_reason[note.reason] = _Written(note, name, namespace, 1, rests_until)

    async def _create(self, note: Note, at: datetime) -> tuple[str, str]:
        """Returns its name and namespace."""
        namespace = note.about.namespace or "default"
        name = f"{note.about.name}.{self._randomness.token()[:16]}"
        event = Event(
            metadata=ObjectMeta(name=name, namespace=namespace),
            involved_object=note.about,
            type=note.type,
            reason=note.reason,
            message=note.message[:MAX_MESSAGE],
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


def _says(note: Note) -> tuple[str, str, str]:
    return note.type, note.reason, note.message
