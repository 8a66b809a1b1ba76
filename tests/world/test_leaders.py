"""Two replicas of the controllers, of which one works: takeover, a leader that was paused, and no double act (S8)."""

from leeward.api.resource import LEASES
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import World
from tests.world.replicas import Replica
from tests.world.stories import DEPLOYMENTS, apply, by_weight, deployment, play, policy

LEASE_SECONDS, RETRY_SECONDS = 15, 2
JITTER = 1.1


async def two_replicas(world: World) -> tuple[Replica, Replica]:
    """The first leads."""
    await world.stop_controllers()
    first, second = (Replica(world, name, ManagerSettings()) for name in ("first", "second"))
    first.start()
    await world.sleep(1)
    second.start()
    await world.sleep(5)
    assert (first.leads, second.leads) == (True, False)
    return first, second


async def end(*replicas: Replica) -> None:
    for replica in replicas:
        replica.thaw()
        await replica.supervisor.close()


async def takeover(world: World, successor: Replica) -> float:
    """How long it takes until the successor leads."""
    started = world.seconds
    while not successor.leads:
        assert world.seconds < started + 60, "nobody takes over"
        await world.sleep(0.05)
    return world.seconds - started


def test_only_the_leader_writes() -> None:
    async def story(world: World) -> None:
        first, second = await two_replicas(world)
        await apply(world.client, deployment("web", 3), policy("web", by_weight({"member1": 1, "member2": 2})))
        await world.until(lambda: world.assigned("web-deployment") == {"member1": 1, "member2": 2}, 60)
        assert first.writes
        assert second.writes == []
        await end(first, second)

    play(story)


def test_s8_a_leader_that_dies_is_replaced_within_lease_and_retry() -> None:
    async def story(world: World) -> None:
        first, second = await two_replicas(world)
        first.freeze()
        assert await takeover(world, second) <= LEASE_SECONDS + RETRY_SECONDS * JITTER
        assert not first.leads
        await end(second, first)

    play(story)


def test_s8_a_leader_that_was_paused_does_nothing_that_it_had_begun_to_decide() -> None:
    async def story(world: World) -> None:
        first, second = await two_replicas(world)
        await apply(world.client, deployment("web", 3), policy("web", by_weight({"member1": 1, "member2": 2})))
        await world.until(lambda: world.assigned("web-deployment") == {"member1": 1, "member2": 2}, 60)
        await world.sleep(5)
        first.freeze()
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 6}}, "default")
        await takeover(world, second)
        await world.until(lambda: world.assigned("web-deployment") == {"member1": 2, "member2": 4}, 60)
        frozen_writes = len(first.writes)
        first.thaw()
        await world.sleep(60)
        assert first.refused, "it had writes in hand when it was paused"
        assert len(first.writes) == frozen_writes, "and sent none of them"
        assert (first.leads, second.leads) == (False, True)
        await end(first, second)

    play(story)


def test_a_leader_that_stops_cleanly_lets_the_next_one_work_at_once() -> None:
    async def story(world: World) -> None:
        first, second = await two_replicas(world)
        await first.supervisor.close()
        lease = await world.client.get(LEASES, "karmada-controller-manager", "karmada-system")
        assert lease.spec.holder_identity == ""
        assert await takeover(world, second) <= RETRY_SECONDS * JITTER + 0.1
        lease = await world.client.get(LEASES, "karmada-controller-manager", "karmada-system")
        assert (lease.spec.holder_identity, lease.spec.lease_transitions) == ("second", 1)
        await end(second)

    play(story)


def test_a_leader_whose_lease_is_lost_waits_and_leads_again() -> None:
    async def story(world: World) -> None:
        first, second = await two_replicas(world)
        first.freeze()
        await takeover(world, second)
        first.thaw()
        await world.sleep(30)
        second.freeze()
        assert await takeover(world, first) <= LEASE_SECONDS + RETRY_SECONDS * JITTER
        assert len(first.leads_since) == 2
        await end(first, second)

    play(story)


def test_a_control_plane_that_is_away_for_a_moment_costs_no_lease() -> None:
    async def story(world: World) -> None:
        first, second = await two_replicas(world)
        world.place.link.hang()
        await world.sleep(6)
        world.place.link.flow()
        await world.sleep(20)
        assert (first.leads, second.leads) == (True, False)
        assert len(first.leads_since) == 1
        await end(first, second)

    play(story)
