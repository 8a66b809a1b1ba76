"""The failover goes on meanwhile: while the control plane is attacked, a cluster dies, and nobody else is harmed.

    has            what each attack has: policies and ConfigMaps of one namespace; one member; watches
    does           keeps the control plane busy, for as long as it takes another cluster to be lost and left
    must not get   a healthy member that is not Ready, nor a failover that takes longer than its bound (L2, L4, S13)

Computing takes time in this world: each request, each byte and each selector that is looked at moves the clock, so that
a loop that is kept busy is late for all its timers, as in production. Everything stays deterministic.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from unittest import mock

import pytest

from kubeapi.codec import encode
from kubeapi.core import LEASES
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import VirtualLoop
from kubeapi.meta import Manifest
from kubeapi.selectors import Selector, matches
from kubeclient import Client, Invalid, Request, Response
from kubecluster.network import Place
from kubeserver.handler import StreamResponse, User
from leeward.api.names import HEARTBEAT_NAME, SYSTEM_NAMESPACE
from leeward.core.propagation import matching, selecting
from leeward.manager.timing import Timing
from leeward.runtime import policy_index
from leeward.sim.world import Mode, World
from tests.security.test_load import config_map, naming
from tests.world.stories import CONFIG_MAPS, POLICIES, apply, by_weight, deployment, policy, ready_replicas
from tests.world.test_detection import answers

FLEET: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push", "member4": "Pull"}
HEALTHY = ("member2", "member3", "member4")
WEB = "web-deployment"
REQUEST_SECONDS, BYTE_SECONDS, DELIVERY_SECONDS, SELECTOR_SECONDS = 3e-4, 2e-8, 2e-5, 4e-7
"""Seconds that a request costs, a byte of it, an event for one watch, a selector that is compared with a template."""
POLICY_COUNT = 20
BOUND_SECONDS = 3 + 2 + 5 + 5 + 1 + 10
"""Probe, thresholds, eviction timeout, toleration, the start of a Pod, and seconds, with fast timings."""
LATEST_RENEWAL = timedelta(seconds=0.5 + 0.5)
"""The interval, and how late a heartbeat may be."""


class CostlyLoop(VirtualLoop):
    """A virtual loop whose clock goes on while something is computed."""

    def charge(self, seconds: float) -> None:
        self._now += seconds


def charge(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, CostlyLoop)
    loop.charge(seconds)


@contextmanager
def computing_takes_time() -> Generator[None, None, None]:
    plainly, handle = matching.resource_precision, Place.handle

    def compared(*arguments: Any) -> int:
        charge(SELECTOR_SECONDS)
        return plainly(*arguments)

    def matched(selector: Selector, labels: Any) -> bool:
        charge(SELECTOR_SECONDS)
        return matches(selector, labels)

    async def handled(self: Place, request: Request, user: User) -> Response | StreamResponse:
        response = await handle(self, request, user)
        size = len(request.body) + (len(response.body) if isinstance(response, Response) else 0)
        charge(REQUEST_SECONDS + BYTE_SECONDS * size)
        return response

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(matching, "resource_precision", compared))
        stack.enter_context(mock.patch.object(matching, "matches", matched))
        stack.enter_context(mock.patch.object(selecting, "matches", matched))
        stack.enter_context(mock.patch.object(policy_index, "matches", matched))
        stack.enter_context(mock.patch.object(Place, "handle", handled))
        yield


def play(story: Callable[[World], Awaitable[None]]) -> None:
    async def run() -> None:
        async with World(FLEET, Timing.fast()) as world:
            await world.until(lambda: all(world.is_ready(name) for name in FLEET), 60)
            await story(world)

    with asyncio.Runner(loop_factory=CostlyLoop) as runner, computing_takes_time():
        runner.run(run())


def excluding(name: str) -> Manifest:
    """A policy of label selectors that no index narrows, none of which matches."""
    other_than = {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["mine"]}]}
    made = naming(name, ())
    made["spec"]["resourceSelectors"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "labelSelector": other_than} for _ in range(500)
    ]
    return made


async def by_policies(world: World) -> None:
    """Writes as many selectors as are accepted, beside many templates, again and again, and more that are refused."""
    await apply(world.client, *(config_map(f"c{n}", app="mine") for n in range(220)))
    for number in range(POLICY_COUNT):
        names = (f"x{number}-{n}" for n in range(1_000))
        await apply(world.client, naming(f"p{number}", names) if number % 10 else excluding(f"p{number}"))
    for turn in range(10_000):
        await world.client.patch(POLICIES, f"p{turn % POLICY_COUNT}", {"spec": {"priority": turn}}, "default")
        with pytest.raises(Invalid):
            await apply(world.client, naming("huge", (f"x{n}" for n in range(2_000))))
        await asyncio.sleep(1)


async def by_a_member(world: World) -> None:
    """Attack by a member that is slow, and tells of thousands of Nodes each time that its watches break."""
    nodes = [{"metadata": {"name": f"n{n}", "resourceVersion": "1"}, "status": {}} for n in range(5_000)]
    body = encode({"kind": "NodeList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": nodes})

    def lie(request: Request) -> Response | None:
        is_list = request.path.startswith("/api/v1/nodes") and "watch" not in dict(request.query)
        return Response(200, body, {"content-type": "application/json"}) if is_list else None

    answers(world.member("member3").place, lie)
    link = world.link("controllers", "member3")
    link.latency_seconds = 0.5
    while True:
        link.interrupt()
        await asyncio.sleep(2)


async def by_watches(world: World) -> None:
    """Hundreds of watches, and what they are told of changes all the time."""
    async with Supervisor("attack") as supervisor:
        for number in range(150):
            supervisor.start(_listen(world.client), f"watch/{number}")
        for turn in range(10_000):
            await apply(world.client, config_map(f"w{turn}"))
            await asyncio.sleep(0.1)


async def _listen(client: Client) -> None:
    version = (await client.list(CONFIG_MAPS, "default", limit=1)).resource_version
    async for _ in client.watch(CONFIG_MAPS, "default", resource_version=version):
        charge(DELIVERY_SECONDS)


@asynccontextmanager
async def renewals_of_the_heartbeat(world: World) -> AsyncGenerator[list[datetime], None]:
    """Instants at which the control plane has begun to renew it, as it says itself."""
    renewals: list[datetime] = []

    async def listen() -> None:
        version = (await world.client.list(LEASES, SYSTEM_NAMESPACE)).resource_version
        async for event in world.client.watch(LEASES, SYSTEM_NAMESPACE, resource_version=version):
            lease = event.object
            if lease is not None and lease.name == HEARTBEAT_NAME and lease.spec.renew_time:
                renewals.append(lease.spec.renew_time)

    async with Supervisor("observer") as supervisor:
        supervisor.start(listen(), "renewals")
        yield renewals


@asynccontextmanager
async def under(world: World, attack: Callable[[World], Coroutine[Any, Any, None]]) -> AsyncGenerator[None, None]:
    async with Supervisor("attacker") as supervisor:
        attacking = supervisor.start(attack(world), "attack")
        yield
        assert not attacking.done(), "it goes on"


@pytest.mark.parametrize("attack", [by_policies, by_a_member, by_watches])
@pytest.mark.long
def test_l2_l4_a_failover_finishes_and_healthy_members_stay_ready(
    attack: Callable[[World], Coroutine[Any, Any, None]],
) -> None:
    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 4), policy("web", by_weight({"member1": 1, "member2": 1})))
        await world.until(lambda: world.assigned(WEB) == {"member1": 2, "member2": 2}, 60)
        await world.sleep(10)
        for name in FLEET:
            world.link("controllers", name).latency_seconds = 0.2
        async with under(world, attack), renewals_of_the_heartbeat(world) as renewals:
            await world.sleep(5)
            since = {name: ready.last_transition_time for name in HEALTHY if (ready := world.cluster(name).ready)}
            died = world.seconds
            await world.member("member1").stop()
            while await ready_replicas(world, "member2", "web") < 4:
                assert all(world.is_ready(name) for name in HEALTHY)
                assert world.seconds - died <= BOUND_SECONDS
                await world.sleep(0.5)
            after = {name: ready.last_transition_time for name in HEALTHY if (ready := world.cluster(name).ready)}
            assert after == since
            assert world.assigned(WEB) == {"member2": 4}
            assert len(renewals) > 10
            assert max(b - a for a, b in pairwise(renewals)) <= LATEST_RENEWAL

    play(story)
