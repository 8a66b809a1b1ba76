"""A replica that stands by has read all that it will need: it takes over without a list, and knows what was written
last."""

import asyncio
from collections import Counter
from collections.abc import Callable

import pytest

from kubeapi.transport import Response
from kubeclient import Request
from kubecluster.journal import Write
from kubecluster.network import Answering
from kubeserver.handler import StreamResponse, User
from leeward.api.resource import WORKS
from leeward.manager.standby import LONGEST_STALL_SECONDS
from leeward.sim.world import CONTROLLERS, World
from tests.world.stories import DEPLOYMENTS, apply, by_weight, deployment, policy
from tests.world.test_leaders import JITTER, LEASE_SECONDS, RETRY_SECONDS, Replicas, play_two

APPLICATIONS = 4
WRITE_SECONDS = 0.4
"""Seconds for a write of a control plane that makes one write after the other."""
BEGINNING_SECONDS = 5.0
"""Seconds for reading what was written last, seeing oneself that the cluster fails, and the writes that are left."""
SELDOM_CHANGED = ("resourceinterpretercustomizations", "resourceinterpreterwebhookconfigurations")
"""Followed without bookmarks: what they were at is too old for a new watch, and they are few."""


class Asked:
    """Lists that controllers ask the control plane and the members for, and writes that came of what they did, but for
    those of leases; by path and by key."""

    def __init__(self, world: World) -> None:
        self.lists: Counter[str] = Counter()
        self.writes: Counter[str] = Counter()
        world.journal.on_write(self._written)
        places = {world.NAME: world.place, **{name: member.place for name, member in world.members.items()}}
        for name, place in places.items():

            def witness(request: Request, _: User, name: str = name) -> None:
                self._asked(name, request)

            place.witness = witness

    def _asked(self, place: str, request: Request) -> None:
        is_list = "limit" in request.query and "/leases" not in request.path
        if is_list and request.headers.get("user-agent") == CONTROLLERS:
            self.lists[f"{place}{request.path}"] += 1

    def _written(self, write: Write) -> None:
        if not write.record.key.startswith("/coordination.k8s.io/leases/"):
            self.writes[f"{write.place}{write.record.key}"] += 1


async def applications_run(world: World) -> None:
    for number in range(APPLICATIONS):
        placement = by_weight({"member1": 1, "member2": 1})
        await apply(world.client, deployment(f"web{number}", 2), policy(f"web{number}", placement))
    await world.until(lambda: moved(world, {"member1": 1, "member2": 1}) == APPLICATIONS, 60)
    await world.sleep(60)


def moved(world: World, to: dict[str, int]) -> int:
    return sum(world.assigned(f"web{number}-deployment") == to for number in range(APPLICATIONS))


def test_a_replica_that_stands_by_takes_over_without_a_list_and_writes_nothing() -> None:
    async def story(world: World, replicas: Replicas) -> None:
        await applications_run(world)
        asked = Asked(world)
        replicas.first.life.end()
        await replicas.taken_over_by(replicas.second)
        await world.sleep(60)
        assert not asked.writes
        assert [path for path in asked.lists if path.startswith(world.NAME) and not path.endswith(SELDOM_CHANGED)] == []
        await world.client.patch(DEPLOYMENTS, "web0", {"spec": {"replicas": 4}}, "default")
        await world.until(lambda: world.assigned("web0-deployment") == {"member1": 2, "member2": 2}, 10)

    play_two(story)


@pytest.mark.long
def test_s8_a_leader_that_dies_in_the_middle_of_a_failover_costs_no_more_than_its_lease() -> None:
    async def story(world: World, replicas: Replicas) -> None:
        await applications_run(world)
        turn = asyncio.Lock()

        async def audit(request: Request, answer: Callable[[], Answering]) -> Response | StreamResponse:
            if request.method == "GET" or "/leases/" in request.path:
                return await answer()
            async with turn:
                await asyncio.sleep(WRITE_SECONDS)
                return await answer()

        world.place.audit = audit
        world.member("member1").place.link.cut()
        await world.until(lambda: moved(world, {"member2": 2}) > 0, 1_200)
        assert moved(world, {"member2": 2}) < APPLICATIONS
        replicas.first.life.end()
        seconds = await world.until(lambda: moved(world, {"member2": 2}) == APPLICATIONS, 600)
        assert seconds <= LEASE_SECONDS + RETRY_SECONDS * JITTER + BEGINNING_SECONDS

    play_two(story)


def test_s5_a_replica_that_stood_still_reads_all_again() -> None:
    async def story(world: World, replicas: Replicas) -> None:
        await applications_run(world)
        replicas.second.life.pause()
        await world.sleep(2 * LONGEST_STALL_SECONDS)
        asked = Asked(world)
        replicas.second.life.resume()
        await world.sleep(5)
        assert f"{world.NAME}{WORKS.path('')}" in asked.lists
        assert not asked.writes

    play_two(story)


def test_s4_a_replica_that_stood_by_listens_before_it_believes_in_the_silence_of_an_agent() -> None:
    """The control plane is away for longer than the grace period, with its leader, and is back before the agent."""

    async def story(world: World, replicas: Replicas) -> None:
        grace = world.timing.cluster_monitor_grace_period
        await world.sleep(3 * grace)
        replicas.first.life.end()
        await world.stop_apiserver()
        world.members["member3"].agent_link.cut()
        await world.sleep(grace + 20)
        await world.start_apiserver()
        await replicas.taken_over_by(replicas.second)
        await world.sleep(grace / 4)
        world.members["member3"].agent_link.mend()
        for _ in range(60):
            assert world.is_ready("member3")
            await world.sleep(1)

    play_two(story)
