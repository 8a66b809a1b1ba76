"""Kubernetes events: the story that `kubectl describe` tells.

A few lanes write at once (`event_lane.py`); what one source tells, a component of an object, is written by one of them,
in its order. While others wait, what has become of applications and clusters goes first, and steps on the way last.

In a burst of a namespace its steps are left out, in the log as well: nobody reads how each of two hundred applications
came where it is, and what became of it is told. As the first of a burst are not known to be such, steps are held for a
moment. Who deploys one application in another namespace meanwhile finds all steps of it.

Recording never waits and never fails its caller: what waits is bounded, and past that the last of the least is dropped,
with a line in the log.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Iterable
from zlib import crc32

from controller_runtime.burst_detector import BurstDetectors
from controller_runtime.event_lane import EventLane
from controller_runtime.notes import NORMAL, WARNING, Note, Rank, source_of
from kubeapi.loop import Clock, Randomness
from kubeclient import Client

__all__ = ["NORMAL", "WARNING", "EventRecorder", "Note", "Rank"]

log = logging.getLogger(__name__)

BUFFER = 50_000
"""Room for ten events of each of 5,000 applications."""
LANES = 4
"""Number of events that are written at once."""
BURST_SIZE, BURST_SECONDS = 16, 10.0
"""Steps of so many objects of a kind, in a namespace, within this time are a burst of the namespace, until there have
been fewer for as long."""
HELD_SECONDS = 0.5


class EventRecorder:
    """Start `run` as a task."""

    def __init__(self, client: Client, clock: Clock, randomness: Randomness) -> None:
        self._clock = clock
        self._lanes = [EventLane(client, clock, randomness, self._is_burst) for _ in range(LANES)]
        self._bursts = BurstDetectors(BURST_SIZE, BURST_SECONDS)
        self._burst_until: OrderedDict[str, float] = OrderedDict()
        """Instants by namespace, the earliest first; those that have passed are dropped."""
        self._expected_until = float("-inf")

    def record(self, note: Note) -> None:
        if note.rank is Rank.STEP and self._is_one_of_many(note):
            return
        about = note.about
        name = f"{about.namespace}/{about.name}" if about.namespace else about.name
        log.info("%s %s: %s: %s", about.kind, name, note.reason, note.message)
        if sum(lane.waiting for lane in self._lanes) >= BUFFER and not self._make_room(note.rank):
            _dropped(note)
            return
        lane, now = self._lanes[_digest(note) % LANES], self._clock.now()
        if note.rank is Rank.STEP:
            lane.hold(note, now, HELD_SECONDS)
        else:
            lane.add(note, now)

    def expect_burst(self, namespaces: Iterable[str]) -> None:
        """Has the steps of these namespaces count as those of a burst: who decides about many at once knows it before
        the first of them."""
        for namespace in namespaces:
            self._expected_until = self._begin_burst(namespace)

    def expects_burst(self) -> bool:
        """Tells whether a burst was announced a moment ago."""
        return self._clock.monotonic() < self._expected_until

    async def run(self) -> None:
        """Writes recorded events, until cancelled."""
        await asyncio.gather(*(lane.run() for lane in self._lanes))

    def _is_one_of_many(self, step: Note) -> bool:
        about, namespace = step.about, step.concerned
        if self._bursts.add((namespace, about.kind), (about.namespace, about.name), self._clock.monotonic()):
            self._begin_burst(namespace)
        return self._is_burst(step)

    def _begin_burst(self, namespace: str) -> float:
        """Returns when it ends."""
        now = self._clock.monotonic()
        while self._burst_until and next(iter(self._burst_until.values())) <= now:
            self._burst_until.popitem(last=False)
        self._burst_until[namespace] = now + BURST_SECONDS
        self._burst_until.move_to_end(namespace)
        return now + BURST_SECONDS

    def _is_burst(self, step: Note) -> bool:
        return self._clock.monotonic() < self._burst_until.get(step.concerned, float("-inf"))

    def _make_room(self, rank: Rank) -> bool:
        """Drops something of less importance. Returns whether there was something."""
        lesser = (each for each in reversed(Rank) if each > rank)
        least = next((note for each in lesser for lane in self._lanes if (note := lane.drop(each)) is not None), None)
        if least is not None:
            _dropped(least)
        return least is not None


def _dropped(note: Note) -> None:
    log.warning("dropped event %s of %s %s", note.reason, note.about.kind, note.about.name)


def _digest(note: Note) -> int:
    """Digest that is the same in each process, so that a history that is played again is the same."""
    return crc32("\n".join(source_of(note)).encode())
