"""Interpreters in trouble: what a script or a webhook does not answer is not known, and nothing is taken away on it."""

import asyncio
import json
from dataclasses import replace

import pytest

from kubeapi.core import EVENTS
from kubeapi.loop.clock import Clock
from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, Response, Unreachable
from leeward.api.interpreter_config import ResourceInterpreterWebhook
from leeward.api.resource import RESOURCE_INTERPRETER_CUSTOMIZATIONS, RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.work_share import WHOLE, WorkShare
from leeward.sim.world import Mode, World
from tests.security.worlds import UnaskedWorld, play_in
from tests.variants import mostly_long
from tests.world.stories import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    apply,
    by_weight,
    deployment,
    held,
    identities,
    in_world,
    policy,
    tasks,
    without_room,
)
from tests.world.test_dependencies import config, followed, reading
from tests.world.test_kinds import CRON_TABS, appears
from tests.world.test_overrides import CRDS
from tests.world.test_restored import ONE_COPY
from tests.world.test_scripted_kinds import CUSTOMIZATION, given_a_scripted_kind

PUSHED: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push"}
PUSH_AND_PULL: dict[str, Mode] = {"member1": "Push", "member2": "Pull"}
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
    """Customization of Deployments."""
    customizations = {name: {"luaScript": text} for name, text in scripts.items()}
    target = {"apiVersion": "apps/v1", "kind": "Deployment"}
    return {"metadata": {"name": "deployments"}, "spec": {"target": target, "customizations": customizations}}


@pytest.mark.long
@pytest.mark.parametrize("script", mostly_long(NO_COUNT.values(), NO_COUNT["fails"]), ids=NO_COUNT)
@in_world(PUSHED)
async def test_s1_a_copy_whose_status_no_script_tells_is_not_taken_for_one_that_serves_nothing(
    world: World, script: str
) -> None:
    """The copy is back with all replicas, its replacement never becomes ready, and the grace period is long over."""
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


async def spoil(world: World) -> None:
    """Spoils it as by a change of the CRD by somebody: what is stored has another form than we know."""
    crd = await world.client.get(CRDS, f"{RAW_CUSTOMIZATIONS.plural}.{RAW_CUSTOMIZATIONS.group}")
    (version,) = crd["spec"]["versions"]
    anything = {"x-kubernetes-preserve-unknown-fields": True, "type": "object"}
    version["schema"]["openAPIV3Schema"]["properties"]["spec"] = anything
    await world.client.update(CRDS, crd, crd["metadata"]["name"])
    script = {"replicaResource": {"luaScript": 7}}
    await world.client.patch(RAW_CUSTOMIZATIONS, "cron-tabs", {"spec": {"customizations": script}})


def test_s3_a_customization_that_cannot_be_read_any_more_leaves_what_was_divided_by_it() -> None:
    """This holds also for controllers that have never read it: without it each cluster would get the whole."""

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


class HookedWorld(World):
    """World with a webhook for Deployments, which answers, `fails`, `hangs`, or knows of `nothing` for a moment."""

    mood = "answers"

    def plane(
        self, client: Client, supervisor: Supervisor, clock: Clock | None = None, share: WorkShare = WHOLE
    ) -> ControlPlane:
        return replace(super().plane(client, supervisor, clock, share), call_webhook=self.call)

    async def call(self, hook: ResourceInterpreterWebhook, body: bytes) -> Response:
        if self.mood in ("fails", "hangs"):
            await asyncio.sleep(10 if self.mood == "hangs" else 0)
            raise Unreachable("no answer")
        request = json.loads(body)["request"]
        settings = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "settings"}
        knows = self.mood != "nothing"
        said: Manifest = {"uid": request["uid"], "successful": True}
        match request["operation"]:
            case "InterpretDependency":
                said["dependencies"] = [settings] if knows else []
            case _:
                said["replicas"] = request["object"]["spec"]["replicas"] if knows else 0
        return Response(200, json.dumps({"response": said}).encode(), {})


def hook(operation: str) -> Manifest:
    rule = {"operations": [operation], "apiGroups": ["apps"], "apiVersions": ["v1"], "kinds": ["Deployment"]}
    client = {"clientConfig": {"url": "https://hooks.example"}, "interpreterContextVersions": ["v1alpha1"]}
    return {"metadata": {"name": "hooks"}, "webhooks": [{"name": "hooks.example", **client, "rules": [rule]}]}


async def divided(world: World) -> object:
    """State of the application and of what it needs: uids, replicas, and where it is assigned."""
    copies = [await world.member(name).client.get(DEPLOYMENTS, "web", "default") for name in world.members]
    settings = await identities(world, "settings", resource=CONFIG_MAPS)
    counts = [(each["metadata"]["uid"], each["spec"]["replicas"]) for each in copies]
    return counts, settings, world.assigned(WEB)


async def hooked(world: World, operation: str) -> object:
    """State of the application once it runs."""
    await world.client.create(RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS, hook(operation))
    wanted = followed("web", by_weight({"member1": 2, "member2": 1}))
    made = deployment("web", 6) if operation == "InterpretDependency" else reading("web", "settings", replicas=6)
    await apply(world.client, config("settings"), wanted, made)
    await world.sleep(90)
    return await divided(world)


@pytest.mark.parametrize("mood", mostly_long(["fails", "hangs", "nothing"], "nothing"))
@pytest.mark.parametrize("operation", ["InterpretDependency", "InterpretReplica"])
def test_s1_s3_what_a_webhook_does_not_say_for_a_moment_takes_nothing_away(operation: str, mood: str) -> None:
    """Controllers that start ask it anew of everything."""

    async def story(world: World) -> None:
        assert isinstance(world, HookedWorld)
        before = await hooked(world, operation)
        assert world.assigned(WEB) == {"member1": 4, "member2": 2}
        await world.stop_controllers()
        world.mood = mood
        world.start_controllers()
        for _ in range(10):
            await world.sleep(5)
            assert await divided(world) == before
        world.mood = "answers"
        await world.sleep(600)
        assert await divided(world) == before

    play_in(HookedWorld, story, PUSH_AND_PULL)


@pytest.mark.long
def test_s1_a_webhook_that_names_nothing_while_the_template_changes_takes_nothing_from_under_a_copy() -> None:
    async def story(world: World) -> None:
        assert isinstance(world, HookedWorld)
        await hooked(world, "InterpretDependency")
        before = await identities(world, "settings", resource=CONFIG_MAPS)
        assert set(before) == set(PUSH_AND_PULL)
        world.mood = "nothing"
        await world.client.patch(DEPLOYMENTS, "web", {"metadata": {"labels": {"tier": "front"}}}, "default")
        await world.sleep(45)
        assert await identities(world, "settings", resource=CONFIG_MAPS) == before
        world.mood = "answers"
        await world.sleep(600)
        assert await identities(world, "settings", resource=CONFIG_MAPS) == before
        world.mood = "nothing"
        await world.client.patch(DEPLOYMENTS, "web", {"metadata": {"labels": {"tier": "back"}}}, "default")
        await world.sleep(480)
        assert await identities(world, "settings", resource=CONFIG_MAPS) == {}, "what stands is believed"

    play_in(HookedWorld, story, PUSH_AND_PULL)


def test_s1_what_a_webhook_named_less_of_before_a_change_is_doubted_after_it() -> None:
    async def story(world: World) -> None:
        assert isinstance(world, HookedWorld)
        await hooked(world, "InterpretDependency")
        before = await identities(world, "settings", resource=CONFIG_MAPS)
        world.mood = "nothing"
        await world.client.patch(DEPLOYMENTS, "web", {"metadata": {"labels": {"tier": "front"}}}, "default")
        await world.sleep(30)
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 9}}, "default")
        await world.sleep(60)
        assert world.assigned(WEB) == {"member1": 6, "member2": 3}
        assert await identities(world, "settings", resource=CONFIG_MAPS) == before
        world.mood = "answers"
        await world.sleep(600)
        assert await identities(world, "settings", resource=CONFIG_MAPS) == before

    play_in(HookedWorld, story, PUSH_AND_PULL)


def test_another_number_of_replicas_that_a_webhook_stands_by_is_believed() -> None:
    async def story(world: World) -> None:
        assert isinstance(world, HookedWorld)
        await hooked(world, "InterpretReplica")
        await world.stop_controllers()
        world.mood = "nothing"
        world.start_controllers()
        await world.sleep(480)
        assert world.assigned(WEB) == {"member1": 0, "member2": 0}
        told = [event.message for event in (await world.client.list(EVENTS, "default")).items]
        assert any("its webhook counts 0 replicas now, and 6 before" in each for each in told)

    play_in(HookedWorld, story, PUSH_AND_PULL)
