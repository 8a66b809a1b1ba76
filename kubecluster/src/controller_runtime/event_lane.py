"""Lane of events: what some of the sources have told, written to the API server one after the other.

A change of state is a new event, with its own time: whatever differs from what the component told of the object last.
Only repetition of the last folds: it is counted up in the server once in a while, and where much happens at once
counting waits. Of a step that is repeated the server hears with the next one that comes after that while, or never.

A source that goes to and fro writes within a budget (`Budget`): past it, what it tells is folded into its last event of
the same reason, which gets the new message and time.
"""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heappop, heappush
from itertools import count
from typing import TypeVar

from controller_runtime.burst_detector import BurstDetector
from controller_runtime.notes import NORMAL, WARNING, Note, Rank, Source, source_of
from kubeapi.core import EVENTS, Event, EventSource
from kubeapi.diff import is_equal
from kubeapi.loop import Clock, Randomness
from kubeapi.meta import ObjectMeta, format_time, wire_time
from kubeclient import Client, NotFound, TooManyRequests, WorldError

T = TypeVar("T")
log = logging.getLogger(__name__)

MAX_MESSAGE = 1_024
REMEMBERED = 1_024
"""Number of sources of events that a lane remembers: a component and an object of which it tells."""
BURST, REFILL_SECONDS = 50, 60.0
"""A source may write so many new events at once, and one more in this time."""
CHANGE_SECONDS = 10.0
"""Past its budget, what a source tells is written at most once in this time for each reason."""
COUNT_SECONDS = {NORMAL: 300.0, WARNING: 10.0}
"""Seconds between two counts, in the server, of an event that happens again and again; by type."""
BURST_SIZE, BURST_SECONDS = 16, 10.0
"""Number of events, and seconds, that make a burst: the server has better things to do than to count."""
ATTEMPTS, LONGEST_REST_SECONDS = 20, 30.0
"""A server that has too much to do (429) is asked again so often, after what it asks for, and no longer than this."""


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
class _Told:
    """Events that one component has told of one object: the last, and the last of each reason."""

    budget: Budget
    last: _Written | None = None
    by_reason: dict[str, _Written] = field(default_factory=dict[str, _Written])


class EventLane:
    """Start `run` as a task. `left_out` tells whether a step that is due is not told any more."""

    def __init__(self, client: Client, clock: Clock, randomness: Randomness, left_out: Callable[[Note], bool]) -> None:
        self._client = client
        self._clock = clock
        self._randomness = randomness
        self._left_out = left_out
        self._ready: dict[Rank, deque[tuple[Note, datetime]]] = {rank: deque() for rank in Rank}
        self._held: deque[tuple[float, Note, datetime]] = deque()
        self._added = asyncio.Event()
        self._sources: OrderedDict[Source, _Told] = OrderedDict()
        self._counting: list[tuple[float, int, _Written]] = []
        self._order = count()
        self._burst = BurstDetector(BURST_SIZE, BURST_SECONDS)

    @property
    def waiting(self) -> int:
        return sum(map(len, self._ready.values())) + len(self._held)

    def add(self, note: Note, at: datetime) -> None:
        """Has it written in its turn, after earlier events of its source."""
        source = source_of(note)
        if any(source_of(held) == source for _, held, _ in self._held):
            earlier = [(held, held_at) for _, held, held_at in self._held if source_of(held) == source]
            self._held = deque(each for each in self._held if source_of(each[1]) != source)
            self._ready[note.rank].extend(earlier)
        self._ready[note.rank].append((note, at))
        self._added.set()

    def hold(self, step: Note, at: datetime, seconds: float) -> None:
        """Has it written after so many seconds, unless it is to be left out by then."""
        self._held.append((self._clock.monotonic() + seconds, step, at))
        self._added.set()

    def drop(self, rank: Rank) -> Note | None:
        """The latest of this rank, which is told no more; None where there is none."""
        if rank is Rank.STEP and self._held:
            return self._held.pop()[1]
        return self._ready[rank].pop()[0] if self._ready[rank] else None

    async def run(self) -> None:
        """Writes recorded events, until cancelled."""
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
        while True:
            self._release_steps()
            for ready in self._ready.values():
                if ready:
                    return ready.popleft()
            now = self._clock.monotonic()
            dues = [queue[0][0] for queue in (self._counting, self._held) if queue]
            if self._counting and self._counting[0][0] <= now:
                return None
            self._added.clear()
            try:
                async with asyncio.timeout(min(dues) - now if dues else None):
                    await self._added.wait()
            except TimeoutError:
                continue

    def _release_steps(self) -> None:
        now = self._clock.monotonic()
        while self._held and self._held[0][0] <= now:
            _, step, at = self._held.popleft()
            if not self._left_out(step):
                self._ready[Rank.STEP].append((step, at))

    async def _tell(self, note: Note, at: datetime) -> None:
        now = self._clock.monotonic()
        self._burst.add((source_of(note), note.reason, note.message), now)
        told = self._told(note, now)
        known = told.last
        if known is not None and is_equal(_says(known.note), _says(note)):
            due = now + COUNT_SECONDS[note.type] if self._burst.is_there(now) else known.rests_until
            self._fold(known, note, at, None if note.rank is Rank.STEP and due > now else due)
        elif told.budget.take(now) or note.reason not in told.by_reason:
            await self._write(told, note, at)
        else:
            known = told.last = told.by_reason[note.reason]
            self._fold(known, note, at, max(now, known.rests_until - COUNT_SECONDS[note.type] + CHANGE_SECONDS))

    def _told(self, note: Note, now: float) -> _Told:
        source = source_of(note)
        told = self._sources.setdefault(source, _Told(Budget(BURST, now)))
        self._sources.move_to_end(source)
        if len(self._sources) > REMEMBERED:
            self._sources.popitem(last=False)
        return told

    def _fold(self, known: _Written, note: Note, at: datetime, due: float | None) -> None:
        """Counts `note` into an event that is there; when `due` has come, the server is told."""
        known.note = note
        known.last_at = at
        known.again += 1
        if due is not None and (known.due is None or due < known.due):
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
            await self._insist(lambda: self._client.patch(EVENTS, written.name, patch, written.namespace))
        except NotFound:
            written.name, written.namespace = await self._create(note, last_at)
            written.count = 1
        written.rests_until = self._clock.monotonic() + COUNT_SECONDS[note.type]

    async def _write(self, told: _Told, note: Note, at: datetime) -> None:
        name, namespace = await self._create(note, at)
        rests_until = self._clock.monotonic() + COUNT_SECONDS[note.type]
        told.last = told.by_reason[note.reason] = _Written(note, name, namespace, 1, rests_until)

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
        await self._insist(lambda: self._client.create(EVENTS, event, namespace))
        return name, namespace

    async def _insist(self, write: Callable[[], Awaitable[T]]) -> T:
        """Writes as soon as a server that has too much to do takes it. Raises: WorldError."""
        for _ in range(ATTEMPTS):
            try:
                return await write()
            except TooManyRequests as error:
                await asyncio.sleep(min(max(error.retry_after_seconds, 1), LONGEST_REST_SECONDS))
        return await write()


def _title(recorded: tuple[Note, datetime] | None) -> str:
    if recorded is None:
        return ""
    note, _ = recorded
    return f" {note.reason} of {note.about.kind} {note.about.name}"


def _says(note: Note) -> tuple[str, str, str]:
    return note.type, note.reason, note.message
