"""Two replicas of the agent of one member, of which one works: takeover, pauses, cuts, and Karmada's agent beside ours.

Whoever begins a write that is fenced holds the lease at that moment, as the control plane has it stored (S8).
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from controller_runtime.leader import READING, FencedTransport, LeaderElector, Leadership
from kubeapi import codec
from kubeapi.core import LEASES
from kubeapi.loop.supervisor import Supervisor
from kubeclient import Client, Request, Transport
from kubeclient.updating import UpdatingTransport
from kubecluster.network import Link, LinkedTransport
from kubeserver.handler import User
from leeward.agent.agent import Agent
from leeward.agent.registration import Registration
from leeward.agent.replica import AgentReplica
from leeward.api.names import AGENT_GROUP, AGENT_USER_PREFIX, CLUSTER_NAMESPACE, SYSTEM_NAMESPACE, lease_of_agent
from leeward.manager.member_side import MemberSide
from leeward.runtime.controller_context import Member
from leeward.runtime.metrics import Metrics
from leeward.runtime.sharding import LeaderSettings
from leeward.sim.world import ADMIN, World
from simulator.candidate import Fence, ToldTransport
from tests.migration.joining_agent import JoiningAgent
from tests.world.stories import DEPLOYMENTS, apply, by_weight, deployment, in_world, play, policy, ready_replicas

MEMBER = "member3"
LEASE = lease_of_agent(MEMBER)
USER = User(AGENT_USER_PREFIX + MEMBER, (AGENT_GROUP, "system:authenticated"))
LEASE_SECONDS, RETRY_SECONDS = 15, 2
TAKEOVER_SECONDS = LEASE_SECONDS + RETRY_SECONDS * 1.1
GRACE_SECONDS = 40


def watched(inner: Transport, leadership: Leadership | None, replica: "Replica") -> Transport:
    """A fence whose every write is told before it is sent, and which counts what it refuses."""
    told = ToldTransport(inner, replica.begun)
    return Fence(told if leadership is None else FencedTransport(told, leadership), replica)


class Replica:
    """One process. `writes` counts what it has sent behind its fence, by path; `home` is its way to the control plane,
    `doubles` what it began while somebody else held the lease."""

    def __init__(self, world: World, name: str) -> None:
        self.name = name
        self.writes: Counter[str] = Counter()
        self.refused = 0
        self.doubles: list[str] = []
        self.home = Link()
        self.is_ready = False
        self._world = world
        self.life = world.begin_life(name)
        self._supervisor = Supervisor(name)
        client = Client(UpdatingTransport(LinkedTransport(world.place, USER, self.home)), name)
        member = Client(LinkedTransport(world.member(MEMBER).place, ADMIN), name)
        self._elector = LeaderElector(client, LEASE, name, world.clock, world.randomness, LeaderSettings())
        registration = Registration(MEMBER, client, member, world.clock)
        self._replica = AgentReplica(registration, self._make, self._elector, Metrics())

    @property
    def leads(self) -> bool:
        return self._elector.leadership.holds

    @property
    def sent(self) -> int:
        return self.writes.total()

    def start(self) -> None:
        self.life.context().run(self._supervisor.start, self._replica.run(self._ready), "replica")

    async def stop(self) -> None:
        """Stops in order, as on SIGTERM."""
        await self._world.ended(self.life, self._supervisor.close())

    def begun(self, request: Request) -> None:
        if request.method not in READING and not self.life.ended:
            self.writes[request.path] += 1
            if holder_of_lease(self._world) != self.name:
                self.doubles.append(f"{self._world.seconds:.1f} s: {request.method} {request.path}")

    def _ready(self) -> None:
        self.is_ready = True

    def _make(self, supervisor: Supervisor, leadership: Leadership | None) -> Agent:
        world = self._world
        home = watched(LinkedTransport(world.place, USER, self.home), leadership, self)
        there = watched(LinkedTransport(world.member(MEMBER).place, ADMIN), leadership, self)
        plane = world.plane(Client(UpdatingTransport(home), self.name), supervisor)
        member = Member.of(MEMBER, Client(there, self.name), world.randomness, supervisor)
        return Agent(plane, member, MemberSide(world.timing))


def holder_of_lease(world: World) -> str:
    """Holder as the control plane has it stored now."""
    assert world.store is not None
    record = world.store.head(f"/{LEASES.group}/{LEASES.plural}/{SYSTEM_NAMESPACE}/{LEASE}")
    return "" if record is None else codec.decode_manifest(record.value)["spec"]["holderIdentity"]


def play_two(story: Callable[[World, Replica, Replica], Awaitable[None]]) -> None:
    """The agent of `member3` is two replicas, of which the first leads; nothing is begun twice, to the end."""

    async def played(world: World) -> None:
        await world.member(MEMBER).stop_agent()
        first, second = (Replica(world, name) for name in ("first", "second"))
        first.start()
        await world.sleep(1)
        second.start()
        await world.sleep(5)
        assert [(each.leads, each.is_ready) for each in (first, second)] == [(True, True), (False, True)]
        await story(world, first, second)
        assert first.doubles == second.doubles == []
        for replica in (first, second):
            replica.life.end()

    play(played)


async def taken_over_by(world: World, successor: Replica) -> float:
    """Seconds that it takes until the successor leads."""
    started = world.seconds
    while not successor.leads:
        assert world.seconds < started + 60, "nobody takes over"
        await world.sleep(0.05)
    return world.seconds - started


async def web_runs(world: World, name: str = "web") -> None:
    await apply(world.client, deployment(name, 2), policy(name, by_weight({MEMBER: 1})))
    async with asyncio.timeout(60):
        while await ready_replicas(world, MEMBER, name) != 2:
            await world.sleep(0.5)


def test_only_the_holder_works_and_renews_the_heartbeat() -> None:
    async def story(world: World, first: Replica, second: Replica) -> None:
        await web_runs(world)
        await world.sleep(60)
        assert first.writes[f"/apis/coordination.k8s.io/v1/namespaces/{CLUSTER_NAMESPACE}/leases/{MEMBER}"] >= 6
        assert second.sent == second.refused == 0

    play_two(story)


def test_s8_an_agent_that_dies_is_replaced_before_its_cluster_is_missed() -> None:
    async def story(world: World, first: Replica, second: Replica) -> None:
        await web_runs(world)
        first.life.end()
        assert await taken_over_by(world, second) <= TAKEOVER_SECONDS
        await web_runs(world, "api")
        started = world.seconds
        while world.seconds < started + 2 * GRACE_SECONDS:
            assert world.is_ready(MEMBER)
            await world.sleep(1)
        assert world.taints(MEMBER) == set()

    play_two(story)


def test_s8_an_agent_that_was_paused_sends_nothing_of_what_it_was_about_to_do() -> None:
    async def story(world: World, first: Replica, second: Replica) -> None:
        await web_runs(world)
        first.life.pause()
        sent = first.sent
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 5}}, "default")
        await taken_over_by(world, second)
        await world.sleep(20)
        assert await ready_replicas(world, MEMBER, "web") == 5
        first.life.resume()
        await world.sleep(60)
        assert first.refused, "it wants to write what came while it was paused"
        assert first.sent == sent, "and sends nothing of it"
        assert (first.leads, second.leads) == (False, True)

    play_two(story)


def test_s8_an_agent_without_its_control_plane_leaves_the_member_to_the_other() -> None:
    async def story(world: World, first: Replica, second: Replica) -> None:
        await web_runs(world)
        first.home.cut()
        await taken_over_by(world, second)
        sent = first.sent
        await world.member(MEMBER).client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(30)
        assert await ready_replicas(world, MEMBER, "web") == 2, "the other brings it back"
        assert first.sent == sent
        first.home.mend()
        second.life.end()
        assert await taken_over_by(world, first) <= TAKEOVER_SECONDS
        await web_runs(world, "api")
        assert world.is_ready(MEMBER)

    play_two(story)


def test_an_agent_that_stops_cleanly_lets_the_other_work_at_once() -> None:
    async def story(world: World, first: Replica, second: Replica) -> None:
        await first.stop()
        assert await taken_over_by(world, second) <= RETRY_SECONDS * 1.1 + 0.1

    play_two(story)


@pytest.mark.parametrize("replicas", [1, 2])
@in_world()
async def test_ours_waits_for_karmadas_agent_and_works_when_that_is_gone(world: World, replicas: int) -> None:
    await world.member(MEMBER).stop_agent()
    theirs = JoiningAgent(Client(LinkedTransport(world.place, USER)), MEMBER, world.clock.now)
    await theirs.lead()
    ours = [Replica(world, f"ours {number}") for number in range(replicas)]
    for replica in ours:
        replica.start()
    for _ in range(30):
        await world.sleep(2)
        await theirs.lead()
    assert all(replica.is_ready for replica in ours)
    assert [replica.sent for replica in ours] == [0] * replicas
    await world.sleep(TAKEOVER_SECONDS)
    assert sum(replica.leads for replica in ours) == 1
    await world.until(lambda: world.is_ready(MEMBER), 30)
    assert sum(replica.sent > 0 for replica in ours) == 1
    assert [replica.doubles for replica in ours] == [[]] * replicas
    for replica in ours:
        replica.life.end()
