"""Disturbances: all runs, but slowly, far away, at another time, or it lies. Nobody dies of one."""

import asyncio
import random
from collections.abc import Coroutine

from kubeclient import Request, Response
from kubecluster.network import Link
from kubecluster.network_faults import FaultProfile, NetworkFaults
from leeward.sim.member import SimulatedMember, agent_of
from leeward.sim.world import CONTROLLERS, World
from simulator.histories.byzantine_faults import cordon_nodes, lie
from simulator.histories.faults.holds import Holds
from simulator.histories.model import (
    AnyFault,
    ClockIsWrong,
    CutOff,
    MemberFlaps,
    MemberHangs,
    MemberIsSlow,
    MemberIsUnready,
    MemberLies,
    MemberRefusesWrites,
    NodesAreCordoned,
    Partition,
    Storm,
)
from simulator.histories.rare import RareSituations
from simulator.stale_reads import StaleReads

LIE_SECONDS = 2.0


class Disturbances:
    """`rare` is told of every mishap on a link; `past` knows the stale answers."""

    def __init__(self, world: World, holds: Holds, seed: int, rare: RareSituations, past: StaleReads) -> None:
        self._world = world
        self._holds = holds
        self._seed = seed
        self._rare = rare
        self._past = past
        self._cordoned: set[str] = set()

    def of(self, fault: AnyFault) -> Coroutine[None, None, None] | None:
        """Course of the fault, until it is over; None where it is no disturbance."""
        world = self._world
        match fault:
            case MemberHangs(member=name):
                member = world.member(name)
                return self._holds.during(f"{name} hangs", fault.lasts, member.pause, member.resume)
            case MemberIsSlow(member=name):
                return self._slow_down(world.member(name), fault)
            case MemberIsUnready(member=name):
                return self._make_unready(world.member(name), fault.lasts)
            case NodesAreCordoned(member=name):
                return self._cordon(world.member(name), fault.lasts)
            case MemberRefusesWrites(member=name):
                return self._refuse_writes(world.member(name), fault)
            case MemberLies(member=name):
                return self._lie(world.member(name), fault.lasts)
            case MemberFlaps(member=name):
                return self._flap(self._ways_to([name]), fault)
            case Partition():
                return self._cut({f"{fault.who}-{fault.whom}": world.link(fault.who, fault.whom)}, fault.lasts)
            case CutOff():
                return self._cut(self._ways_to(list(world.members)), fault.lasts)
            case ClockIsWrong():
                return self._skew(fault)
            case Storm():
                return self._storm(fault)
            case _:
                return None

    def heal(self) -> None:
        """All clocks are right, all links calm and open, all members ready."""
        world = self._world
        for link in world.all_links():
            link.mend()
            link.flow()
            link.latency_seconds, link.faults = 0.0, None
        world.controllers_clock.skew_seconds = 0.0
        for member in world.members.values():
            member.agent_clock.skew_seconds = 0.0
            member.set_ready(True)
            member.refuse_writes(None)

    async def mend(self) -> None:
        """Mends what takes members that answer again."""
        for name in sorted(self._cordoned):
            await cordon_nodes(self._world.member(name).client, False)

    async def _cordon(self, member: SimulatedMember, seconds: float) -> None:
        """Nodes that are made anew meanwhile are cordoned a moment later."""
        self._cordoned.add(member.name)
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + seconds
        while loop.time() < ends_at and not self._holds.healed:
            await cordon_nodes(member.client, True)
            await asyncio.sleep(LIE_SECONDS)
        await cordon_nodes(member.client, False)

    async def _refuse_writes(self, member: SimulatedMember, fault: MemberRefusesWrites) -> None:
        await self._holds.during(
            f"{member.name} refuses writes",
            fault.lasts,
            lambda: member.refuse_writes(fault.code),
            lambda: member.refuse_writes(None),
        )

    async def _slow_down(self, member: SimulatedMember, fault: MemberIsSlow) -> None:
        await self._holds.during(
            f"{member.name} is slow",
            fault.lasts,
            lambda: member.set_latency(fault.seconds),
            lambda: member.set_latency(0),
        )

    async def _make_unready(self, member: SimulatedMember, seconds: float) -> None:
        await self._holds.during(
            f"{member.name} is unready", seconds, lambda: member.set_ready(False), lambda: member.set_ready(True)
        )

    async def _lie(self, member: SimulatedMember, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + seconds
        while loop.time() < ends_at and not self._holds.healed:
            await lie(member.client)
            await asyncio.sleep(LIE_SECONDS)

    async def _flap(self, ways: dict[str, Link], fault: MemberFlaps) -> None:
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + fault.lasts
        while loop.time() < ends_at and not self._holds.healed:
            await self._cut(ways, fault.period)
            await asyncio.sleep(fault.period)

    async def _cut(self, ways: dict[str, Link], seconds: float) -> None:
        for name, link in ways.items():
            self._holds.hold(name)
            link.cut()
        await asyncio.sleep(seconds)
        for name, link in ways.items():
            if self._holds.let_go(name):
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
        profile = FaultProfile(
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

        link.faults = NetworkFaults(profile, random.Random(f"{self._seed} {fault}"), self._rare.mishap, past)
        await asyncio.sleep(fault.lasts)
        link.faults = None
