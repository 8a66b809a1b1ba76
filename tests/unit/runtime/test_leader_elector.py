"""The lease of a leader: it counts from the moment at which it was asked for, not from the answer (S8)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import pytest

from controller_runtime.leader import READING, LeaderElector
from kubeapi.core import NAMESPACES
from kubeapi.loop.randomness import Randomness
from kubeclient import Client, Request, Response, Transport, Unreachable
from leeward.api.names import SYSTEM_NAMESPACE
from leeward.runtime.sharding import LeaderSettings
from tests.kubecluster.runtime.small_world import CLOCK, SmallWorld
from tests.kubecluster.runtime.small_world import tell as tell_of_world

SETTINGS = LeaderSettings(lease_seconds=15, renew_seconds=14.5, retry_seconds=2)
ANSWER_SECONDS = 4.0


class SlowAnswers:
    """A transport by which writes arrive at once, and their answers late. After `writes` of them it breaks."""

    def __init__(self, inner: Transport, writes: int) -> None:
        self._inner = inner
        self._left = writes
        self.begun = list[float]()
        """Instants at which the writes were sent."""
        self.all_begun = asyncio.Event()

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        if self._left == 0:
            raise Unreachable("cut")
        if request.method in READING:
            return await self._inner.send(request, timeout_seconds=timeout_seconds)
        self._left -= 1
        self.begun.append(CLOCK.monotonic())
        if self._left == 0:
            self.all_begun.set()
        answer = await self._inner.send(request, timeout_seconds=timeout_seconds)
        await asyncio.sleep(ANSWER_SECONDS)
        return answer

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


async def _work() -> None:
    await asyncio.Event().wait()


def tell(writes: int, story: Callable[[LeaderElector, SlowAnswers], Awaitable[None]]) -> None:
    """Plays a story beside a candidate that writes its Lease so often, and then reaches nobody."""

    async def prepared(world: SmallWorld) -> None:
        await world.direct.create(NAMESPACES, {"metadata": {"name": SYSTEM_NAMESPACE}})
        slow = SlowAnswers(world.transport, writes)
        elector = LeaderElector(Client(slow), "leader", "me", CLOCK, Randomness(0), SETTINGS)
        world.supervisor.start(elector.lead(_work), "leader")
        await story(elector, slow)

    tell_of_world(prepared)


@pytest.mark.parametrize("writes", [1, 2])
def test_s8_a_lease_whose_answer_was_late_ends_a_lease_after_it_was_asked_for(writes: int) -> None:
    """The first write takes the lease, the second renews it."""

    async def story(elector: LeaderElector, slow: SlowAnswers) -> None:
        await slow.all_begun.wait()
        ends_at = slow.begun[-1] + SETTINGS.lease_seconds
        await asyncio.sleep(ends_at - 0.2 - CLOCK.monotonic())
        assert elector.leadership.holds
        await asyncio.sleep(0.2)
        assert not elector.leadership.holds, "another may take it by now"

    tell(writes, story)


def test_s8_nothing_is_held_before_the_answer() -> None:
    async def story(elector: LeaderElector, slow: SlowAnswers) -> None:
        await asyncio.sleep(ANSWER_SECONDS / 2)
        assert slow.begun
        assert not elector.leadership.holds

    tell(1, story)
