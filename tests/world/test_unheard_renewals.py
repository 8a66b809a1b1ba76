"""Renewals of an agent's Lease that our own watch does not tell: trouble on our way is nobody's silence."""

import random

from kubecluster.network_faults import FaultProfile, NetworkFaults
from leeward.sim.member import agent_of
from leeward.sim.world import CONTROLLERS, World
from tests.world.stories import apply, deployment, in_world, policy, tasks
from tests.world.test_detection import answers, status
from tests.world.test_ownership import on
from tests.world.test_restored import PULLED, WEB

LEASES = "/namespaces/karmada-cluster/leases"


def tells_no_leases(world: World) -> None:
    """Streams of the controllers break, and nobody may list Leases; one by its name is answered."""
    world.link(CONTROLLERS, world.NAME).faults = NetworkFaults(FaultProfile(breaks=1.0), random.Random(1))
    failed = status(500, "InternalError")
    answers(world.place, lambda request: failed if request.method == "GET" and request.path.endswith(LEASES) else None)


@in_world(PULLED)
async def test_s13_an_agent_whose_renewals_are_not_heard_is_not_silent(world: World) -> None:
    await apply(world.client, deployment("web", 2), policy("web", on("member1")))
    await world.sleep(60)
    tells_no_leases(world)
    for _ in range(30):
        await world.sleep(10)
        assert world.is_ready("member1")
    assert tasks(world, WEB) == []


@in_world(PULLED)
async def test_s8_an_agent_that_is_silent_is_found_so_though_the_watch_says_nothing(world: World) -> None:
    tells_no_leases(world)
    world.link(agent_of("member1"), world.NAME).cut()
    await world.sleep(100)
    assert not world.is_ready("member1")
    assert world.is_ready("member2")
