"""Outages: processes stop, die and come back, and what they store is lost or old. It never touches a link."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine

from kubeapi.loop import Life, Supervisor
from kubeclient import WorldError
from kubeserver.store.medium import Loaded, MediumFailed
from leeward.api.names import CONFIRMED_IDENTITY_ANNOTATION
from leeward.api.resource import CLUSTERS
from leeward.runtime.sharding import Sharding
from leeward.sim.member import SimulatedMember
from leeward.sim.world import World
from simulator.candidate import Begun, Candidate, ShardCandidate
from simulator.histories.faults.holds import Holds
from simulator.histories.model import (
    AgentIsKilled,
    AnyFault,
    ApiServerIsKilled,
    ControllersAreKilled,
    HubIsRestored,
    HubIsSuspended,
    LeaderIsPaused,
    MemberComesBackOld,
    MemberIsKilled,
    MemberLosesData,
    MemberShrinks,
    MemberStops,
    ShardIsPaused,
    TwoLeaders,
)
from simulator.histories.persistent_client import PersistentClient
from simulator.histories.rare import RareSituations

RESTART_SECONDS = 1.0
TWO = Sharding(2)
KILLED_AT_AN_AWAIT = "killed at an await"


class Outages:
    """`rare` is told of who dies at what moment; `begun` sees what replicas write."""

    def __init__(self, world: World, holds: Holds, rare: RareSituations, begun: Begun) -> None:
        self._world = world
        self._holds = holds
        self._rare = rare
        self._begun = begun
        self._locks: dict[str, asyncio.Lock] = {}
        self._rebuilt: set[str] = set()
        """Members that were rebuilt: a hub that is restored has forgotten that this was accepted."""
        self._nodes = {name: member.nodes for name, member in world.members.items()}

    def of(self, fault: AnyFault) -> Coroutine[None, None, None] | None:
        """Course of the fault, until it is over; None where it is no outage."""
        member = self._world.member
        match fault:
            case MemberStops(member=name):
                return self._stop(member(name), fault.lasts)
            case MemberIsKilled(member=name):
                return self._kill_member(member(name), fault)
            case AgentIsKilled(member=name):
                return self._kill_agent(member(name), fault)
            case MemberLosesData(member=name):
                return self._lose_data(member(name), fault.lasts)
            case MemberComesBackOld(member=name):
                return self._come_back_old(member(name), fault.lasts)
            case MemberShrinks(member=name):
                return self._shrink(member(name), fault)
            case _:
                return self._of_hub(fault)

    def _of_hub(self, fault: AnyFault) -> Coroutine[None, None, None] | None:
        match fault:
            case ControllersAreKilled():
                return self._kill_controllers(fault)
            case HubIsSuspended():
                return self._suspend_hub(fault.lasts)
            case LeaderIsPaused():
                return self._pause_leader(fault)
            case ShardIsPaused():
                return self._pause_shard(fault)
            case TwoLeaders():
                return self._add_leader(fault.lasts)
            case ApiServerIsKilled():
                return self._kill_apiserver(fault)
            case HubIsRestored():
                return self._restore_hub(fault)
            case _:
                return None

    async def heal(self) -> None:
        """Heals all: everything runs, and with as many nodes as in the beginning."""
        world = self._world
        world.controllers_life.resume()
        await self._up("apiserver", lambda: world.apiserver_is_up, self._start_apiserver)
        await self._up("controllers", lambda: world.controllers_are_up, self._start_controllers)
        for name, member in world.members.items():
            if member.nodes != self._nodes[name]:
                member.nodes = self._nodes[name]
                await member.stop_apiserver()
            await self._let_up(member)
        for name in sorted(self._rebuilt):
            await self._confirm(world.member(name))

    async def _stop(
        self, member: SimulatedMember, seconds: float, meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        self._holds.hold(member.name)
        async with self._lock(member.name):
            await member.stop()
        await asyncio.sleep(seconds)
        if self._holds.healed:
            return
        async with self._lock(member.name):
            if not member.is_up:
                meanwhile()
        self._holds.let_go(member.name)
        await self._let_up(member)

    async def _lose_data(self, member: SimulatedMember, seconds: float) -> None:
        """Rebuilds it under its name, with nothing in it; somebody knows of that, and accepts it."""
        await self._stop(member, seconds, lambda: member.medium.replace(Loaded((), 0)))
        self._rebuilt.add(member.name)
        await self._confirm(member)

    async def _confirm(self, member: SimulatedMember) -> None:
        annotations = {CONFIRMED_IDENTITY_ANNOTATION: member.identity}
        await PersistentClient(self._world).patch(CLUSTERS, member.name, {"metadata": {"annotations": annotations}}, "")

    async def _kill_member(self, member: SimulatedMember, fault: MemberIsKilled) -> None:
        self._holds.hold(member.name)
        await self._kill(member.life if member.is_up else None, fault, member.crash_apiserver)
        self._holds.let_go(member.name)
        await self._let_up(member)

    async def _kill_agent(self, member: SimulatedMember, fault: AgentIsKilled) -> None:
        if member.mode == "Push":
            return
        self._holds.hold(member.name)
        await self._kill(member.agent_life if member.agent_is_up else None, fault, member.crash_agent)
        self._holds.let_go(member.name)
        await self._let_up(member)

    async def _kill_controllers(self, fault: ControllersAreKilled) -> None:
        world = self._world
        self._holds.hold("controllers")
        life = world.controllers_life if world.controllers_are_up else None
        await self._kill(life, fault, self._crash_controllers)
        self._holds.let_go("controllers")
        await self._up("controllers", lambda: world.controllers_are_up, self._start_controllers)

    async def _suspend_hub(self, seconds: float) -> None:
        life = self._world.controllers_life
        life.pause()
        await asyncio.sleep(seconds)
        life.resume()

    async def _pause_leader(self, fault: LeaderIsPaused) -> None:
        """Pauses the leader. While replicas compete, the controllers that know of no lease are gone."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + fault.lasts
        self._make_room()
        replicas = [Candidate(self._world, f"replica {number}", self._begun) for number in (1, 2)]
        for replica in replicas:
            replica.start()
        await asyncio.sleep(fault.after)
        leader = next((replica for replica in replicas if replica.leads), replicas[0])
        leader.life.pause()
        await asyncio.sleep(fault.pause_seconds)
        if not leader.leads:
            self._rare.told("a leader goes on when its lease has ended")
        leader.life.resume()
        await asyncio.sleep(max(0.0, ends_at - loop.time()))
        for replica in replicas:
            replica.life.end()
        if leader.refused:
            self._rare.told("a write is not begun because the lease has ended")
        self._holds.let_go("controllers")
        await self._up("controllers", lambda: self._world.controllers_are_up, self._start_controllers)

    async def _pause_shard(self, fault: ShardIsPaused) -> None:
        """Candidates of the same lease are named alike; which of them is first, their beginning decides."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + fault.lasts
        self._make_room()
        shards = [self._shard(index, turn) for turn in (1, 2) for index in range(TWO.shards)]
        leaders = [
            Candidate(self._world, "replica 1", self._begun, TWO),
            Candidate(self._world, "replica 2", self._begun, None if fault.undivided else TWO),
        ]
        for process in (*leaders, *shards):
            process.start()
        await asyncio.sleep(fault.after)
        kin = leaders if fault.who == "leader" else [each for each in shards if each.name.startswith(fault.who)]
        paused = next((each for each in kin if each.leads), kin[0])
        paused.life.pause()
        await asyncio.sleep(fault.pause_seconds)
        if paused in shards and not paused.leads and any(each.leads for each in kin):
            self._rare.told("a shard goes on when another acts for it")
        paused.life.resume()
        await asyncio.sleep(max(0.0, ends_at - loop.time()))
        for process in (*leaders, *shards):
            process.life.end()
        if any(shard.refused for shard in shards):
            self._rare.told("a shard does not begin a write that it may not")
        self._holds.let_go("controllers")
        await self._up("controllers", lambda: self._world.controllers_are_up, self._start_controllers)

    def _shard(self, index: int, turn: int) -> ShardCandidate:
        return ShardCandidate(self._world, f"shard {index}, candidate {turn}", self._begun, index, TWO)

    def _make_room(self) -> None:
        """Ends the controllers that know of no lease."""
        self._holds.hold("controllers")
        self._world.controllers_life.end()
        self._world.crash_controllers()

    async def _add_leader(self, seconds: float) -> None:
        """Another set of controllers beside the first, as for a moment after a leader has lost its lease."""
        life = self._world.begin_life("other controllers")
        life.context().run(self._world.start_manager, Supervisor("other controllers"), lambda transport: transport)
        await asyncio.sleep(seconds)
        life.end()

    async def _kill_apiserver(self, fault: ApiServerIsKilled) -> None:
        world = self._world
        self._holds.hold("apiserver")
        life = world.life if world.apiserver_is_up else None
        await self._kill(life, fault, lambda: self._crash_apiserver(power_cut=fault.power_cut))
        self._holds.let_go("apiserver")
        await self._up("apiserver", lambda: world.apiserver_is_up, self._start_apiserver)

    async def _restore_hub(self, fault: HubIsRestored) -> None:
        world = self._world
        backup, taken_at = world.medium.durable(), world.seconds
        await asyncio.sleep(fault.lasts - fault.down_seconds)
        if self._holds.healed:
            return
        stopped = ("apiserver",) if fault.controllers_stay else ("apiserver", "controllers")
        for what in stopped:
            self._holds.hold(what)
        if not fault.controllers_stay and world.controllers_are_up:
            world.crash_controllers()
        if world.apiserver_is_up:
            world.crash_apiserver()
        await asyncio.sleep(fault.down_seconds)
        if self._holds.healed:
            return
        world.medium.restore(backup, taken_at)
        self._holds.let_go("apiserver")
        await self._up("apiserver", lambda: world.apiserver_is_up, self._start_apiserver)
        if not fault.controllers_stay:
            await asyncio.sleep(fault.controllers_after)
            self._holds.let_go("controllers")
        await self._up("controllers", lambda: world.controllers_are_up, self._start_controllers)

    def _crash_controllers(self) -> None:
        if self._world.place.writes_under_way:
            self._rare.told("the controllers are killed between a write and its answer")
        self._world.crash_controllers()

    def _crash_apiserver(self, *, power_cut: bool) -> None:
        if self._world.place.writes_under_way:
            self._rare.told("the API server is killed with writes under way")
        self._world.crash_apiserver(power_cut=power_cut)

    async def _kill(
        self,
        life: Life | None,
        fault: MemberIsKilled | AgentIsKilled | ControllersAreKilled | ApiServerIsKilled,
        crash: Callable[[], None],
    ) -> None:
        """Kills it after so many steps; at the end of the fault, where it did not even live for so long."""
        if life is not None:
            life.end_after(fault.steps, crash)
        await asyncio.sleep(fault.lasts)
        if life is not None and life.ended:
            self._rare.told(KILLED_AT_AN_AWAIT)
        if life is not None and not self._holds.healed:
            life.end()

    async def _come_back_old(self, member: SimulatedMember, seconds: float) -> None:
        backup = await member.contents()
        await asyncio.sleep(seconds / 2)
        if not self._holds.healed:
            await self._stop(member, seconds / 2, lambda: member.medium.replace(backup))

    async def _shrink(self, member: SimulatedMember, fault: MemberShrinks) -> None:
        for nodes, seconds in ((fault.nodes, fault.lasts), (self._nodes[member.name], 0.0)):
            if self._holds.healed:
                return
            member.nodes = nodes
            await self._stop(member, RESTART_SECONDS)
            await asyncio.sleep(seconds)

    async def _let_up(self, member: SimulatedMember) -> None:
        await self._up(member.name, lambda: member.is_up, lambda: self._start_member(member))
        if member.mode == "Pull" and not self._holds.is_held(member.name) and not member.agent_is_up:
            member.start_agent()

    async def _up(self, what: str, is_up: Callable[[], bool], start: Callable[[], Awaitable[None]]) -> None:
        """Starts it, again and again, unless it runs or another fault keeps it down."""
        async with self._lock(what):
            while not self._holds.is_held(what) and not is_up():
                try:
                    await start()
                except (WorldError, MediumFailed, ChildProcessError):
                    await asyncio.sleep(RESTART_SECONDS)

    async def _start_member(self, member: SimulatedMember) -> None:
        try:
            await member.start_apiserver()
        except BaseException:
            member.crash_apiserver()
            raise

    async def _start_apiserver(self) -> None:
        try:
            await self._world.start_apiserver()
        except BaseException:
            self._world.crash_apiserver()
            raise

    async def _start_controllers(self) -> None:
        self._world.start_controllers()

    def _lock(self, what: str) -> asyncio.Lock:
        return self._locks.setdefault(what, asyncio.Lock())
