"""Ownership of an object in a member: two control planes on the same members, and others who undo what is written."""

import asyncio
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress

import pytest

from kubeapi.core import EVENTS, NAMESPACES
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest, annotations_of
from kubeclient import Client, NotFound, Request
from kubecluster.network import Place
from leeward.api.names import HUB_ANNOTATION, KUBE_SYSTEM_NAMESPACE, execution_space, work_name
from leeward.api.resource import WORKS
from leeward.api.work import Work
from leeward.manager.timing import Timing
from leeward.sim.world import Mode, World
from tests.world.stories import CONFIG_MAPS, DEPLOYMENTS, apply, deployment, in_world, play, policy, ready_replicas
from tests.world.test_detection import answers

TWO: Mapping[str, Mode] = {"member1": "Push", "member2": "Pull"}
WEB = work_name("Deployment", "web", "default")
WRITES = ("POST", "PUT", "PATCH", "DELETE")


def on(*members: str) -> Manifest:
    return {"clusterAffinity": {"clusterNames": list(members)}}


async def identity(world: World) -> str:
    return (await world.client.get(NAMESPACES, KUBE_SYSTEM_NAMESPACE)).metadata.uid


async def work_of(world: World, member: str, name: str = WEB) -> Work:
    return await world.client.get(WORKS, name, execution_space(member))


async def applied(world: World, member: str, name: str = WEB) -> tuple[str, str]:
    condition = (await work_of(world, member, name)).applied
    return (condition.status, condition.message) if condition is not None else ("", "")


async def copy_of(world: World, member: str, name: str = "web") -> Manifest:
    return await world.member(member).client.get(DEPLOYMENTS, name, "default")


async def web_runs(world: World, *members: str, replicas: int = 2, image: str = "a") -> None:
    await apply(world.client, deployment("web", replicas, image), policy("web", on(*members)))
    await world.sleep(30)


@contextmanager
def counted(place: Place, *methods: str, end: str = "/deployments/web") -> Generator[list[str], None, None]:
    """The requests of these methods to one object."""
    seen: list[str] = []

    def note(request: Request) -> None:
        if request.method in methods and request.path.endswith(end):
            seen.append(request.method)

    answers(place, note)
    yield seen
    place.audit = None


@asynccontextmanager
async def second_control_plane(first: World) -> AsyncGenerator[World, None]:
    """Another one, which has the first one's Push members."""
    second = World({}, Timing.karmada(), 1, clock=first.clock)
    second._members = first._members  # pyright: ignore[reportPrivateUsage]
    await second.start_control_plane()
    members = [member for member in first.members.values() if member.mode == "Push"]
    for member in members:
        await second.register(member, second.client)
    second._observe()  # pyright: ignore[reportPrivateUsage]
    await second.until(lambda: all(second.is_ready(member.name) for member in members), 60)
    try:
        yield second
    finally:
        await second.stop_controllers()
        await second.stop_apiserver()


@asynccontextmanager
async def somebody_who_sets_image(client: Client, image: str) -> AsyncGenerator[None, None]:
    """Whenever another one is there, within 50 ms."""

    async def insist() -> None:
        while True:
            found = await client.get(DEPLOYMENTS, "web", "default")
            container = found["spec"]["template"]["spec"]["containers"][0]
            if container["image"] != image:
                containers = [{**container, "image": image}]
                patch = {"spec": {"template": {"spec": {"containers": containers}}}}
                await client.patch(DEPLOYMENTS, "web", patch, "default")
            await asyncio.sleep(0.05)

    task = asyncio.get_running_loop().create_task(insist())
    try:
        yield
    finally:
        task.cancel()


@in_world(TWO)
async def test_objects_carry_the_control_planes_identity_in_push_and_pull(world: World) -> None:
    await web_runs(world, "member1", "member2")
    hub = await identity(world)
    for member in TWO:
        assert annotations_of(await copy_of(world, member))[HUB_ANNOTATION] == hub


def test_two_control_planes_leave_each_others_objects_alone_s6() -> None:
    async def run() -> None:
        async with World(TWO, Timing.karmada(), 0) as first:
            await first.until(lambda: all(first.is_ready(name) for name in TWO), 60)
            async with second_control_plane(first) as second:
                await web_runs(first, "member1", image="a")
                before = await copy_of(first, "member1")
                with counted(first.member("member1").place, *WRITES, "GET") as requests:
                    await web_runs(second, "member1", replicas=3, image="b")
                    assert set(requests) == {"GET"}
                    assert len(requests) <= 3, (
                        "asked for each word of it in the beginning, and known from the watch then"
                    )
                    await second.client.delete(DEPLOYMENTS, "web", "default")
                    await second.sleep(30)
                    assert "DELETE" not in requests
                assert (await copy_of(first, "member1"))["metadata"]["resourceVersion"] == before["metadata"][
                    "resourceVersion"
                ]
                assert await ready_replicas(first, "member1", "web") == 2
                assert await applied(first, "member1") == ("True", "Manifest has been successfully applied")

    run_virtual(run())


def test_an_object_of_another_control_plane_is_named_and_taken_over_when_it_is_given_up() -> None:
    async def run() -> None:
        async with World(TWO, Timing.karmada(), 0) as first:
            await first.until(lambda: all(first.is_ready(name) for name in TWO), 60)
            async with second_control_plane(first) as second:
                await web_runs(first, "member1", image="a")
                await web_runs(second, "member1", replicas=3, image="b")
                status, message = await applied(second, "member1")
                assert status == "False"
                for part in (await identity(first), await identity(second), HUB_ANNOTATION, "member1"):
                    assert part in message
                noted = [e.series_count for e in await events_of(second, "SyncFailed")]
                assert noted == [1], "said once"
                await first.stop_controllers()
                patch = {"metadata": {"annotations": {HUB_ANNOTATION: None}}}
                await first.member("member1").client.patch(DEPLOYMENTS, "web", patch, "default")
                await second.sleep(5)
                found = await copy_of(first, "member1")
                assert annotations_of(found)[HUB_ANNOTATION] == await identity(second)
                assert found["spec"]["replicas"] == 3

    run_virtual(run())


class Told:
    def __init__(self, series_count: int, message: str) -> None:
        self.series_count = series_count
        self.message = message


async def events_of(world: World, reason: str) -> list[Told]:
    found = (await world.client.list(EVENTS, execution_space("member1"))).items
    return [Told(event.count or 1, event.message) for event in found if event.reason == reason]


@in_world(TWO)
async def test_what_carries_no_identity_is_ours_and_gets_it_with_the_next_write(world: World) -> None:
    await web_runs(world, "member1", "member2")
    await world.stop_controllers()
    for name in TWO:
        await world.member(name).stop_agent()
        patch = {"metadata": {"annotations": {HUB_ANNOTATION: None}}}
        await world.member(name).client.patch(DEPLOYMENTS, "web", patch, "default")
    with counted(world.member("member1").place, *WRITES) as writes:
        world.start_controllers()
        world.member("member2").start_agent()
        await world.sleep(60)
        assert writes == [], "an upgrade does not write everything anew"
    assert await applied(world, "member1") == ("True", "Manifest has been successfully applied")
    await world.client.patch(DEPLOYMENTS, "web", {"metadata": {"labels": {"new": "1"}}}, "default")
    await world.sleep(30)
    for name in TWO:
        assert annotations_of(await copy_of(world, name))[HUB_ANNOTATION] == await identity(world)


def test_a_control_plane_made_anew_takes_over_with_its_predecessors_identity() -> None:
    async def run() -> None:
        async with World(TWO, Timing.karmada(), 0) as first:
            await first.until(lambda: all(first.is_ready(name) for name in TWO), 60)
            await web_runs(first, "member1")
            before = await copy_of(first, "member1")
            await first.stop_controllers()
            async with second_control_plane(first) as second:
                patch = {"metadata": {"annotations": {HUB_ANNOTATION: await identity(first)}}}
                await second.client.patch(NAMESPACES, KUBE_SYSTEM_NAMESPACE, patch)
                await second.sleep(60)
                await web_runs(second, "member1", image="b")
                after = await copy_of(first, "member1")
                assert (await applied(second, "member1"))[0] == "True"
                assert after["metadata"]["uid"] == before["metadata"]["uid"]
                assert after["spec"]["template"]["spec"]["containers"][0]["image"] == "b"

    run_virtual(run())


@pytest.mark.long
@in_world(TWO)
async def test_one_drift_is_mended_at_once_and_a_fight_slows_down(world: World) -> None:
    await web_runs(world, "member1")
    place = world.member("member1").place
    with counted(place, "PUT") as puts:
        async with somebody_who_sets_image(world.member("member1").client, "theirs"):
            await world.sleep(5)
            assert 2 <= len(puts) <= 5, "the first ones at once"
            await world.sleep(600)
            assert len(puts) <= 12
            status, message = await applied(world, "member1")
            assert status == "False"
            assert "changed back" in message
            assert "member1" in message
            told = await events_of(world, "WriteUndone")
            assert 1 <= sum(event.series_count for event in told) <= len(puts)
        del puts[:]
        await world.sleep(300)
        assert len(puts) == 1, "who fought has gone"
    found = await copy_of(world, "member1")
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "a"
    assert await applied(world, "member1") == ("True", "Manifest has been successfully applied")
    await world.sleep(700)
    await world.member("member1").client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 1}}, "default")
    await world.sleep(1)
    assert (await copy_of(world, "member1"))["spec"]["replicas"] == 2, "a single drift is mended at once"


@pytest.mark.long
@in_world(TWO)
async def test_other_contents_are_written_at_once_in_the_middle_of_a_fight(world: World) -> None:
    await web_runs(world, "member1")
    async with somebody_who_sets_image(world.member("member1").client, "theirs"):
        await world.sleep(400)
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 4}}, "default")
        await world.sleep(2)
        assert (await copy_of(world, "member1"))["spec"]["replicas"] == 4


@pytest.mark.long
@in_world(TWO)
async def test_what_is_deleted_again_and_again_comes_back_less_and_less_often(world: World) -> None:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"a": "1"}}
    await apply(world.client, manifest, policy("web", on("member1"), "ConfigMap", "v1"))
    await world.sleep(30)
    client = world.member("member1").client

    async def insist() -> None:
        while True:
            with suppress(NotFound):
                await client.delete(CONFIG_MAPS, "web", "default")
            await asyncio.sleep(0.05)

    with counted(world.member("member1").place, "POST", end="/configmaps") as created:
        task = asyncio.get_running_loop().create_task(insist())
        await world.sleep(600)
        task.cancel()
        assert 2 <= len(created) <= 12
        status, message = await applied(world, "member1", work_name("ConfigMap", "web", "default"))
        assert status == "False"
        assert "deleted" in message


@pytest.mark.parametrize(
    ("labels", "fault"),
    [
        ({f"k{number}": "v" for number in range(5_000)}, "metadata.labels: Too many: 5004"),
        ({f"k{number:05}".ljust(60, "x"): "v" for number in range(4_900)}, "metadata.annotations: Too long"),
    ],
    ids=["many", "long"],
)
def test_labels_that_leave_no_room_for_marks_say_so(labels: dict[str, str], fault: str) -> None:
    """The control plane takes the template: a member refuses it together with what the control plane adds."""

    async def story(world: World) -> None:
        web = {**deployment("web", 2), "metadata": {"name": "web", "labels": labels}}
        await apply(world.client, web, policy("web", on("member1")))
        await world.sleep(60)
        status, said = await applied(world, "member1")
        assert (status, fault in said, "the control plane adds some" in said) == ("False", True, True), said
        binding = world.binding("web-deployment")
        assert binding is not None
        assert [each.applied_message for each in binding.status.aggregated_status] == [said]

    play(story, TWO)
