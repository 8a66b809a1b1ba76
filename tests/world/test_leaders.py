"""Two replicas of the controllers, of which one works: takeover, a leader that was paused, and no double act (S8)."""

from collections import Counter
from collections.abc import Awaitable, Callable
from unittest import mock

import pytest

from kubeapi.core import LEASES, LeaseSpec
from kubeclient import Request, Response
from kubeserver.handler import StreamResponse
from leeward.api.names import SYSTEM_NAMESPACE
from leeward.manager.control_plane import ControllerManager
from leeward.sim.world import World
from simulator.candidate import LEASE, Candidate
from tests.world.stories import DEPLOYMENTS, apply, by_weight, deployment, play, policy

LEASE_SECONDS, RETRY_SECONDS = 15, 2
JITTER = 1.1
RENEWED = "2026-01-01T00:00:00.000000Z"
Answering = Awaitable[Response | StreamResponse]


class Replicas:
    """Two of them, of which the first leads. `writes` counts the writes that each has sent."""

    def __init__(self, world: World) -> None:
        self.writes: Counter[str] = Counter()
        self.first, self.second = (Candidate(world, name, self._note) for name in ("first", "second"))
        self._world = world

    def _note(self, replica: str, _: Request) -> None:
        self.writes[replica] += 1

    async def start(self) -> None:
        world = self._world
        await world.stop_controllers()
        self.first.start()
        await world.sleep(1)
        self.second.start()
        await world.sleep(5)
        assert (self.first.leads, self.second.leads) == (True, False)

    async def taken_over_by(self, successor: Candidate) -> float:
        """Seconds that it takes until the successor leads."""
        started = self._world.seconds
        while not successor.leads:
            assert self._world.seconds < started + 60, "nobody takes over"
            await self._world.sleep(0.05)
        return self._world.seconds - started

    async def lease(self) -> LeaseSpec:
        return (await self._world.client.get(LEASES, LEASE, SYSTEM_NAMESPACE)).spec


def play_two(story: Callable[[World, Replicas], Awaitable[None]]) -> None:
    async def played(world: World) -> None:
        replicas = Replicas(world)
        await replicas.start()
        await story(world, replicas)
        for replica in (replicas.first, replicas.second):
            replica.life.end()

    play(played)


def test_only_the_leader_writes() -> None:
    async def story(world: World, replicas: Replicas) -> None:
        await web_runs(world)
        assert replicas.writes["first"]
        assert not replicas.writes["second"]

    play_two(story)


def test_s8_a_leader_that_dies_is_replaced_within_lease_and_retry() -> None:
    async def story(_: World, replicas: Replicas) -> None:
        replicas.first.life.end()
        assert await replicas.taken_over_by(replicas.second) <= LEASE_SECONDS + RETRY_SECONDS * JITTER
        assert not replicas.first.leads

    play_two(story)


def test_s8_a_leader_that_was_paused_does_nothing_that_it_had_begun_to_decide() -> None:
    async def story(world: World, replicas: Replicas) -> None:
        first, second = replicas.first, replicas.second
        await web_runs(world)
        await world.sleep(5)
        first.life.pause()
        written = replicas.writes["first"]
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 6}}, "default")
        await replicas.taken_over_by(second)
        await world.until(lambda: world.assigned("web-deployment") == {"member1": 2, "member2": 4}, 60)
        first.life.resume()
        await world.sleep(60)
        assert first.refused, "it wants to write what came while it was paused"
        assert replicas.writes["first"] == written, "and sends nothing of it"
        assert (first.leads, second.leads) == (False, True)

    play_two(story)


def test_a_leader_that_stops_cleanly_lets_the_next_one_work_at_once() -> None:
    async def story(_: World, replicas: Replicas) -> None:
        await replicas.first.stop()
        assert (await replicas.lease()).holder_identity == ""
        assert await replicas.taken_over_by(replicas.second) <= RETRY_SECONDS * JITTER + 0.1
        lease = await replicas.lease()
        assert (lease.holder_identity, lease.lease_transitions) == ("second", 1)

    play_two(story)


def test_a_lease_is_given_back_though_a_last_renewal_of_it_arrives_meanwhile() -> None:
    async def story(world: World, replicas: Replicas) -> None:
        late = list[Request]()

        async def answer(request: Request, pass_on: Callable[[], Answering]) -> Response | StreamResponse:
            if not late and request.method == "PATCH" and b'"holderIdentity":""' in request.body:
                late.append(request)
                await world.client.patch(LEASES, LEASE, {"spec": {"acquireTime": RENEWED}}, SYSTEM_NAMESPACE)
            return await pass_on()

        world.place.audit = answer
        await replicas.first.stop()
        assert late
        assert (await replicas.lease()).holder_identity == ""

    play_two(story)


def test_a_leader_whose_lease_is_lost_waits_and_leads_again() -> None:
    async def story(world: World, replicas: Replicas) -> None:
        replicas.first.life.pause()
        await replicas.taken_over_by(replicas.second)
        replicas.first.life.resume()
        await world.sleep(30)
        replicas.second.life.end()
        assert await replicas.taken_over_by(replicas.first) <= LEASE_SECONDS + RETRY_SECONDS * JITTER
        assert (await replicas.lease()).lease_transitions == 2

    play_two(story)


def test_a_control_plane_that_is_away_for_a_moment_costs_no_lease() -> None:
    async def story(world: World, replicas: Replicas) -> None:
        world.place.link.hang()
        await world.sleep(6)
        world.place.link.flow()
        await world.sleep(20)
        assert (replicas.first.leads, replicas.second.leads) == (True, False)
        assert (await replicas.lease()).lease_transitions == 0

    play_two(story)


@pytest.mark.parametrize(("seconds", "begun"), [(6, 0), (9, 0), (12, 0), (16, 1)])
def test_a_leader_that_stood_still_goes_on_while_its_lease_lasts(seconds: int, begun: int) -> None:
    """The leader renews each two seconds; what it has not tried has not failed."""

    async def story(world: World, replicas: Replicas) -> None:
        begins: list[float] = []
        start = ControllerManager.start

        def begin(manager: ControllerManager) -> None:
            begins.append(world.seconds)
            start(manager)

        with mock.patch.object(ControllerManager, "start", begin):
            replicas.second.life.end()
            replicas.first.life.pause()
            await world.sleep(seconds)
            replicas.first.life.resume()
            await world.sleep(30)
        assert replicas.first.leads
        assert len(begins) == begun, "it begins anew when its lease has ended, and then only"
        assert (await replicas.lease()).lease_transitions == 0

    play_two(story)


async def web_runs(world: World) -> None:
    await apply(world.client, deployment("web", 3), policy("web", by_weight({"member1": 1, "member2": 2})))
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 1, "member2": 2}, 60)
