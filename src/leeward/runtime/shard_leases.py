"""Right to act for a shard: the shard's own Lease, and that of a leader which leaves the shard its work.

    shard's Lease     one process holds it, by the election of every leader
    leader's Lease    says how many shards there are; is read with each renewal, and never written here

So two processes never act for one object, whatever numbers of shards they were started with, and also beside a leader
that does all itself, be it Karmada's. A shard begins nothing (Holds: S8)

- before it has read the leader's Lease since it holds its own: a leader that wants to give its Lease back takes the
  sharding from it, and then asks for the shards' Leases; one of the two sees the other
- when the leader's Lease may have run out: it counts from the last look that did *not* show its latest renewal yet,
  so that it ends here before anybody may take it
While the leader's Lease has run out, writes wait. They go on where the next leader has the same sharding and followed
on the one before; where anybody else may have led between, all is begun anew.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from controller_runtime import LeaderElector, Leadership, Trouble
from kubeapi.core import LEASES, Lease, LeaseSpec
from kubeapi.loop import Clock, Supervisor
from kubeclient import Client, NotFound, WorldError
from leeward.runtime.shard_spread import ShardSpread
from leeward.runtime.sharding import LeaderSettings, Sharding

log = logging.getLogger(__name__)


class _Term(NamedTuple):
    """The leader's Lease when it told of the sharding last. `spec` is another one after each renewal."""

    uid: str
    spec: LeaseSpec

    def goes_on_in(self, later: "_Term") -> bool:
        """Tells whether nobody can have led between the two but their holders."""
        return self.uid == later.uid and 0 <= later.transitions - self.transitions <= 1

    @property
    def transitions(self) -> int:
        return self.spec.lease_transitions or 0


class LeaderWatch:
    """Follows the Lease `name` of a leader; `leadership` is for as long as that one surely leads with the sharding."""

    def __init__(self, client: Client, name: str, sharding: Sharding, clock: Clock, settings: LeaderSettings) -> None:
        self.leadership = Leadership(clock)
        self.interruptions = 0
        """Number of times that somebody may have led who leaves shards no work, or other ones."""
        self._client = client
        self._name = name
        self._sharding = sharding
        self._clock = clock
        self._settings = settings
        self._trouble = Trouble(log, f"lease {name}")
        self._term: _Term | None = None
        self._looked_at = float("-inf")
        self._looked = asyncio.Event()

    async def run(self) -> None:
        """Looks until cancelled."""
        while True:
            await self._look()
            self._looked.set()
            await asyncio.sleep(self._settings.retry_seconds)

    async def begins(self) -> None:
        """Returns when a look that was begun after this call has found the sharding in force."""
        since = self._clock.monotonic()
        while not (self.leadership.holds and self._looked_at >= since):
            await self._next_look()

    async def is_interrupted(self, before: int) -> None:
        """Returns when there were other interruptions than the number `before`."""
        while self.interruptions == before:
            await self._next_look()

    async def _next_look(self) -> None:
        self._looked.clear()
        await self._looked.wait()

    async def _look(self) -> None:
        started = self._clock.monotonic()
        try:
            async with asyncio.timeout(self._settings.renew_seconds):
                lease = await self._client.get(LEASES, self._name, self._settings.namespace)
        except NotFound:
            self._interrupt()
        except (WorldError, TimeoutError) as error:
            self._trouble.tell(error if isinstance(error, WorldError) else "no answer in time")
            return
        else:
            self._see(lease)
        self._trouble.is_over()
        self._looked_at = started

    def _see(self, lease: Lease) -> None:
        before, term = self._term, _Term(lease.metadata.uid, lease.spec)
        is_told = self._sharding.is_told_on(lease)
        is_another = before is not None and term.transitions != before.transitions
        if before is not None and (not before.goes_on_in(term) or (is_another and not is_told)):
            self._interrupt()
            before = None
        if not is_told:
            self.leadership.end()
            return
        self._term = term
        if before is not None and before.spec != term.spec:
            lasts = lease.spec.lease_duration_seconds or self._settings.lease_seconds
            self.leadership.extend(self._looked_at + lasts)

    def _interrupt(self) -> None:
        self.leadership.end()
        self._term = None
        self.interruptions += 1


class ShardElector:
    """One candidate for a shard. `slot` is elected for the shard's own Lease; without a `spread` whoever holds that
    keeps it."""

    def __init__(self, slot: LeaderElector, leader: LeaderWatch, spread: ShardSpread | None = None) -> None:
        self._slot = slot
        self._leader = leader
        self._spread = spread

    @property
    def leaderships(self) -> tuple[Leadership, Leadership]:
        """Leaderships that have to hold whenever a write is begun."""
        return self._slot.leadership, self._leader.leadership

    async def lead(self, work: Callable[[], Awaitable[None]]) -> None:
        """Does `work` while the shard is ours and the leader leaves it to us, until cancelled."""
        async with Supervisor("shard") as supervisor:
            watching = supervisor.start(self._leader.run(), "watch the leader")
            leading = supervisor.start(self._slot.lead(lambda: self._work_on(work)), "lead")
            tasks = [watching, leading]
            if self._spread is not None:
                tasks.append(supervisor.start(self._spread.run(), "spread"))
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()

    async def _work_on(self, work: Callable[[], Awaitable[None]]) -> None:
        """Anew after each interruption. Raises: errors of `work`."""
        while True:
            await self._leader.begins()
            before = self._leader.interruptions
            async with Supervisor("work of a shard") as supervisor:
                working = supervisor.start(_as_coroutine(work), "work")
                interrupted = supervisor.start(self._leader.is_interrupted(before), "interrupted")
                await asyncio.wait((working, interrupted), return_when=asyncio.FIRST_COMPLETED)
                if working.done():
                    working.result()


async def _as_coroutine(work: Callable[[], Awaitable[None]]) -> None:
    await work()
