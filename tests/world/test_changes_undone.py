"""Changes of a template that are undone while they are carried out: the members have what the template says last."""

import asyncio
from collections.abc import Callable, Mapping

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Request, Response
from kubecluster.network import Answering
from kubeserver.handler import StreamResponse
from leeward.sim.world import World
from tests.world.stories import CONFIG_MAPS, apply, in_world, policy
from tests.world.test_overrides import BOTH, TWO

JOBS = Resource.of_manifests("batch/v1", "jobs", "Job", True)
CONTAINER = {"name": "main", "image": "nginx"}
JOB: Manifest = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "web"},
    "spec": {
        "parallelism": 2,
        "completions": 1000,
        "template": {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}},
    },
}


def delay(world: World, binding: str, *seconds: float) -> None:
    """Has the writes into a binding by which a template is followed under way for so long, one after the other."""
    left = iter(seconds)

    async def audit(request: Request, answer: Callable[[], Answering]) -> Response | StreamResponse:
        if request.method == "PATCH" and request.path.endswith(f"/{binding}") and b"digest" in request.body:
            await asyncio.sleep(next(left, 0))
        return await answer()

    world.place.audit = audit


@in_world(TWO)
async def test_a_template_that_was_ahead_of_its_binding_and_goes_back_is_rendered_anew(world: World) -> None:
    """b is written into the binding while c is rendered already, and what is written for c meets a conflict: in the end
    the binding says b, as it did."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}, "data": {"mode": "a"}}
    await apply(world.client, config, policy("web", BOTH, "ConfigMap", "v1"))
    await world.sleep(60)
    delay(world, "web-configmap", 1, 1, 1)
    for mode, seconds in (("b", 0.5), ("c", 1.0), ("b", 60.0)):
        await world.client.patch(CONFIG_MAPS, "web", {"data": {"mode": mode}}, "default")
        await world.sleep(seconds)
    for member in world.members.values():
        assert (await member.client.get(CONFIG_MAPS, "web", "default"))["data"] == {"mode": "b"}


@in_world(TWO)
async def test_a_template_that_goes_back_to_what_was_detected_before_is_detected_again(world: World) -> None:
    """The first change is noted as detected when the second one is known already. Nothing of it runs, so that no status
    of it is written."""
    await world.client.create(JOBS, JOB, "default")
    waiting = policy("web", BOTH, "Job", "batch/v1")
    waiting["spec"]["schedulerName"] = "another"
    await apply(world.client, waiting)
    await world.sleep(60)
    delay(world, "web-job", 1.0, 0.05)
    changes: tuple[tuple[Mapping[str, object], float], ...] = (
        ({"metadata": {"annotations": {"a": "b"}}}, 0.5),
        ({"spec": {"parallelism": 6}}, 0.52),
        ({"spec": {"parallelism": 2}}, 60.0),
    )
    for change, seconds in changes:
        await world.client.patch(JOBS, "web", dict(change), "default")
        await world.sleep(seconds)
    binding = world.binding("web-job")
    assert binding is not None
    assert binding.spec.replicas == 2
