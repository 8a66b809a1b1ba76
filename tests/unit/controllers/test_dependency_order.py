"""The order of a new copy: how long it waits for what its template names, and from when on."""

import asyncio

from kubeapi.meta import Manifest
from leeward.api.resource import RESOURCE_BINDINGS
from leeward.api.work import ResourceBinding
from leeward.controllers.gates.dependency_order import DependencyOrder
from leeward.core.dependencies.requirements import LONGEST_WAIT
from leeward.core.propagation.reach import Reach
from leeward.runtime.templates import Templates
from tests.unit.controllers.desk import CLOCK, CONFIG_MAPS, MEMBER, Desk, play

NAME = "web-deployment"
CONTAINER = {"name": "main", "image": "nginx", "envFrom": [{"configMapRef": {"name": "settings"}}]}
TEMPLATE: Manifest = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"template": {"spec": {"containers": [CONTAINER]}}},
}


async def following(desk: Desk, **where: object) -> ResourceBinding:
    """A binding that has what its template names follow it; the ConfigMap is nowhere but in the control plane."""
    await desk.client.create(CONFIG_MAPS, {"metadata": {"name": "settings"}}, "default")
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}
    spec = {"resource": resource, "replicas": 1, "propagateDeps": True, **where}
    return await desk.client.create(RESOURCE_BINDINGS, {"metadata": {"name": NAME}, "spec": spec}, "default")


async def changed(desk: Desk, patch: Manifest) -> ResourceBinding:
    """The binding after a change that was told a second later."""
    binding = await desk.client.patch(RESOURCE_BINDINGS, NAME, patch, "default")
    await asyncio.sleep(1)
    return binding


def test_a_cluster_that_only_those_who_need_it_name_waits_once_whatever_is_written_meanwhile() -> None:
    async def story(desk: Desk) -> None:
        needing = {"name": "api-deployment", "namespace": "default", "clusters": [{"name": MEMBER}]}
        binding = await following(desk, requiredBy=[needing])
        order = DependencyOrder(desk.plane, Templates(desk.plane.server), Reach())
        order.start(lambda _: None)
        until = await order.wait(binding, TEMPLATE, MEMBER)
        assert until == CLOCK.now() + LONGEST_WAIT
        binding = await changed(desk, {"metadata": {"annotations": {"example.com/changed": "meanwhile"}}})
        assert await order.wait(binding, TEMPLATE, MEMBER) == until
        await asyncio.sleep(LONGEST_WAIT.total_seconds())
        assert await order.wait(binding, TEMPLATE, MEMBER) is None

    play(story)


def test_a_cluster_that_was_left_and_is_a_target_again_waits_anew() -> None:
    async def story(desk: Desk) -> None:
        here: list[Manifest] = [{"name": MEMBER, "replicas": 1}]
        binding = await following(desk, clusters=here)
        order = DependencyOrder(desk.plane, Templates(desk.plane.server), Reach())
        order.start(lambda _: None)
        first = await order.wait(binding, TEMPLATE, MEMBER)
        await changed(desk, {"spec": {"clusters": []}})
        await asyncio.sleep(60)
        binding = await changed(desk, {"spec": {"clusters": here}})
        again = await order.wait(binding, TEMPLATE, MEMBER)
        assert first is not None
        assert again == CLOCK.now() + LONGEST_WAIT

    play(story)
