"""Events of a cluster that comes and goes: each change of its state is told at once, in order, with its own time."""

from datetime import datetime, timedelta

import pytest

from kubeapi.core import EVENTS, Event
from leeward.sim.world import Mode, World
from tests.variants import mostly_long
from tests.world.stories import in_world

TWO: dict[str, Mode] = {"member1": "Push", "member2": "Pull"}
READY, LOST = "ClusterReady", {"member1": "ClusterNotReachable", "member2": "ClusterStatusUnknown"}
MOST_EVENTS = 60
"""Number of events of one cluster, in an hour of six outages: Ready, its taints, and its hold-down."""


async def events(world: World, cluster: str) -> list[Event]:
    """Events of a cluster, as `kubectl describe` sorts them: by when they were told last."""
    told = (await world.client.list(EVENTS, "default")).items
    mine = [e for e in told if (e.involved_object.kind, e.involved_object.name) == ("Cluster", cluster)]
    return sorted(mine, key=lambda event: (event.last_timestamp, int(event.metadata.resource_version)))


async def states(world: World, cluster: str) -> list[Event]:
    return [e for e in await events(world, cluster) if e.message.startswith("Ready is now")]


@pytest.mark.long
@pytest.mark.parametrize("name", mostly_long(TWO, "member1"))
@in_world(TWO)
async def test_six_outages_in_an_hour_are_six_times_lost_and_six_times_back(world: World, name: str) -> None:
    await world.sleep(60)
    before = len(await states(world, name))
    instants: list[datetime] = []

    async def becomes(ready: bool) -> None:
        await world.until(lambda: world.is_ready(name) == ready, 120)
        instants.append(world.clock.now())
        await world.sleep(1)
        assert (await states(world, name))[-1].reason == (READY if ready else LOST[name]), "told at once"

    for _ in range(6):
        await world.member(name).stop()
        await becomes(ready=False)
        await world.sleep(150)
        await world.member(name).start()
        await becomes(ready=True)
        await world.sleep(200)
    told = (await states(world, name))[before:]
    assert [event.reason for event in told] == [LOST[name], READY] * 6
    assert {event.count for event in told} == {1}
    for event, instant in zip(told, instants, strict=True):
        assert event.first_timestamp == event.last_timestamp
        assert event.last_timestamp is not None
        assert abs(event.last_timestamp - instant) <= timedelta(seconds=1)
    assert len(await events(world, name)) <= MOST_EVENTS
