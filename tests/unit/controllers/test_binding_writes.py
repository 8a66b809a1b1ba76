"""The binding controller takes nothing away on an old view: no Work, no finalizer, and not on an absence in a cache."""

from collections.abc import Awaitable, Callable, Mapping

from kubeapi.core import CONFIG_MAPS
from kubeapi.meta import format_time
from kubeclient import Request, Response
from kubeserver.handler import StreamResponse
from leeward.api.meta import find_condition
from leeward.api.names import BRAKE_NAME, LEAVING_CONDITION, SYSTEM_NAMESPACE, execution_space, work_name
from leeward.api.resource import RESOURCE_BINDINGS, WORKS
from leeward.api.work import BRAKE_ENGAGED
from leeward.sim.world import Mode, World
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, deployment, play, policy
from tests.world.test_brake_holds_all import ONE_OF_TWO
from tests.world.test_detection import answers

WEB, BINDING, SPACE = work_name("Deployment", "web", "default"), "web-deployment", execution_space("member1")
TWO: Mapping[str, Mode] = {"member1": "Push", "member2": "Push"}
Answering = Awaitable[Response | StreamResponse]


async def web_runs(world: World) -> None:
    placement = {"clusterAffinity": {"clusterNames": ["member1"]}}
    await apply(world.client, deployment("web", 2), policy("web", placement))
    await world.sleep(60)


def before_first(
    world: World, is_it: Callable[[Request], bool], work: Callable[[], Awaitable[object]]
) -> list[Request]:
    """Does `work` in the instant between the sending of a request and its arrival. Returns all such requests."""
    seen: list[Request] = []

    async def answer(request: Request, pass_on: Callable[[], Answering]) -> Response | StreamResponse:
        if is_it(request):
            seen.append(request)
            if len(seen) == 1:
                await work()
        return await pass_on()

    world.place.audit = answer
    return seen


def test_a_work_is_deleted_in_the_version_that_was_seen_s5() -> None:
    async def story(world: World) -> None:
        await web_runs(world)

        async def change() -> None:
            patch = {"metadata": {"annotations": {"example.com/changed": "meanwhile"}}}
            await world.client.patch(WORKS, WEB, patch, SPACE)

        def is_delete(request: Request) -> bool:
            return request.method == "DELETE" and request.path.endswith(f"/works/{WEB}")

        deletes = before_first(world, is_delete, change)
        patch = {"spec": {"placement": {"clusterAffinity": {"clusterNames": ["member2"]}}}}
        await world.client.patch(POLICIES, "web", patch, "default")
        await world.sleep(60)
        assert len(deletes) == 2, "the first one was about a Work that had changed; it was looked at again"
        assert world.work("member1", WEB) is None

    play(story, TWO)


def test_s4_a_removal_that_is_said_to_wait_is_looked_at_when_the_brake_engages_before_that_is_written() -> None:
    """The word itself comes back to who wrote it, and is looked at no more."""

    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 2), policy("web", ONE_OF_TWO))
        await world.sleep(60)
        (home,) = world.assigned(BINDING)
        marks = {"since": format_time(world.clock.now())}

        async def engage() -> None:
            made = {"metadata": {"name": BRAKE_NAME}, "data": marks}
            await world.client.create(CONFIG_MAPS, made, SYSTEM_NAMESPACE)
            await world.sleep(1)

        def is_said(request: Request) -> bool:
            return request.path.endswith(f"/works/{WEB}/status") and LEAVING_CONDITION.encode() in request.body

        said = before_first(world, is_said, engage)
        await world.member(home).stop()
        await world.until(lambda: bool(said), 900)
        await world.sleep(10)
        work = await world.client.get(WORKS, WEB, execution_space(home))
        leaving = find_condition(work.status.conditions, LEAVING_CONDITION)
        assert leaving is not None
        assert leaving.reason == BRAKE_ENGAGED

    play(story, TWO)


def test_a_binding_is_patched_in_the_version_that_was_seen_s5() -> None:
    async def story(world: World) -> None:
        await web_runs(world)

        async def change() -> None:
            patch = {"metadata": {"annotations": {"example.com/changed": "meanwhile"}}}
            await world.client.patch(RESOURCE_BINDINGS, BINDING, patch, "default")

        def is_patch(request: Request) -> bool:
            ends = request.path.endswith(f"/resourcebindings/{BINDING}")
            return request.method == "PATCH" and ends and b"finalizers" in request.body

        patches = before_first(world, is_patch, change)
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(60)
        assert len(patches) == 2, "the first one was about a binding that had changed; it was looked at again"
        assert world.binding(BINDING) is None

    play(story, TWO)


def test_a_work_is_no_orphan_because_a_cache_lacks_its_binding_s5() -> None:
    async def story(world: World) -> None:
        await web_runs(world)
        uid = (await world.client.get(WORKS, WEB, SPACE)).metadata.uid
        await world.stop_controllers()

        def without_bindings(request: Request) -> Response | None:
            if request.method != "GET" or not request.path.endswith("/resourcebindings"):
                return None
            if request.query.get("watch"):
                return Response(410, b'{"kind":"Status","reason":"Expired","code":410}', {})
            return Response(200, b'{"kind":"List","items":[],"metadata":{"resourceVersion":"1"}}', {})

        answers(world.place, without_bindings)
        world.start_controllers()
        await world.sleep(300)
        work = await world.client.get(WORKS, WEB, SPACE)
        assert (work.metadata.uid, work.metadata.deletion_timestamp) == (uid, None)

    play(story, TWO)


def test_a_work_whose_binding_is_gone_is_removed_l3() -> None:
    async def story(world: World) -> None:
        await web_runs(world)
        await world.stop_controllers()
        gone = {"metadata": {"finalizers": None}}
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(5)
        await world.client.patch(RESOURCE_BINDINGS, BINDING, gone, "default")
        assert (await world.client.get(WORKS, WEB, SPACE)).metadata.deletion_timestamp is None
        world.start_controllers()
        await world.sleep(60)
        assert world.work("member1", WEB) is None

    play(story, TWO)
