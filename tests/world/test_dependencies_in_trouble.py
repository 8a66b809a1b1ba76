"""Dependencies in trouble: nothing is taken from under a copy, and what cannot be seen is not gone."""

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.resource import RESOURCE_BINDINGS
from leeward.sim.world import World
from tests.world.stories import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    POLICIES,
    apply,
    by_weight,
    deployment,
    identities,
    play,
    ready_replicas,
    tasks,
)
from tests.world.test_dependencies import TWO, config, followed, named, needed_in, one_of, reading, reasons

CLAIMS = Resource.of_manifests("v1", "persistentvolumeclaims", "PersistentVolumeClaim", True)
THREE_PUSH = {"member1": "Push", "member2": "Push", "member3": "Push"}


async def one_runs(world: World, *manifests: Manifest) -> tuple[str, str]:
    """Has the application run in one of two clusters: which, and the other one."""
    await apply(world.client, config("settings"), followed("web", one_of("member1", "member2")), *manifests)
    await world.until(lambda: bool(world.assigned("web-deployment")))
    await world.sleep(60)
    (here,) = world.assigned("web-deployment")
    (there,) = {"member1", "member2"} - {here}
    return here, there


def test_an_eviction_that_is_taken_back_has_changed_nothing_of_what_was_needed() -> None:
    """Holds: S12."""

    async def story(world: World) -> None:
        here, there = await one_runs(world, reading("web", "settings"))
        before = await identities(world, "settings", [here], CONFIG_MAPS)
        app = await identities(world, "web", [here])
        world.member(there).refuse_writes(403)
        await world.member(here).stop()
        await world.until(lambda: tasks(world, "web-deployment") == [here])
        await world.sleep(60)
        assert needed_in(world, "settings-configmap") == {"web-deployment": ["member1", "member2"]}
        await world.member(here).start()
        await world.until(lambda: world.assigned("web-deployment") == {here: 2} and not tasks(world, "web-deployment"))
        world.member(there).refuse_writes(None)
        await world.until(lambda: needed_in(world, "settings-configmap") == {"web-deployment": [here]})
        await world.sleep(60)
        assert await identities(world, "settings", resource=CONFIG_MAPS) == before
        assert await identities(world, "web") == app

    play(story, THREE_PUSH)


def test_what_others_need_in_a_cluster_that_comes_back_keeps_its_uid() -> None:
    """Holds: S12."""

    async def story(world: World) -> None:
        stays = followed("api", {"clusterAffinity": {"clusterNames": ["member1", "member2"]}})
        await apply(world.client, stays, reading("api", "settings", replicas=1))
        here, there = await one_runs(world, reading("web", "settings"))
        before = await identities(world, "settings", resource=CONFIG_MAPS)
        assert set(before) == {here, there}
        await world.member(here).stop()
        await world.until(lambda: world.assigned("web-deployment") == {there: 2})
        await world.until(lambda: not tasks(world, "web-deployment"))
        await world.member(here).start()
        await world.until(lambda: named(world, here, "Deployment", "web") is None)
        await world.sleep(120)
        assert await identities(world, "settings", resource=CONFIG_MAPS) == before
        both = ["member1", "member2"]
        assert needed_in(world, "settings-configmap") == {"api-deployment": both, "web-deployment": [there]}

    play(story, THREE_PUSH)


def claiming(name: str, claim: str) -> Manifest:
    made = deployment(name, 1)
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    made["spec"]["template"]["spec"]["volumes"] = volumes
    return made


def claim(name: str) -> Manifest:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def test_a_claim_stays_in_the_cluster_that_its_workload_was_evicted_from() -> None:
    """The data in it would be gone. Holds: S12."""

    async def story(world: World) -> None:
        await world.client.create(CLAIMS, claim("data"), "default")
        here, there = await one_runs(world, claiming("web", "data"))
        before = await identities(world, "data", resource=CLAIMS)
        assert set(before) == {here}
        await world.member(here).stop()
        await world.until(lambda: world.assigned("web-deployment") == {there: 1})
        await world.until(lambda: not tasks(world, "web-deployment"))
        await world.member(here).start()
        await world.until(lambda: named(world, here, "Deployment", "web") is None)
        await world.sleep(120)
        after = await identities(world, "data", resource=CLAIMS)
        assert set(after) == {here, there}
        assert after[here] == before[here]
        assert needed_in(world, "data-persistentvolumeclaim") == {"web-deployment": ["member1", "member2"]}
        narrow = {"spec": {"placement": {"clusterAffinity": {"clusterNames": [there]}}}}
        await world.client.patch(POLICIES, "web", narrow, "default")
        await world.until(lambda: needed_in(world, "data-persistentvolumeclaim") == {"web-deployment": [there]})
        await world.sleep(60)
        assert set(await identities(world, "data", resource=CLAIMS)) == {there}, "the user has said so"

    play(story, THREE_PUSH)


@pytest.mark.parametrize("crashes", [False, True])
def test_a_restart_writes_nothing_about_dependencies(crashes: bool) -> None:
    async def story(world: World) -> None:
        await apply(world.client, config("settings"), followed("web", by_weight(TWO)), reading("web", "settings"))
        await world.until(lambda: bool(needed_in(world, "settings-configmap")))
        await world.sleep(60)
        before = {
            name: (await world.client.get(RESOURCE_BINDINGS, name, "default")).metadata.resource_version
            for name in ("web-deployment", "settings-configmap")
        }
        world.crash_controllers() if crashes else await world.stop_controllers()
        world.start_controllers()
        await world.sleep(120)
        for name, version in before.items():
            assert (await world.client.get(RESOURCE_BINDINGS, name, "default")).metadata.resource_version == version

    play(story)


def test_a_dependant_that_goes_while_nobody_is_there_is_noticed() -> None:
    """Its finalizer keeps it until what it needed is let go."""

    async def story(world: World) -> None:
        await apply(world.client, config("settings"), followed("web", by_weight(TWO)), reading("web", "settings"))
        await world.until(lambda: bool(needed_in(world, "settings-configmap")))
        await world.sleep(60)
        world.crash_controllers()
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(30)
        assert world.binding("web-deployment") is not None
        world.start_controllers()
        await world.until(lambda: world.binding("web-deployment") is None)
        await world.until(lambda: world.binding("settings-configmap") is None)
        await world.sleep(30)
        assert not await identities(world, "settings", resource=CONFIG_MAPS)

    play(story)


def test_what_a_member_refuses_holds_up_no_copy() -> None:
    """A ConfigMap of somebody else is there already; the copy may run with it. Holds: S6."""

    async def story(world: World) -> None:
        await world.member("member1").client.create(CONFIG_MAPS, config("settings", "theirs"), "default")
        await apply(world.client, config("settings"), followed("web", by_weight({"member1": 1})))
        await apply(world.client, reading("web", "settings"))
        await world.until(lambda: named(world, "member1", "Deployment", "web") is not None)
        await world.sleep(10)
        assert await ready_replicas(world, "member1", "web") == 2
        found = await world.member("member1").client.get(CONFIG_MAPS, "settings", "default")
        assert found["data"] == {"value": "theirs"}
        assert "DependenciesMissing" not in await reasons(world)

    play(story)


def test_a_member_that_does_not_answer_holds_up_a_copy_for_a_quarter_of_a_minute() -> None:
    async def story(world: World) -> None:
        await world.member("member3").stop_agent()
        await apply(world.client, config("settings"), followed("web", by_weight({"member3": 1})))
        await apply(world.client, reading("web", "settings"))
        await world.until(lambda: named(world, "member3", "ConfigMap", "settings") is not None)
        waited = await world.until(lambda: named(world, "member3", "Deployment", "web") is not None)
        assert 14 <= waited <= 16
        await world.sleep(1)
        assert (await reasons(world))["DependenciesMissing"] == [
            "Work in member3 is written without what it needs: ConfigMap settings is not there yet."
        ]

    play(story)


def test_the_services_of_an_ingress_follow_it() -> None:
    ingresses = Resource.of_manifests("networking.k8s.io/v1", "ingresses", "Ingress", True)
    services = Resource.of_manifests("v1", "services", "Service", True)

    async def story(world: World) -> None:
        port = {"port": 80, "targetPort": 80}
        made = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [port]}}
        await world.client.create(services, made, "default")
        path = {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}
        ingress = {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": {"name": "web"},
            "spec": {"rules": [{"http": {"paths": [path]}}]},
        }
        wanted = followed("web", {"clusterAffinity": {"clusterNames": ["member2"]}})
        wanted["spec"]["resourceSelectors"] = [{"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "web"}]
        await apply(world.client, wanted)
        await world.client.create(ingresses, ingress, "default")
        await world.until(lambda: needed_in(world, "web-service") == {"web-ingress": ["member2"]})
        await world.sleep(30)
        assert set(await identities(world, "web", resource=services)) == {"member2"}
        assert set(await identities(world, "web", resource=ingresses)) == {"member2"}

    play(story)
