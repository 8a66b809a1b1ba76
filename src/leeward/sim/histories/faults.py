"""Faults: each strikes, lasts, and is mended. Where several hold the same thing, the last one lets it go.

`heal` ends them all at once, whatever is left of them.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable

from leeward.apiserver.store.medium import Loaded, MediumFailed
from leeward.client import Request, Response, WorldError
from leeward.loop.lives import Life
from leeward.sim.candidate import Begun, Candidate
from leeward.sim.histories.lies import lie
from leeward.sim.histories.model import (
    AgentIsKilled,
    AnyFault,
    ApiServerIsKilled,
    ClockIsWrong,
    ControllersAreKilled,
    CutOff,
    LeaderIsPaused,
    MemberComesBackOld,
    MemberFlaps,
    MemberHangs,
    MemberIsKilled,
    MemberIsSlow,
    MemberIsUnready,
    MemberLies,
    MemberLosesData,
    MemberShrinks,
    MemberStops,
    Partition,
    Storm,
    TwoLeaders,
)
from leeward.sim.histories.rare import RareSituations
from leeward.sim.member import SimulatedMember, agent_of
from leeward.sim.network import Link
from leeward.sim.past import Past
from leeward.sim.weather import Climate, Weather
from leeward.sim.world import CONTROLLERS, World

RESTART_SECONDS = 1.0
LIE_SECONDS = 2.0
KILLED_AT_AN_AWAIT = "killed at an await"


class Faults:
    """`rare` is told of every mishap on a link, and of who dies at what moment; `past` knows the stale answers; `begun`
    sees what replicas write."""

    def __init__(self, world: World, seed: int, rare: RareSituations, past: Past, begun: Begun) -> None:
        self._past = past
        self._begun = begun
        self.healed = False
        self._world = world
        self._seed = seed
        self._rare = rare
        self._holds = Counter[str]()
        self._locks: dict[str, asyncio.Lock] = {}
        self._nodes = {name: member.nodes for name, member in world.members.items()}

    async def strike(self, fault: AnyFault) -> None:
        """Returns when the fault is over."""
        match fault:
            case MemberStops():
                await self._stop(self._world.member(fault.member), fault.lasts)
            case MemberIsKilled():
                await self._kill_member(self._world.member(fault.member), fault)
            case AgentIsKilled():
                await self._kill_agent(self._world.member(fault.member), fault)
            case ControllersAreKilled():
                await self._kill_controllers(fault)
            case LeaderIsPaused():
                await self._pause_leader(fault)
            case ApiServerIsKilled():
                await self._kill_apiserver(fault)
            case MemberLosesData():
                member = self._world.member(fault.member)
                await self._stop(member, fault.lasts, lambda: member.replace_contents(Loaded((), 0)))
            case MemberComesBackOld():
                await self._come_back_old(self._world.member(fault.member), fault.lasts)
            case MemberShrinks():
                await self._shrink(self._world.member(fault.member), fault)
            case _:
                await self._strike_softly(fault)

    async def _strike_softly(self, fault: AnyFault) -> None:
        """Faults that kill nobody."""
        world = self._world
        match fault:
            case MemberHangs(member=name):
                member = world.member(name)
                await self._hold(f"{name} hangs", fault.lasts, member.pause, member.resume)
            case MemberIsSlow(member=name):
                member = world.member(name)
                member.set_latency(fault.seconds)
                await self._hold(f"{name} is slow", fault.lasts, lambda: None, lambda: member.set_latency(0))
            case MemberIsUnready(member=name):
                member = world.member(name)
                await self._hold(
                    f"{name} is unready",
                    fault.lasts,
                    lambda: member.set_ready(False),
                    lambda: member.set_ready(True),
                )
            case MemberLies(member=name):
                await self._lie(world.member(name), fault.lasts)
            case MemberFlaps(member=name):
                await self._flap(self._ways_to([name]), fault)
            case Partition():
                await self._cut({f"{fault.who}-{fault.whom}": world.link(fault.who, fault.whom)}, fault.lasts)
            case CutOff():
                await self._cut(self._ways_to(list(world.members)), fault.lasts)
            case TwoLeaders():
                life = world.start_more_controllers()
                await asyncio.sleep(fault.lasts)
                life.end()
            case ClockIsWrong():
                await self._skew(fault)
            case Storm():
                await self._storm(fault)
            case _:
                raise AssertionError(f"nobody knows how {fault} strikes")

    async def heal(self) -> None:
        """Everything runs, and nothing is in its way."""
        world = self._world
        self.healed = True
        self._holds.clear()
        for link in world.all_links():
            link.mend()
            link.flow()
            link.latency_seconds, link.weather = 0.0, None
        world.controllers_clock.skew_seconds = 0.0
        await self._up("apiserver", lambda: world.apiserver_is_up, self._start_apiserver)
        await self._up("controllers", lambda: world.controllers_are_up, self._start_controllers)
        for name, member in world.members.items():
            member.agent_clock.skew_seconds = 0.0
            if member.nodes != self._nodes[name]:
                member.nodes = self._nodes[name]
                await member.stop_apiserver()
            member.set_ready(True)
            await self._let_up(member)

    async def _hold(self, what: str, seconds: float, begin: Callable[[], None], end: Callable[[], None]) -> None:
        self._holds[what] += 1
        begin()
        await asyncio.sleep(seconds)
        self._holds[what] -= 1
        if self._holds[what] <= 0 and not self.healed:
            end()

    async def _stop(
        self, member: SimulatedMember, seconds: float, meanwhile: Callable[[], None] = lambda: None
    ) -> None:
        self._holds[member.name] += 1
        async with self._lock(member.name):
            await member.stop()
        await asyncio.sleep(seconds)
        if self.healed:
            return
        async with self._lock(member.name):
            if not member.is_up:
                meanwhile()
        self._holds[member.name] -= 1
        await self._let_up(member)

    async def _kill_member(self, member: SimulatedMember, fault: MemberIsKilled) -> None:
        self._holds[member.name] += 1
        await self._kill(member.life if member.is_up else None, fault, member.crash_apiserver)
        self._holds[member.name] -= 1
        await self._let_up(member)

    async def _kill_agent(self, member: SimulatedMember, fault: AgentIsKilled) -> None:
        if member.mode == "Push":
            return
        self._holds[member.name] += 1
        await self._kill(member.agent_life if member.agent_is_up else None, fault, member.crash_agent)
        self._holds[member.name] -= 1
        await self._let_up(member)

    async def _kill_controllers(self, fault: ControllersAreKilled) -> None:
        world = self._world
        self._holds["controllers"] += 1
        life = world.controllers_life if world.controllers_are_up else None
        await self._kill(life, fault, self._crash_controllers)
        self._holds["controllers"] -= 1
        await self._up("controllers", lambda: world.controllers_are_up, self._start_controllers)

    async def _pause_leader(self, fault: LeaderIsPaused) -> None:
        """While replicas compete, the controllers that know of no lease are gone."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + fault.lasts
        self._holds["controllers"] += 1
        self._world.controllers_life.end()
        self._world.crash_controllers()
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
        self._holds["controllers"] -= 1
        await self._up("controllers", lambda: self._world.controllers_are_up, self._start_controllers)

    async def _kill_apiserver(self, fault: ApiServerIsKilled) -> None:
        world = self._world
        self._holds["apiserver"] += 1
        life = world.life if world.apiserver_is_up else None
        await self._kill(life, fault, lambda: self._crash_apiserver(power_cut=fault.power_cut))
        self._holds["apiserver"] -= 1
        await self._up("apiserver", lambda: world.apiserver_is_up, self._start_apiserver)

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
        """After so many steps; at the end of the fault, where it did not even live for so long."""
        if life is not None:
            life.end_after(fault.steps, crash)
        await asyncio.sleep(fault.lasts)
        if life is not None and life.ended:
            self._rare.told(KILLED_AT_AN_AWAIT)
        if life is not None and not self.healed:
            life.end()

    async def _come_back_old(self, member: SimulatedMember, seconds: float) -> None:
        backup = await member.contents()
        await asyncio.sleep(seconds / 2)
        if not self.healed:
            await self._stop(member, seconds / 2, lambda: member.replace_contents(backup))

    async def _shrink(self, member: SimulatedMember, fault: MemberShrinks) -> None:
        for nodes, seconds in ((fault.nodes, fault.lasts), (self._nodes[member.name], 0.0)):
            if self.healed:
                return
            member.nodes = nodes
            await self._stop(member, RESTART_SECONDS)
            await asyncio.sleep(seconds)

    async def _lie(self, member: SimulatedMember, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + seconds
        while loop.time() < ends_at and not self.healed:
            await lie(member.client)
            await asyncio.sleep(LIE_SECONDS)

    async def _flap(self, ways: dict[str, Link], fault: MemberFlaps) -> None:
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + fault.lasts
        while loop.time() < ends_at and not self.healed:
            await self._cut(ways, fault.period)
            await asyncio.sleep(fault.period)

    async def _cut(self, ways: dict[str, Link], seconds: float) -> None:
        for name, link in ways.items():
            self._holds[name] += 1
            link.cut()
        await asyncio.sleep(seconds)
        for name, link in ways.items():
            self._holds[name] -= 1
            if self._holds[name] <= 0:
                link.mend()

    def _ways_to(self, members: list[str]) -> dict[str, Link]:
        """All ways between the control plane and these members, in either direction."""
        world = self._world
        ways = {f"{CONTROLLERS}-{name}": world.link(CONTROLLERS, name) for name in members}
        ways |= {f"{agent_of(name)}-{world.NAME}": world.link(agent_of(name), world.NAME) for name in members}
        return ways

    async def _skew(self, fault: ClockIsWrong) -> None:
        world = self._world
        clocks = {agent_of(name): member.agent_clock for name, member in world.members.items()}
        clock = clocks.get(fault.who, world.controllers_clock)
        clock.skew_seconds = fault.seconds
        await asyncio.sleep(fault.lasts)
        clock.skew_seconds = 0.0

    async def _storm(self, fault: Storm) -> None:
        climate = Climate(
            fault.rate,
            fault.mishaps,
            fault.lag_seconds,
            fault.repeats,
            fault.breaks,
            fault.jitter_seconds,
            fault.break_at,
            fault.stale_at,
        )
        link = self._world.link(fault.who, fault.whom)

        def past(request: Request) -> Response | None:
            return self._past.answer(fault.whom, request)

        link.weather = Weather(climate, random.Random(f"{self._seed} {fault}"), self._rare.mishap, past)
        await asyncio.sleep(fault.lasts)
        link.weather = None

    async def _let_up(self, member: SimulatedMember) -> None:
        await self._up(member.name, lambda: member.is_up, lambda: self._start_member(member))
        if member.mode == "Pull" and not self._holds[member.name] and not member.agent_is_up:
            member.start_agent()

    async def _up(self, what: str, is_up: Callable[[], bool], start: Callable[[], Awaitable[None]]) -> None:
        """Starts it, again and again, unless it runs or another fault keeps it down."""
        async with self._lock(what):
            while not self._holds[what] and not is_up():
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
