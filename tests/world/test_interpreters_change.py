"""A changed customization or webhook has what it touches interpreted anew, by itself; and nothing else."""

from collections.abc import Awaitable, Callable

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.resource import RESOURCE_BINDINGS, RESOURCE_INTERPRETER_CUSTOMIZATIONS, WORKS
from leeward.sim.world import World
from tests.world.stories import CONFIG_MAPS, DEPLOYMENTS, POLICIES, apply, by_weight, deployment, play, policy
from tests.world.test_kinds import CRON_TABS, appears
from tests.world.test_scripted_kinds import given_a_scripted_kind, health, report

MEMBERS = {"member1": "Push", "member2": "Pull"}
CUSTOMIZATION = "cron-tabs"


def scripted(story: Callable[[World], Awaitable[None]]) -> None:
    """Plays a story in which a scripted kind and Deployments beside it are where they are to be."""

    async def given(world: World) -> None:
        await given_a_scripted_kind(world)
        for number in range(3):
            name = f"web-{number}"
            await apply(world.client, deployment(name, 2), policy(name, by_weight({"member1": 1, "member2": 1})))
        for member, done in (("member1", 3), ("member2", 1)):
            await appears(world, member, CRON_TABS, "nightly", "default")
            await report(world, member, done)
        await world.sleep(60)
        await story(world)

    play(given, {"member1": "Push", "member2": "Pull"})


async def change(world: World, **scripts: str | None) -> None:
    """Changes scripts of the customization; None takes a script away."""
    customizations = {name: text and {"luaScript": text} for name, text in scripts.items()}
    body: Manifest = {"spec": {"customizations": customizations}}
    await world.client.patch(RESOURCE_INTERPRETER_CUSTOMIZATIONS, CUSTOMIZATION, body)


async def versions_of_others(world: World) -> dict[str, str]:
    """ResourceVersions, by name, of all that belongs to the Deployments, which no script understands."""
    found: dict[str, str] = {}
    for resource in (DEPLOYMENTS, RESOURCE_BINDINGS, WORKS):
        plain = Resource.of_manifests(resource.api_version, resource.plural, resource.kind, True)
        for each in (await world.client.list(plain)).items:
            name, namespace = each["metadata"]["name"], each["metadata"]["namespace"]
            if name.startswith("web-"):
                found[f"{resource.plural}/{namespace}/{name}"] = each["metadata"]["resourceVersion"]
    assert len(found) == 12, sorted(found)
    return found


def reconciled(world: World, controller: str) -> float:
    """Number of reconciliations by the controllers and the agents of a world."""
    return sum(
        sample.value
        for metric in world.metrics.registry.collect()
        for sample in metric.samples
        if sample.name == "controller_runtime_reconcile_total" and sample.labels["controller"].startswith(controller)
    )


def test_health_is_judged_anew_where_only_the_script_has_changed() -> None:
    async def story(world: World) -> None:
        assert [await health(world, name) for name in MEMBERS] == [["Unhealthy"], ["Unhealthy"]]
        others = await versions_of_others(world)
        looks = {name: reconciled(world, name) for name in ("work-status-controller", "resource-detector")}
        await change(world, healthInterpretation="function InterpretHealth(o) return o.status.done >= 3 end")
        await world.sleep(10)
        assert [await health(world, name) for name in MEMBERS] == [["Healthy"], ["Unhealthy"]]
        assert await versions_of_others(world) == others
        assert reconciled(world, "work-status-controller") - looks["work-status-controller"] <= 4
        assert reconciled(world, "resource-detector") == looks["resource-detector"]
        await world.client.delete(RESOURCE_INTERPRETER_CUSTOMIZATIONS, CUSTOMIZATION)
        await world.sleep(10)
        assert [await health(world, name) for name in MEMBERS] == [["Healthy"], ["Healthy"]]

    scripted(story)


def test_replicas_are_asked_for_anew() -> None:
    async def story(world: World) -> None:
        others = await versions_of_others(world)
        assert world.assigned("nightly-crontab") == {"member1": 4, "member2": 2}
        await change(world, replicaResource="function GetReplicas(o) return o.spec.workers * 2 end")
        await world.sleep(10)
        assert world.assigned("nightly-crontab") == {"member1": 8, "member2": 4}
        assert (await appears(world, "member1", CRON_TABS, "nightly", "default"))["spec"]["workers"] == 8
        assert await versions_of_others(world) == others

    scripted(story)


def test_statuses_are_reflected_and_added_up_anew() -> None:
    async def story(world: World) -> None:
        assert (await world.client.get(CRON_TABS, "nightly", "default"))["status"] == {"done": 4}
        await change(world, statusReflection="function ReflectStatus(o) return {done = o.status.done * 10} end")
        await world.sleep(10)
        assert (await world.client.get(CRON_TABS, "nightly", "default"))["status"] == {"done": 40}
        summing = "function AggregateStatus(o, items) o.status = {copies = #items} return o end"
        await change(world, statusAggregation=summing)
        await world.sleep(10)
        assert (await world.client.get(CRON_TABS, "nightly", "default"))["status"] == {"copies": 2}

    scripted(story)


def test_what_a_script_keeps_no_more_is_written_back() -> None:
    async def story(world: World) -> None:
        there = world.member("member1").client
        await there.patch(CRON_TABS, "nightly", {"spec": {"workers": 9, "node": "n-7"}}, "default")
        await world.sleep(10)
        assert (await there.get(CRON_TABS, "nightly", "default"))["spec"]["workers"] == 4
        keeping = "function Retain(o, seen) o.spec.workers = seen.spec.workers return o end"
        await change(world, retention=keeping)
        await world.sleep(10)
        await there.patch(CRON_TABS, "nightly", {"spec": {"workers": 9}}, "default")
        await world.sleep(10)
        assert (await there.get(CRON_TABS, "nightly", "default"))["spec"]["workers"] == 9
        await change(world, retention=None)
        await world.sleep(60)
        assert (await there.get(CRON_TABS, "nightly", "default"))["spec"]["workers"] == 4

    scripted(story)


def test_what_a_script_names_anew_follows() -> None:
    async def story(world: World) -> None:
        ready = "function ReflectStatus(o) return {done = o.status.done, readyReplicas = 9} end"
        healthy = "function InterpretHealth(o) return true end"
        await change(world, statusReflection=ready, healthInterpretation=healthy)
        await world.client.patch(POLICIES, "nightly", {"spec": {"propagateDeps": True}}, "default")
        settings: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {}}
        await apply(world.client, settings)
        await world.sleep(10)
        assert (await world.member("member1").client.list(CONFIG_MAPS, "default")).items == ()
        naming = """
            function GetDependencies(o)
              return {{apiVersion = "v1", kind = "ConfigMap", namespace = "default", name = "settings"}}
            end
        """
        await change(world, dependencyInterpretation=naming)
        for member in MEMBERS:
            await appears(world, member, CONFIG_MAPS, "settings", "default")
        await change(world, dependencyInterpretation=None)
        await world.sleep(60)
        assert (await world.member("member1").client.list(CONFIG_MAPS, "default")).items == ()

    scripted(story)
