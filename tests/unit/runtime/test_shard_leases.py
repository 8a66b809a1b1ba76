"""The right to act for a shard: as long as a leader surely leads that leaves the shard its work, and no longer."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from controller_runtime.leader import LeaderElector
from kubeapi.core import LEASES, NAMESPACES
from kubeapi.loop.randomness import Randomness
from leeward.api.names import SHARDS_ANNOTATION, SYSTEM_NAMESPACE
from leeward.runtime.shard_leases import LeaderWatch, ShardElector
from leeward.runtime.sharding import LeaderSettings, Sharding
from tests.kubecluster.runtime.small_world import CLOCK, SmallWorld
from tests.kubecluster.runtime.small_world import tell as tell_of_world

TWO, LEADER = Sharding(2), "leader"
SETTINGS = LeaderSettings()
LASTS, RETRY = SETTINGS.lease_seconds, SETTINGS.retry_seconds


class Office:
    """The Lease of a leader, as stories write it, and who watches it."""

    def __init__(self, world: SmallWorld) -> None:
        self.world = world
        self.renewals = 0
        self.watch = LeaderWatch(world.client, LEADER, TWO, CLOCK, SETTINGS)

    async def lease(
        self, holder: str = "a", told: str | None = "2/a", transitions: int | None = 0, lasts: int | None = 15
    ) -> None:
        """Renews it, or makes it."""
        self.renewals += 1
        wire: dict[str, Any] = {
            "metadata": {"name": LEADER, "annotations": {SHARDS_ANNOTATION: told}},
            "spec": {
                "holderIdentity": holder,
                "leaseTransitions": transitions,
                "leaseDurationSeconds": lasts,
                "renewTime": f"2026-01-01T00:00:00.{self.renewals:06}Z",
            },
        }
        if self.renewals == 1:
            wire["metadata"]["annotations"] = {SHARDS_ANNOTATION: told} if told else {}
            await self.world.direct.create(LEASES, wire, SYSTEM_NAMESPACE)
        else:
            await self.world.direct.patch(LEASES, LEADER, wire, SYSTEM_NAMESPACE)

    async def led(self) -> None:
        """Two renewals, each of which is looked at: who watches knows that the leader leads."""
        await self.lease()
        self.world.supervisor.start(self.watch.run(), "watch")
        await asyncio.sleep(RETRY / 2)
        await self.lease()
        await asyncio.sleep(RETRY)
        assert self.watch.leadership.holds

    async def holds_for(self) -> float:
        """Whole seconds from now until it holds no longer."""
        for seconds in range(100):
            if not self.watch.leadership.holds:
                return seconds
            await asyncio.sleep(1)
        raise AssertionError("it holds for ever")


def tell(story: Callable[[Office], Awaitable[None]]) -> None:
    async def prepared(world: SmallWorld) -> None:
        await world.direct.create(NAMESPACES, {"metadata": {"name": SYSTEM_NAMESPACE}})
        await story(Office(world))

    tell_of_world(prepared)


def test_what_is_read_first_may_be_old_and_holds_nothing_before_it_was_renewed_s8() -> None:
    async def story(office: Office) -> None:
        await office.lease()
        office.world.supervisor.start(office.watch.run(), "watch")
        await asyncio.sleep(10 * LASTS)
        assert not office.watch.leadership.holds
        await office.lease()
        await asyncio.sleep(RETRY + 0.1)
        assert office.watch.leadership.holds
        assert office.watch.interruptions == 0

    tell(story)


@pytest.mark.parametrize(("lasts", "seconds"), [(15, 15), (30, 30), (None, 15)])
def test_it_ends_with_the_lease_as_seen_by_the_last_look_before_the_renewal_s8(
    lasts: int | None, seconds: float
) -> None:
    """Renewed between the looks at 0 and at 2 seconds: the lease may be as old as the first of them."""

    async def story(office: Office) -> None:
        await office.lease(lasts=lasts)
        office.world.supervisor.start(office.watch.run(), "watch")
        await asyncio.sleep(RETRY - 0.1)
        await office.lease(lasts=lasts)
        await asyncio.sleep(0.2)
        assert await office.holds_for() == seconds - RETRY

    tell(story)


def test_looks_that_fail_end_nothing_before_its_time_and_prolong_nothing_s8() -> None:
    async def story(office: Office) -> None:
        await office.led()
        office.world.link.cut()
        await office.lease()
        assert await office.holds_for() == LASTS - RETRY - 1
        assert office.watch.interruptions == 0
        office.world.link.mend()
        await asyncio.sleep(SETTINGS.renew_seconds + 2 * RETRY)
        await office.lease()
        await asyncio.sleep(RETRY + 0.1)
        assert office.watch.leadership.holds

    tell(story)


@pytest.mark.parametrize(
    ("then", "interruptions"),
    [
        ({"told": None}, 0),
        ({"told": "3/a"}, 0),
        ({"holder": "b"}, 0),
        ({"holder": "b", "transitions": 1}, 1),
        ({"holder": "b", "told": "3/b", "transitions": 1}, 1),
        ({"holder": "b", "told": "2/b", "transitions": 2}, 1),
        ({"transitions": None, "told": None}, 0),
    ],
    ids=[
        "it takes its work back", "other shards", "the word of another", "one who leads alone",
        "another's other shards", "somebody between", "never led by another",
    ],
)  # fmt: skip
def test_who_leaves_a_shard_no_work_ends_it_at_once_s8(then: dict[str, Any], interruptions: int) -> None:
    async def story(office: Office) -> None:
        await office.led()
        await office.lease(**then)
        await asyncio.sleep(RETRY + 0.1)
        assert not office.watch.leadership.holds
        assert office.watch.interruptions == interruptions

    tell(story)


def test_one_who_follows_with_the_same_shards_goes_on() -> None:
    async def story(office: Office) -> None:
        await office.led()
        await office.lease("b", "2/b", transitions=1)
        await asyncio.sleep(RETRY + 0.1)
        assert office.watch.leadership.holds
        await office.lease("c", "2/c", transitions=2)
        await asyncio.sleep(RETRY + 0.1)
        assert office.watch.leadership.holds
        assert office.watch.interruptions == 0

    tell(story)


def test_a_count_of_leaders_that_goes_back_is_another_lease_s8() -> None:
    async def story(office: Office) -> None:
        await office.led()
        await office.lease("b", "2/b", transitions=1)
        await asyncio.sleep(RETRY + 0.1)
        await office.lease("a", "2/a", transitions=0)
        await asyncio.sleep(RETRY + 0.1)
        assert not office.watch.leadership.holds
        assert office.watch.interruptions == 1

    tell(story)


@pytest.mark.parametrize("seconds", [0, 2 * RETRY])
def test_a_lease_that_was_deleted_leaves_nothing_also_where_another_took_its_place_unseen_s8(seconds: float) -> None:
    async def story(office: Office) -> None:
        await office.led()
        await office.world.direct.delete(LEASES, LEADER, SYSTEM_NAMESPACE)
        await asyncio.sleep(seconds)
        office.renewals = 0
        await office.lease()
        await asyncio.sleep(RETRY + 0.1)
        assert not office.watch.leadership.holds
        assert office.watch.interruptions >= 1
        await office.lease()
        await asyncio.sleep(RETRY + 0.1)
        assert office.watch.leadership.holds

    tell(story)


def test_work_begins_with_a_look_that_was_begun_after_the_shards_own_lease_s8() -> None:
    """A Lease that was read before may have been taken back by its leader, which has asked for the shards' by now."""

    async def story(office: Office) -> None:
        await office.led()
        await asyncio.wait_for(office.watch.begins(), RETRY + 0.1)
        await asyncio.sleep(0.1)
        await office.lease(told=None)
        beginning = asyncio.create_task(office.watch.begins())
        await asyncio.sleep(10 * LASTS)
        assert not beginning.done(), "the look before it found the sharding in force"
        await office.lease()
        await asyncio.sleep(RETRY + 0.1)
        await office.lease()
        await asyncio.wait_for(beginning, RETRY + 0.1)

    tell(story)


def test_a_shard_works_while_both_leases_hold_and_begins_anew_after_an_interruption_s8() -> None:
    async def story(office: Office) -> None:
        begun: list[float] = []
        ended: list[float] = []

        async def work() -> None:
            begun.append(CLOCK.monotonic())
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(CLOCK.monotonic())

        slot = LeaderElector(office.world.client, TWO.lease_of(0), "me", CLOCK, Randomness(0), SETTINGS)
        elector = ShardElector(slot, office.watch)
        own, leader = elector.leaderships
        await office.lease()
        leading = asyncio.create_task(elector.lead(work))
        await asyncio.sleep(LASTS)
        assert own.holds
        assert not leader.holds
        assert begun == [], "the leader has not renewed its Lease since"
        await office.lease()
        await asyncio.sleep(2 * RETRY)
        assert (len(begun), len(ended), leader.holds) == (1, 0, True)
        await office.lease("b", None, transitions=1)
        await asyncio.sleep(2 * RETRY)
        assert (len(begun), len(ended), own.holds, leader.holds) == (1, 1, True, False)
        for _ in range(2):
            await office.lease("b", "2/b", transitions=1)
            await asyncio.sleep(2 * RETRY)
        assert (len(begun), len(ended)) == (2, 1)
        await office.lease("c", None, transitions=2)
        await asyncio.sleep(2 * RETRY)
        assert (len(begun), len(ended)) == (2, 2), "nor does it work on beside whoever leads next"
        for _ in range(2):
            await office.lease("c", "2/c", transitions=2)
            await asyncio.sleep(2 * RETRY)
        assert (len(begun), len(ended)) == (3, 2)
        leading.cancel()
        await asyncio.wait([leading])
        assert len(ended) == 3
        assert not own.holds

    tell(story)


def test_work_that_fails_is_told() -> None:
    async def story(office: Office) -> None:
        async def work() -> None:
            raise ValueError("it broke")

        slot = LeaderElector(office.world.client, TWO.lease_of(0), "me", CLOCK, Randomness(0), SETTINGS)
        await office.lease()
        leading = asyncio.create_task(ShardElector(slot, office.watch).lead(work))
        await asyncio.sleep(RETRY)
        await office.lease()
        await asyncio.wait([leading], timeout=10 * LASTS)
        assert "it broke" in repr(leading.exception())

    tell(story)
