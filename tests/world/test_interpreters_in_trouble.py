"""Interpreters in trouble: what a script or a webhook does not answer is not known, and nothing is taken away on it."""

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.resource import EVENTS, RESOURCE_INTERPRETER_CUSTOMIZATIONS
from leeward.sim.world import Mode, World
from tests.security.worlds import UnaskedWorld, play_in
from tests.world.stories import apply, deployment, held, identities, play, policy, tasks, without_room
from tests.world.test_kinds import CRON_TABS, appears
from tests.world.test_overrides import CRDS
from tests.world.test_restored import ONE_COPY
from tests.world.test_scripted_kinds import CUSTOMIZATION, given_a_scripted_kind

PUSHED: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push"}
WEB = "web-deployment"
RAW_CUSTOMIZATIONS = Resource.of_manifests(
    RESOURCE_INTERPRETER_CUSTOMIZATIONS.api_version,
    RESOURCE_INTERPRETER_CUSTOMIZATIONS.plural,
    RESOURCE_INTERPRETER_CUSTOMIZATIONS.kind,
    False,
)
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


async def spoil(world: World) -> None:
    """As after a change of the CRD by somebody: what is stored has another form than we know."""
    crd = await world.client.get(CRDS, f"{RAW_CUSTOMIZATIONS.plural}.{RAW_CUSTOMIZATIONS.group}")
    (version,) = crd["spec"]["versions"]
    anything = {"x-kubernetes-preserve-unknown-fields": True, "type": "object"}
    version["schema"]["openAPIV3Schema"]["properties"]["spec"] = anything
    await world.client.update(CRDS, crd, crd["metadata"]["name"])
    script = {"replicaResource": {"luaScript": 7}}
    await world.client.patch(RAW_CUSTOMIZATIONS, "cron-tabs", {"spec": {"customizations": script}})


def test_s3_a_customization_that_cannot_be_read_any_more_leaves_what_was_divided_by_it() -> None:
    """Also for controllers that have never read it: without it each cluster would get the whole."""

    async def story(world: World) -> None:
        async def there() -> list[tuple[str, int, int]]:
            found = [await appears(world, name, CRON_TABS, "nightly", "default") for name in world.members]
            return [
                (each["metadata"]["uid"], each["metadata"]["generation"], each["spec"]["workers"]) for each in found
            ]

        await given_a_scripted_kind(world)
        await world.sleep(30)
        before = await there()
        assert [workers for _, _, workers in before] == [4, 2]
        await spoil(world)
        await world.stop_controllers()
        for member in world.members.values():
            await member.stop()
            await member.start()
        world.start_controllers()
        await world.sleep(120)
        assert await there() == before
        assert world.assigned("nightly-crontab") == {"member1": 4, "member2": 2}
        told = [event.message for event in (await world.client.list(EVENTS, "default")).items]
        assert any("customization cron-tabs: " in each and "cannot be read" in each for each in told), told
        script = CUSTOMIZATION["spec"]["customizations"]["replicaResource"]
        await world.client.patch(
            RAW_CUSTOMIZATIONS, "cron-tabs", {"spec": {"customizations": {"replicaResource": script}}}
        )
        await world.client.patch(CRON_TABS, "nightly", {"spec": {"workers": 9}}, "default")
        await world.sleep(120)
        assert [workers for _, _, workers in await there()] == [6, 3], "and then all goes on"

    play_in(UnaskedWorld, story, {"member1": "Push", "member2": "Pull"})
