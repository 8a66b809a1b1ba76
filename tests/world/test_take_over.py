"""Another hub takes over on a copy of the store: the one before comes back, and harms nobody."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import pytest

from kubeapi.core import NAMESPACES, PODS
from kubeapi.loop import Clock, VirtualClock
from kubeclient import Client, Request, Response
from kubecluster.network import Answering, LinkedTransport
from kubeserver.handler import StreamResponse
from kubeserver.registry import watching
from kubeserver.store.medium import Loaded
from kubeserver.store.store import Store
from leeward.api.cluster import Cluster
from leeward.api.meta import find_condition
from leeward.app.local.errors import FleetError
from leeward.app.migration.came_back import refuse_fenced
from leeward.core.hub_generation import ANOTHER_HUB, HUB_FENCE_ANNOTATION, HUB_FENCE_CONDITION, NOT_FENCED, NOT_TOLD
from leeward.manager.timing import Timing
from leeward.operations.errors import OperationFailed
from leeward.operations.findings import Severity
from leeward.operations.status import look_at_fleet
from leeward.operations.take_over import Reach, TakenOver, members_of_another, take_over
from leeward.runtime.member_identity import PATH
from leeward.sim.world import ADMIN, World
from tests.world.stories import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    POLICIES,
    apply,
    deployment,
    identities,
    play,
    policy,
    ready_replicas,
)
from tests.world.test_detection import reason_of
from tests.world.test_led_astray import is_applied
from tests.world.test_ownership import on
from tests.world.test_restored import PUSHED, WEB, placed

Audit = Callable[[Request, Callable[[], Answering]], Answering]
SPREAD = {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}


class SkewedClock(VirtualClock):
    """A clock that is ahead by these seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._ahead = timedelta(seconds=seconds)

    def now(self) -> datetime:
        return super().now() + self._ahead


@asynccontextmanager
async def copied_hub(
    first: World, copy: Loaded, seed: int = 1, kind: type[World] = World
) -> AsyncGenerator[World, None]:
    """API server on a copy of the store, as a standby has it. It has the first one's members, and no controllers."""
    second = kind({}, Timing.karmada(), seed, clock=first.clock)
    second._members = first._members  # pyright: ignore[reportPrivateUsage]
    second.medium.replace(copy)
    await second.start_apiserver()
    second._observe()  # pyright: ignore[reportPrivateUsage]
    try:
        yield second
    finally:
        await second.stop_controllers()
        await second.stop_apiserver()


def reaching(hub: World) -> Reach:
    """Makes clients of members, whichever hub they obey."""

    async def reach(cluster: Cluster) -> Client:
        return Client(LinkedTransport(hub.member(cluster.name).place, ADMIN))

    return reach


async def takes_over(hub: World, *, force: bool = False, clock: Clock | None = None) -> TakenOver:
    """Does the work of `leeward take-over`, and starts the controllers."""
    done = await take_over(hub.client, reaching(hub), clock or hub.clock, hub.randomness, force=force)
    hub.start_controllers()
    return done


async def die(hub: World) -> None:
    hub.crash_controllers()
    hub.crash_apiserver()


async def come_back(hub: World) -> None:
    await hub.start_apiserver()
    hub.start_controllers()


def witness_writes(world: World, member: str) -> list[str]:
    """Paths of what hubs write to the member from here on, by what marks it."""
    seen: list[str] = []
    world.member(member).place.witness = lambda request, user: (
        seen.append(request.path) if is_applied(request) else None
    )
    return seen


def test_s6_a_hub_that_comes_back_after_a_take_over_deletes_and_evicts_nothing() -> None:
    """The second hub fails an application over, and gets one that the first never heard of. The first comes back."""

    async def story(first: World) -> None:
        old = await placed(first)
        copy = await first.medium.load()
        await die(first)
        await first.sleep(60)
        async with copied_hub(first, copy) as second:
            done = await takes_over(second)
            assert (done.generation.number, set(done.fenced), done.away) == (1, set(PUSHED), {})
            await second.sleep(60)
            await first.member(old).stop()
            await second.until(lambda: old not in second.assigned(WEB), 900)
            (new,) = second.assigned(WEB)
            await apply(second.client, deployment("shop", 2), policy("shop", SPREAD))
            await second.sleep(120)
            await first.member(old).start()
            await second.sleep(300)
            before = await identities(first, "web"), await identities(first, "shop")
            assert list(before[0]) == [new]
            assert set(before[1]) == set(PUSHED)

            await come_back(first)
            await first.client.delete(DEPLOYMENTS, "web", "default")
            await first.client.patch(POLICIES, "web", {"spec": {"placement": on(old)}}, "default")
            await first.sleep(1_200)
            assert (await identities(first, "web"), await identities(first, "shop")) == before
            assert await ready_replicas(first, new, "web") == 3
            for name in PUSHED:
                assert reason_of(first, name) == ("False", "StatusCollectionFailed")
                assert fence_of(first, name) == ANOTHER_HUB
                assert not any("NoExecute" in taint for taint in first.taints(name)), "nothing is evicted for the fence"
            everybody = sorted(PUSHED)
            assert await members_of_another(first.client, reaching(first)) == everybody
            first.member(old).pause()
            assert await members_of_another(first.client, reaching(first)) == everybody, "as its own Clusters say"
            with pytest.raises(FleetError, match=r"members obey another hub .member1, member2, member3"):
                await refuse_fenced(first.client)
            assert await members_of_another(second.client, reaching(second)) == []
            first.member(old).resume()
            await second.until(lambda: all(map(second.is_ready, PUSHED)), 120)
            found = (await look_at_fleet(first.client, first.clock)).findings
            assert any("another hub has taken over" in each.sentence for each in found)
            assert all(second.is_ready(name) for name in PUSHED)

    play(story, PUSHED)


def test_s5_a_hub_that_is_alive_is_refused_from_its_next_look_on() -> None:
    async def story(first: World) -> None:
        await placed(first)
        async with copied_hub(first, await first.medium.load()) as second:
            await takes_over(second)
            await first.sleep(15)
            before = await identities(first, "web")
            await first.client.delete(DEPLOYMENTS, "web", "default")
            await first.sleep(600)
            assert await identities(first, "web") == before

    play(story, PUSHED)


def test_s5_a_member_that_was_away_during_the_take_over_is_fenced_before_anything_is_written_there() -> None:
    async def story(first: World) -> None:
        old = await placed(first)
        copy = await first.medium.load()
        await die(first)
        async with copied_hub(first, copy) as second:
            first.member(old).pause()
            done = await takes_over(second)
            assert set(done.away) == {old}
            await second.sleep(60)
            written = witness_writes(first, old)
            first.member(old).resume()
            await second.client.patch(DEPLOYMENTS, "web", {"metadata": {"labels": {"new": "1"}}}, "default")
            await second.until(lambda: second.is_ready(old), 120)
            await second.sleep(60)
            assert written[0] == PATH
            namespace = await first.member(old).client.get(NAMESPACES, "kube-system")
            assert namespace.metadata.annotations[HUB_FENCE_ANNOTATION].endswith(f':"{done.generation}"}}')

    play(story, PUSHED)


def refusing(method: str, code: int = 403) -> Audit:
    """Refusal of this method on the Namespace by which a member is known."""

    async def answer(request: Request, work: Callable[[], Answering]) -> Response | StreamResponse:
        if (request.method, request.path) == (method, PATH):
            return Response(code, b"{}")
        return await work()

    return answer


async def pods(world: World) -> dict[str, set[str]]:
    """The uids of all Pods, by member."""
    return {
        name: {pod.metadata.uid for pod in (await member.client.list(PODS)).items}
        for name, member in world.members.items()
    }


def fence_of(world: World, name: str) -> str:
    found = find_condition(world.cluster(name).status.conditions, HUB_FENCE_CONDITION)
    return found.reason if found else ""


@pytest.mark.parametrize("method", ["PATCH", "GET"])
def test_s5_a_member_that_takes_no_mark_loses_nothing_and_is_told_as_not_fenced(method: str) -> None:
    async def story(first: World) -> None:
        old = await placed(first)
        copy = await first.medium.load()
        await die(first)
        async with copied_hub(first, copy) as second:
            before = await identities(first, "web"), await pods(first)
            assert len(before[1][old]) == 3
            first.member(old).place.audit = refusing(method)
            assert set((await takes_over(second)).away) == {old}
            await second.sleep(1_200)
            assert (await identities(first, "web"), await pods(first)) == before
            assert not any("NoExecute" in taint for taint in second.taints(old))
            assert second.is_ready(old) is (method == "PATCH")
            assert [name for name in PUSHED if fence_of(second, name)] == [old]
            found = (await look_at_fleet(second.client, second.clock)).findings
            assert any(f"{old}: an older hub that comes back is not refused" in each.sentence for each in found)
            first.member(old).place.audit = None
            await second.until(lambda: not fence_of(second, old) and second.is_ready(old), 120)
            assert (await identities(first, "web"), await pods(first)) == before

    play(story, PUSHED)


def test_s5_a_member_that_fails_at_the_mark_is_told_as_one_where_nothing_is_written() -> None:
    """Nothing leaves a member that is seen and serves; a change does not reach it, and somebody hears why."""

    async def story(world: World) -> None:
        old = await placed(world)
        before = await identities(world, "web"), await pods(world)
        world.member(old).place.audit = refusing("PATCH", 500)
        await world.stop_controllers()
        assert set((await takes_over(world)).away) == {old}
        await world.client.patch(DEPLOYMENTS, "web", {"metadata": {"labels": {"new": "1"}}}, "default")
        await world.sleep(600)
        assert (await identities(world, "web"), await pods(world)) == before
        assert world.is_ready(old)
        assert fence_of(world, old) == NOT_TOLD
        (found,) = (f for f in (await look_at_fleet(world.client, world.clock)).findings if "HTTP 500" in f.sentence)
        assert found.severity is Severity.NEEDS_SOMEBODY
        assert f"{old}: PATCH {PATH}: HTTP 500, so nothing is written there" in found.sentence
        world.member(old).place.audit = None
        await world.until(lambda: not fence_of(world, old), 120)

    play(story, PUSHED)


def test_an_agent_that_may_not_mark_its_member_says_so() -> None:
    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 2), policy("web", on("member1")))
        await world.sleep(60)
        before = await identities(world, "web"), await pods(world)
        world.member("member1").place.audit = refusing("PATCH")
        await die(world)
        await world.start_apiserver()
        await takes_over(world)
        await world.member("member1").stop_agent()
        world.member("member1").start_agent()
        await world.sleep(600)
        assert (await identities(world, "web"), await pods(world)) == before
        assert world.is_ready("member1")
        assert fence_of(world, "member1") == NOT_FENCED

    play(story, {"member1": "Pull"})


def test_s15_a_hub_that_is_restored_from_before_the_take_over_is_fenced_until_it_takes_over() -> None:
    async def story(first: World) -> None:
        await placed(first)
        hour_ago = await first.medium.load()
        await die(first)
        async with copied_hub(first, hour_ago) as second:
            await takes_over(second)
            await apply(second.client, deployment("shop", 2), policy("shop", SPREAD))
            await second.sleep(120)
        before = await identities(first, "shop")
        assert set(before) == set(PUSHED)
        await come_back(first)
        await first.sleep(300)
        assert not any(map(first.is_ready, PUSHED))
        await first.stop_controllers()
        with pytest.raises(OperationFailed, match="members obey generation 1"):
            await takes_over(first)
        assert (await takes_over(first, force=True)).generation.number == 2
        await first.until(lambda: all(map(first.is_ready, PUSHED)), 120)
        assert await identities(first, "shop") == before

    play(story, PUSHED)


def test_s8_a_hub_that_works_in_most_members_gives_way_to_none_whose_clock_is_behind() -> None:
    """The second reaches two members. The third reaches the other one alone, an hour later by a clock that is two hours
    behind: it may be the machine that is cut off."""

    async def story(first: World) -> None:
        old = await placed(first)
        others = tuple(sorted(set(PUSHED) - {old}))
        copy = await first.medium.load()
        await die(first)
        async with copied_hub(first, copy) as second, copied_hub(first, copy, 2) as third:
            first.member(old).pause()
            mine = await takes_over(second)
            assert (mine.fenced, set(mine.away)) == (others, {old})
            await second.stop_controllers()
            await first.sleep(3_600)
            first.member(old).resume()
            for name in others:
                first.member(name).pause()
            with pytest.raises(OperationFailed, match=r"1 of 3 members answer: .* another hub may serve the others"):
                await takes_over(third)
            theirs = await takes_over(third, force=True, clock=SkewedClock(-7_200))
            assert (theirs.fenced, set(theirs.away)) == ((old,), set(others))
            assert theirs.generation.number == mine.generation.number
            assert theirs.generation.claim < mine.generation.claim
            for name in others:
                first.member(name).resume()
            before = await identities(first, "web")
            second.start_controllers()
            await second.until(lambda: all(map(second.is_ready, PUSHED)), 300)
            await third.sleep(60)
            await third.client.delete(DEPLOYMENTS, "web", "default")
            await third.sleep(600)
            assert await identities(first, "web") == before
            assert all(map(second.is_ready, PUSHED))
            assert not any(map(third.is_ready, PUSHED))
            found = (await look_at_fleet(third.client, third.clock)).findings
            assert any("from the same copy" in each.sentence for each in found)
            await third.stop_controllers()
            with pytest.raises(OperationFailed, match="members obey generation 1"):
                await takes_over(third)
            assert set((await takes_over(third, force=True)).fenced) == set(PUSHED)

    play(story, PUSHED)


def test_s5_an_agent_refuses_an_older_hub() -> None:
    async def story(first: World) -> None:
        await apply(first.client, deployment("web", 2), policy("web", on("member1")))
        await first.sleep(60)
        before = await identities(first, "web")
        copy = await first.medium.load()
        await takes_over(first)
        await first.sleep(120)
        await die(first)
        first.medium.replace(copy)
        await come_back(first)
        await first.client.delete(DEPLOYMENTS, "web", "default")
        await first.sleep(300)
        assert await identities(first, "web") == before
        assert reason_of(first, "member1") == ("False", "StatusCollectionFailed")

    play(story, {"member1": "Pull"})


def accept_version(store: Store, revision: int | None) -> None:
    """Accepts a version that is to come, as a kube-apiserver does for a watch."""


def test_l6_an_agent_hears_a_copy_that_takes_over_at_the_address_of_its_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name in the DNS, say. A kube-apiserver tells nothing, for good, to a watch from a version that is to come."""
    monkeypatch.setattr(watching, "check_not_future", accept_version)
    monkeypatch.setattr(Store, "_check_readable", accept_version)

    async def story(first: World) -> None:
        await apply(first.client, deployment("web", 2), policy("web", on("member1")))
        await first.sleep(60)
        copy = await first.medium.load()
        for n in range(400):
            await first.client.create(CONFIG_MAPS, {"metadata": {"name": f"late{n}"}}, "kube-system")
        await first.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 5}}, "default")
        await first.sleep(60)
        assert await ready_replicas(first, "member1", "web") == 5
        await die(first)
        first.medium.replace(copy)
        await first.start_apiserver()
        await takes_over(first)
        await first.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "default")
        await first.sleep(120)
        assert await ready_replicas(first, "member1", "web") == 3

    play(story, {"member1": "Pull"})


def test_l5_a_fleet_that_nobody_took_over_asks_and_writes_no_more_than_before() -> None:
    async def story(world: World) -> None:
        await placed(world)
        seen: list[str] = []
        world.member("member1").place.witness = lambda request, user: seen.append(f"{request.method} {request.path}")
        await world.sleep(600)
        assert f"PATCH {PATH}" not in seen
        assert seen.count(f"GET {PATH}") == 60, "the probes' own"

    play(story, PUSHED)
