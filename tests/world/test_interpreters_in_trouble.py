"""Interpreters in trouble: what a script or a webhook does not answer is not known, and nothing is taken away on it."""

import pytest

from kubeapi.meta import Manifest
from leeward.api.resource import RESOURCE_INTERPRETER_CUSTOMIZATIONS
from leeward.sim.world import Mode, World
from tests.world.stories import apply, deployment, held, identities, play, policy, tasks, without_room
from tests.world.test_restored import ONE_COPY

PUSHED: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push"}
WEB = "web-deployment"
NO_COUNT = {
    "fails": "function ReflectStatus(o) error('no') end",
    "leaves the counts out": "function ReflectStatus(o) return {phase = 'Running'} end",
    "says too much": "function ReflectStatus(o) return {big = string.rep('x', 1000000), readyReplicas = 3} end",
}


def customizing(**scripts: str) -> Manifest:
    """Of Deployments."""
    customizations = {name: {"luaScript": text} for name, text in scripts.items()}
    target = {"apiVersion": "apps/v1", "kind": "Deployment"}
    return {"metadata": {"name": "deployments"}, "spec": {"target": target, "customizations": customizations}}


@pytest.mark.parametrize("script", NO_COUNT.values(), ids=NO_COUNT)
def test_s1_a_copy_whose_status_no_script_tells_is_not_taken_for_one_that_serves_nothing(script: str) -> None:
    """It is back with all its replicas, its replacement never becomes ready, and the grace period is long over."""

    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 3), policy("web", ONE_COPY))
        await world.until(lambda: len(world.assigned(WEB)) == 1, 60)
        await world.sleep(60)
        (old,) = world.assigned(WEB)
        for name in PUSHED:
            if name != old:
                await without_room(world, name)
        before = await identities(world, "web", [old])
        await world.member(old).stop()
        await world.until(lambda: old not in world.assigned(WEB), 900)
        await world.client.create(RESOURCE_INTERPRETER_CUSTOMIZATIONS, customizing(statusReflection=script))
        await world.member(old).start()
        for _ in range(90):
            await world.sleep(20)
            assert await identities(world, "web", [old]) == before
        assert old in tasks(world, WEB)
        assert held(world, WEB) == "ReplacementMissing"

    play(story, PUSHED)
