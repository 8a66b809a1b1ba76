"""Plays the story on a running fleet: creates the application, kills member1, brings it back, and watches.

Every change that the API servers report is looked at, so that two writes are never taken for one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from importlib.resources import files
from typing import Any, Protocol, TypeVar

from controller_runtime import Informer
from kubeapi.codec import parse_yaml
from kubeapi.loop import Randomness, Supervisor, SystemClock
from kubeapi.meta import Manifest, TypedObject
from kubeapi.resource import Resource
from kubeclient import Client
from kubeclient.kubeconfig import load, transport_of
from leeward.api.names import binding_name, cluster_of_execution_space, work_name
from leeward.api.resource import CLUSTERS, PROPAGATION_POLICIES, RESOURCE_BINDINGS, WORKS
from leeward.api.work import ResourceBinding, Work
from leeward.app.demo.scene import APPLICATION, NAMESPACE, Scene
from leeward.app.demo.story import BACK, CREATED, SETTLED, STOPPED, Sight, Story
from leeward.app.local import members
from leeward.app.local.layout import CONTROL_PLANE_CONTEXT, Layout

T = TypeVar("T")

DEPLOYMENTS = Resource.of_manifests("apps/v1", "deployments", "Deployment", True)
WATCHED_MEMBERS = ("member1", "member2")
BINDING = binding_name("Deployment", APPLICATION)
WORK = work_name("Deployment", APPLICATION, NAMESPACE)

SYNC_SECONDS = 10.0
CHAPTER_SECONDS = 45.0
PAUSE_SECONDS = 3.0
SETTLE_SECONDS = 5.0
TICK_SECONDS = 0.25


class Audience(Protocol):
    """Audience that is shown the story."""

    def begin(self, chapter: str) -> None: ...

    def see(self, sight: Sight) -> None: ...

    def tick(self, now: float) -> None:
        """Draws the scene anew: called when anything changed, and several times in a second."""
        ...


async def play(layout: Layout, story: Story, scene: Scene, audience: Audience) -> None:
    """Plays all chapters, or up to the first one in which something was not seen in time."""
    async with AsyncExitStack() as stack:
        supervisor = await stack.enter_async_context(Supervisor("demo"))
        stage = Stage(layout, story, scene, audience)
        stack.push_async_callback(stage.close)
        await stage.watch(supervisor)
        await stage.play()


class Stage:
    """The fleet, seen through informers that keep `scene` up to date."""

    def __init__(self, layout: Layout, story: Story, scene: Scene, audience: Audience) -> None:
        self._layout = layout
        self._story = story
        self._scene = scene
        self._audience = audience
        self._clock = SystemClock()
        self._changed = asyncio.Event()
        self._transports = {
            name: transport_of(load(layout.kubeconfig, name)) for name in (CONTROL_PLANE_CONTEXT, *WATCHED_MEMBERS)
        }
        clients = {name: Client(transport, "leeward-demo") for name, transport in self._transports.items()}
        randomness = Randomness()
        self._control_plane = clients[CONTROL_PLANE_CONTEXT]
        self._clusters = Informer(self._control_plane, CLUSTERS, randomness)
        self._bindings = Informer(self._control_plane, RESOURCE_BINDINGS, randomness, NAMESPACE)
        self._works = Informer(self._control_plane, WORKS, randomness)
        self._deployments = {
            name: Informer(clients[name], DEPLOYMENTS, randomness, NAMESPACE) for name in WATCHED_MEMBERS
        }
        self._follow()

    async def watch(self, supervisor: Supervisor) -> None:
        """Raises: TimeoutError when an API server does not answer."""
        informers = [self._clusters, self._bindings, self._works, *self._deployments.values()]
        for informer in informers:
            supervisor.start(informer.run(), f"informer of {informer.resource.plural}")
        async with asyncio.timeout(SYNC_SECONDS):
            for informer in informers:
                await informer.wait_synced()
        supervisor.start(self._tick(), "tick")

    async def close(self) -> None:
        for transport in self._transports.values():
            await transport.close()

    async def play(self) -> None:
        if not await self._chapter(CREATED, self._create):
            return
        await asyncio.sleep(PAUSE_SECONDS)
        if not await self._chapter(STOPPED, self._stop_member):
            return
        await asyncio.sleep(PAUSE_SECONDS)
        if not await self._chapter(BACK, self._start_member):
            return
        await self._chapter(SETTLED, self._settle)

    async def _chapter(self, name: str, act: Callable[[], Awaitable[None]]) -> bool:
        """Acts, begins the chapter, and returns whether all of it was seen in time."""
        await act()
        self._story.begin(name, self._clock.monotonic())
        self._audience.begin(name)
        self._look()
        try:
            async with asyncio.timeout(CHAPTER_SECONDS):
                while self._story.pending:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def _create(self) -> None:
        resources: dict[str, Resource[Any]] = {"Deployment": DEPLOYMENTS, "PropagationPolicy": PROPAGATION_POLICIES}
        for manifest in parse_yaml((files("leeward.app.demo") / "divided.yaml").read_bytes()):
            await self._control_plane.create(resources[manifest["kind"]], manifest, NAMESPACE)

    async def _stop_member(self) -> None:
        await asyncio.to_thread(members.kill, self._layout, "member1")

    async def _start_member(self) -> None:
        await asyncio.to_thread(members.revive, self._layout, "member1")
        self._deployments["member1"].hurry()

    async def _settle(self) -> None:
        await asyncio.sleep(SETTLE_SECONDS)

    def _follow(self) -> None:
        scene = self._scene
        self._clusters.on_change(lambda old, new: self._keep(scene.clusters, _name(old or new), new))
        self._bindings.on_change(self._take_binding)
        self._works.on_change(self._take_work)
        for member, informer in self._deployments.items():
            informer.on_change(partial(self._take_deployment, member))

    def _take_binding(self, old: ResourceBinding | None, new: ResourceBinding | None) -> None:
        if _name(old or new) == BINDING:
            self._scene.take_binding(new)
            self._look()

    def _take_work(self, old: Work | None, new: Work | None) -> None:
        work = old or new
        if work is not None and work.name == WORK:
            self._keep(self._scene.works, cluster_of_execution_space(work.namespace), new)

    def _take_deployment(self, member: str, old: Manifest | None, new: Manifest | None) -> None:
        if (old or new or {})["metadata"]["name"] == APPLICATION:
            self._keep(self._scene.deployments, member, new)

    def _keep(self, kept: dict[str, T], key: str, value: T | None) -> None:
        if value is None:
            kept.pop(key, None)
        else:
            kept[key] = value
        self._look()

    async def _tick(self) -> None:
        while True:
            self._audience.tick(self._clock.monotonic())
            await asyncio.sleep(TICK_SECONDS)

    def _look(self) -> None:
        now = self._clock.monotonic()
        for sight in self._story.look(self._scene, now):
            self._audience.see(sight)
        self._audience.tick(now)
        self._changed.set()


def _name(obj: TypedObject | None) -> str:
    return obj.name if obj is not None else ""
