"""Copies that leave where a person does not want them any more, whatever others serve: they replace nothing there."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.names import VOLUMES_FOLLOW_ANNOTATION
from leeward.sim.world import World
from tests.world.stories import POLICIES, apply, deployment, identities, play, policy, ready_replicas, without_room
from tests.world.test_restored import PUSHED

SECRETS = Resource.of_manifests("v1", "secrets", "Secret", True)
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
