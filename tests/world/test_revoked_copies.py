"""Copies that leave where a person does not want them any more, whatever others serve: they replace nothing there."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.names import VOLUMES_FOLLOW_ANNOTATION
from leeward.sim.world import World
from tests.world.stories import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    POLICIES,
    apply,
    deployment,
    identities,
    play,
    policy,
    ready_replicas,
    with_room,
    without_room,
)
from tests.world.test_restored import PUSHED

SECRETS = Resource.of_manifests("v1", "secrets", "Secret", True)
SERVICES = Resource.of_manifests("v1", "services", "Service", True)
ROLES = Resource.of_manifests("rbac.authorization.k8s.io/v1", "roles", "Role", True)
OBJECTS: dict[str, tuple[Resource[Manifest], dict[str, Any]]] = {
    "Secret": (SECRETS, {"data": {}}),
    "Role": (ROLES, {"rules": []}),
}


def on(*clusters: str) -> Manifest:
    return {"clusterAffinity": {"clusterNames": list(clusters)}}


@pytest.mark.parametrize("kind", [*OBJECTS])
@pytest.mark.parametrize("other", ["is dead", "refuses it"])
def test_what_runs_nothing_is_revoked_while_another_cluster_lacks_it(kind: str, other: str) -> None:
    async def story(world: World) -> None:
        resource, content = OBJECTS[kind]
        manifest = {**content, "apiVersion": resource.api_version, "kind": kind, "metadata": {"name": "web"}}
        if other == "refuses it":
            await world.member("member2").client.create(resource, manifest, "default")
        await world.client.create(resource, manifest, "default")
        asked = policy("web", on("member1", "member2", "member3"), kind, resource.api_version)
        await world.client.create(POLICIES, asked, "default")
        await world.sleep(60)
        if other == "is dead":
            await world.member("member2").stop()
            await world.until(lambda: not world.is_ready("member2"), 120)
        fewer = {"spec": {"placement": on("member1", "member2")}}
        await world.client.patch(POLICIES, "web", fewer, "default")
        await world.sleep(60)
        if other == "is dead":
            await world.member("member2").start()
        found = await identities(world, "web", resource=resource)
        assert set(found) == {"member1", "member2"}

    play(story, PUSHED)


@pytest.mark.parametrize("how", ["Directly", "its volumes follow"])
def test_s7_what_must_not_run_twice_does_not_wait_for_the_new_copy_when_a_person_moves_it(how: str) -> None:
    """No Pod of the new copy finds a node. It may wait for a lock that the old one holds."""

    async def story(world: World) -> None:
        asked = policy("web", on("member1"))
        if how == "Directly":
            asked["spec"]["failover"] = {"cluster": {"purgeMode": "Directly"}}
        else:
            asked["metadata"]["annotations"] = {VOLUMES_FOLLOW_ANNOTATION: "true"}
        await apply(world.client, deployment("web", 2), asked)
        await world.sleep(60)
        await without_room(world, "member2")
        await world.client.patch(POLICIES, "web", {"spec": {"placement": on("member2")}}, "default")
        await world.sleep(60)
        assert await ready_replicas(world, "member1", "web") == -1

    play(story, PUSHED)


def everything_on(*clusters: str) -> Manifest:
    """A policy for the application and what carries its traffic and its configuration."""
    asked = policy("web", on(*clusters))
    kinds = (("apps/v1", "Deployment"), ("v1", "Service"), ("v1", "ConfigMap"))
    asked["spec"]["resourceSelectors"] = [{"apiVersion": version, "kind": kind} for version, kind in kinds]
    return asked


@pytest.mark.parametrize("how", ["moved", "away"])
def test_s1_what_a_held_copy_is_reached_and_configured_by_stays_beside_it(how: str) -> None:
    """One policy selects all of them, and the new copy finds no node. A Service of another application goes."""

    async def story(world: World) -> None:
        web = deployment("web", 2)
        web["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": "conf"}}]
        made: list[Manifest] = [
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "conf"}, "data": {"a": "1"}},
            service("web"),
            service("other"),
        ]
        await world.client.create(CONFIG_MAPS, made[0], "default")
        for each in made[1:]:
            await world.client.create(SERVICES, each, "default")
        await apply(world.client, web, everything_on("member1"))
        await world.sleep(60)
        await without_room(world, "member2")
        if how == "away":
            await world.member("member1").stop()
            await world.until(lambda: not world.is_ready("member1"), 120)
        moved = {"spec": {"placement": on("member2")}}
        await world.client.patch(POLICIES, "web", moved, "default")
        await world.sleep(60)
        if how == "away":
            await world.member("member1").start()
            await world.until(lambda: world.is_ready("member1"), 120)
        for _ in range(60):
            await world.sleep(1)
            assert await ready_replicas(world, "member1", "web") == 2
            assert "member1" in await identities(world, "web", resource=SERVICES)
            assert "member1" in await identities(world, "conf", resource=CONFIG_MAPS)
        assert "member1" not in await identities(world, "other", resource=SERVICES), "nothing there uses it"
        await with_room(world, "member2")
        await world.sleep(120)
        for name, resource in (("web", DEPLOYMENTS), ("web", SERVICES), ("conf", CONFIG_MAPS)):
            assert set(await identities(world, name, resource=resource)) == {"member2"}

    play(story, PUSHED)


def service(name: str) -> Manifest:
    spec = {"selector": {"app": name}, "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
