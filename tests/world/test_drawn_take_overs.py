"""Drawn take-overs: one or two standbys take over from one copy, members come and go, and the hub before lives or comes
back. A ledger sees each write that reaches a member, and knows which hub has sent it."""

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, suppress
from dataclasses import dataclass, field
from unittest import mock

import pytest
from msgspec import structs

from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeclient import Request, Response, Transport
from kubecluster.network import Answering
from kubeserver.handler import StreamResponse
from leeward.core import hub_generation
from leeward.core.hub_generation import NEVER, Generation, fences_of
from leeward.manager.control_plane import ControllerManager
from leeward.manager.timing import Timing
from leeward.operations.errors import OperationFailed
from leeward.runtime.hub_fence import HubFence, namespace_in
from leeward.runtime.member_identity import LOOK_SECONDS, PATH
from leeward.sim.world import World
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, deployment, policy, ready_replicas
from tests.world.test_ownership import on
from tests.world.test_restored import PUSHED, WEB, placed
from tests.world.test_take_over import SPREAD, SkewedClock, come_back, copied_hub, die, takes_over

HUB, SENT = "x-test-hub", "x-test-sent"
SEEDS = range(4)


class Signed:
    """A transport that says which hub has sent a request, and when."""

    def __init__(self, inner: Transport, hub: str) -> None:
        self._inner = inner
        self._hub = hub

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        return await self._inner.send(self._signed(request), timeout_seconds=timeout_seconds)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()

    def _signed(self, request: Request) -> Request:
        now = str(asyncio.get_running_loop().time())
        return structs.replace(request, headers={**request.headers, HUB: self._hub, SENT: now})


class SigningWorld(World):
    """A hub whose controllers sign what they send."""

    hub = "first"

    @classmethod
    def named(cls, name: str) -> type["SigningWorld"]:
        return type(name, (cls,), {"hub": name})

    def _start_manager(self, supervisor: Supervisor) -> ControllerManager:
        return self.start_manager(supervisor, lambda transport: Signed(transport, self.hub))


@dataclass
class Ledger:
    """Marks and writes by member, each with its instant."""

    generations: dict[str, Generation] = field(default_factory=lambda: {"first": NEVER})
    marks: dict[str, list[tuple[float, Generation]]] = field(default_factory=lambda: defaultdict(list))
    writes: list[tuple[float, str, str, str]] = field(default_factory=list[tuple[float, str, str, str]])

    def watch(self, world: World) -> None:
        for name, member in world.members.items():
            member.place.audit = self._auditing(name)

    def _auditing(self, member: str) -> Callable[[Request, Callable[[], Answering]], Answering]:
        async def audit(request: Request, work: Callable[[], Answering]) -> Response | StreamResponse:
            answer = await work()
            if request.path == PATH:
                found = namespace_in(answer) if isinstance(answer, Response) else None
                if request.method == "PATCH" and found is not None:
                    (newest,) = fences_of(found.annotations).values()
                    self.marks[member].append((asyncio.get_running_loop().time(), newest))
            elif request.method not in ("GET", "HEAD") and HUB in request.headers:
                sent = float(request.headers[SENT])
                self.writes.append((sent, request.headers[HUB], member, f"{request.method} {request.path}"))
            return answer

        return audit

    def faults(self) -> list[str]:
        """Writes of a hub whose member had known a newer one for longer than a look lasts."""
        return [
            f"{hub} sent {what} to {member} at {sent:.0f}, which had met {newest} at {at:.0f}"
            for sent, hub, member, what in self.writes
            for at, newest in self.marks[member]
            if newest > self.generations[hub] and sent > at + LOOK_SECONDS + 1
        ]


async def disturb(chance: random.Random, first: SigningWorld) -> None:
    """Something that happens to a member, or to the hub before, for some minutes."""
    member = first.member(chance.choice(list(PUSHED)))
    match chance.choice(("stops", "freezes", "is told", "is told", "comes or goes")):
        case "stops":
            await member.stop()
            await first.sleep(chance.uniform(5, 500))
            await member.start()
        case "freezes":
            member.pause()
            await first.sleep(chance.uniform(5, 500))
            member.resume()
        case "is told" if first.apiserver_is_up:
            await first.client.patch(POLICIES, "web", {"spec": {"placement": on(member.name)}}, "default")
            for found in (await first.client.list(DEPLOYMENTS, "default")).items:
                await first.client.delete(DEPLOYMENTS, found["metadata"]["name"], "default")
        case _ if first.apiserver_is_up:
            await die(first)
        case _:
            await come_back(first)
    await first.sleep(chance.uniform(5, 60))


async def standbys_take_over(
    chance: random.Random, first: SigningWorld, ledger: Ledger, stack: AsyncExitStack
) -> list[World]:
    """One or two take over from one copy, each with a clock of its own; half of the second ones hear of no other."""
    copy = await first.medium.load()
    if chance.random() < 0.6:
        await die(first)
        await first.sleep(chance.uniform(0, 120))
    hubs, away, apart = list[World](), list[str](), chance.random() < 0.5
    for name in ("second", "third")[: chance.choice((1, 2, 2))]:
        kind = SigningWorld.named(name)
        hub = await stack.enter_async_context(copied_hub(first, copy, len(hubs) + 1, kind))
        away = sorted({*PUSHED} - {*away}) if away else chance.sample(sorted(PUSHED), chance.randint(0, 2))
        for member in away:
            first.member(member).pause()
        with suppress(OperationFailed):
            force, clock = chance.random() < 0.7, SkewedClock(chance.uniform(-7_200, 7_200))
            ledger.generations[name] = (await takes_over(hub, force=force, clock=clock)).generation
            hubs.append(hub)
            if apart:
                await hub.stop_controllers()
        for member in away:
            first.member(member).resume()
        await first.sleep(chance.uniform(0, 60))
    for hub in hubs if apart else ():
        hub.start_controllers()
    return hubs


async def history(seed: int) -> list[str]:
    """Plays one history to its end, and returns its faults."""
    chance, ledger = random.Random(seed), Ledger()
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(SigningWorld(PUSHED, Timing.karmada(), seed))
        await first.until(lambda: all(map(first.is_ready, PUSHED)), 60)
        await apply(first.client, deployment("shop", 2), policy("shop", SPREAD))
        await placed(first)
        ledger.watch(first)
        hubs = await standbys_take_over(chance, first, ledger, stack)
        for _ in range(chance.randint(2, 4)):
            await disturb(chance, first)
        if not first.apiserver_is_up:
            await come_back(first)
        await first.sleep(1_200)
        newest = max(ledger.generations.values())
        (winner,) = (hub for hub in (first, *hubs) if ledger.generations[hub_name(hub)] == newest)
        faults = ledger.faults()
        tied = (each.seen for each in ledger.generations.values() if each.number == newest.number)
        if newest.seen < max(tied):
            faults.append(f"{newest} is the hub, of {ledger.generations}")
        for hub in (first, *hubs):
            ready = [name for name in PUSHED if hub.is_ready(name)]
            if len(ready) != (len(PUSHED) if hub is winner else 0):
                faults.append(f"{hub_name(hub)} sees {ready} as ready")
        placed_by_winner = (("web", WEB, 3), ("shop", "shop-deployment", 2)) if winner is not first else ()
        for application, binding, replicas in placed_by_winner:
            for name in winner.assigned(binding) or ("nowhere",):
                if name == "nowhere" or await ready_replicas(first, name, application) != replicas:
                    faults.append(f"{application} does not serve in {name}")
        return faults


def hub_name(hub: World) -> str:
    assert isinstance(hub, SigningWorld)
    return hub.hub


def played(seed: int) -> list[str]:
    return run_virtual(history(seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_s8_the_hub_that_took_over_acts_alone_and_what_it_knows_serves(seed: int) -> None:
    assert played(seed) == []


@pytest.mark.long
@pytest.mark.parametrize("seed", range(SEEDS.stop, 40))
def test_s8_the_hub_that_took_over_acts_alone_in_more_histories(seed: int) -> None:
    assert played(seed) == []


async def lets_in(_: HubFence, *__: object) -> str:
    return ""


def is_below(own: Generation, other: Generation) -> bool:
    return own.number < other.number


def is_later(own: Generation, other: Generation) -> bool:
    return (own.number, other.claim) < (other.number, own.claim)


BUGS: dict[str, Callable[[], AbstractContextManager[object]]] = {
    "a fence that lets everybody in": lambda: mock.patch.object(HubFence, "_look", lets_in),
    "a fence that marks and refuses nobody": lambda: mock.patch.object(
        hub_generation, "problem_of_generation", return_value=""
    ),
    "two take-overs from one copy in the order of their clocks": lambda: mock.patch.object(
        Generation, "__lt__", is_later
    ),
    "two take-overs from one copy that are equal": lambda: mock.patch.object(Generation, "__lt__", is_below),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_seen(bug: str) -> None:
    with BUGS[bug]():
        assert any(played(seed) for seed in SEEDS)
