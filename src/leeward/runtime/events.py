"""Kubernetes events: the story that `kubectl describe` tells.

Equal events of one object are counted up instead of written again. Recording never waits and never fails its caller:
the buffer is bounded, and what does not fit is dropped with a line in the log.
"""

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass

import msgspec

from leeward.api.core import Event, EventSource, ObjectReference
from leeward.api.meta import ObjectMeta, format_time, wire_time
from leeward.api.resource import EVENTS
from leeward.client import Client, NotFound, WorldError
from leeward.loop.clock import Clock
from leeward.loop.randomness import Randomness

log = logging.getLogger(__name__)

BUFFER = 10_000
REMEMBERED = 4_096
NORMAL, WARNING = "Normal", "Warning"


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
    name: str
    namespace: str
    count: int


class EventRecorder:
    """Start `run` as a task."""

    def __init__(self, client: Client, clock: Clock, randomness: Randomness) -> None:
        self._client = client
        self._clock = clock
        self._randomness = randomness
        self._notes: asyncio.Queue[Note] = asyncio.Queue(BUFFER)
        self._written: OrderedDict[tuple[ObjectReference, str, str, str], _Written] = OrderedDict()

    def record(self, note: Note) -> None:
        name = f"{note.about.namespace}/{note.about.name}" if note.about.namespace else note.about.name
        log.info("%s %s: %s: %s", note.about.kind, name, note.reason, note.message)
        try:
            self._notes.put_nowait(note)
        except asyncio.QueueFull:
            log.warning("dropped event %s of %s %s", note.reason, note.about.kind, note.about.name)

    async def run(self) -> None:
        """Writes what was recorded, until cancelled."""
        while True:
            note = await self._notes.get()
            try:
                await self._write(note)
            except WorldError as error:
                log.warning("event %s of %s %s is lost: %s", note.reason, note.about.kind, note.about.name, error)
            except Exception:
                log.exception("event %s of %s %s is lost", note.reason, note.about.kind, note.about.name)

    async def _write(self, note: Note) -> None:
        key = msgspec.structs.replace(note.about, resource_version=""), note.component, note.reason, note.message
        known = self._written.get(key)
        if known is not None and await self._count_up(known):
            self._written.move_to_end(key)
            return
        self._written[key] = await self._create(note)
        if len(self._written) > REMEMBERED:
            self._written.popitem(last=False)

    async def _count_up(self, written: _Written) -> bool:
        patch = {"count": written.count + 1, "lastTimestamp": format_time(self._clock.now())}
        try:
            await self._client.patch(EVENTS, written.name, patch, written.namespace)
        except NotFound:
            return False
        written.count += 1
        return True

    async def _create(self, note: Note) -> _Written:
        namespace = note.about.namespace or "default"
        name = f"{note.about.name}.{self._randomness.token()[:16]}"
        now = wire_time(self._clock.now())
        event = Event(
            metadata=ObjectMeta(name=name, namespace=namespace),
            involved_object=note.about,
            type=note.type,
            reason=note.reason,
            message=note.message[:1024],
            source=EventSource(component=note.component),
            reporting_component=note.component,
            first_timestamp=now,
            last_timestamp=now,
            count=1,
        )
        await self._client.create(EVENTS, event, namespace)
        return _Written(name, namespace, 1)
