"""Members tell the truth: what lacks something that it names does not run there, and nobody relies on it."""

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.sim.world import World
from tests.world.stories import CONFIG_MAPS, POLICIES, apply, deployment, in_world, policy, ready_replicas, tasks

CLAIMS = Resource.of_manifests("v1", "persistentvolumeclaims", "PersistentVolumeClaim", True)


def on_one_of(*clusters: str) -> Manifest:
    """All replicas in the first of these that is alive."""
    return {"clusterAffinities": [{"affinityName": name, "clusterNames": [name]} for name in clusters]}


@pytest.mark.long
@in_world()
async def test_a_copy_without_its_config_map_does_not_replace_the_old_one(world: World) -> None:
    shop = deployment("shop", 2)
    shop["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": "settings"}}]
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}
    there = {"clusterAffinity": {"clusterNames": ["member1"]}}
    await apply(world.client, settings, policy("settings", there, "ConfigMap", "v1"))
    await apply(world.client, shop, policy("shop", on_one_of("member1", "member2")))
    await world.sleep(20)
    assert await ready_replicas(world, "member1", "shop") == 2

    await world.member("member1").stop()
    await world.until(lambda: tasks(world, "shop-deployment") == ["member1"], 1200)
    await world.sleep(300)
    assert await ready_replicas(world, "member2", "shop") == 0
    assert tasks(world, "shop-deployment") == ["member1"]

    everywhere = {"spec": {"placement": {"clusterAffinity": {"clusterNames": ["member1", "member2"]}}}}
    await world.client.patch(POLICIES, "settings", everywhere, "default")
    await world.until(lambda: not tasks(world, "shop-deployment"), 120)
    assert await ready_replicas(world, "member2", "shop") == 2
    assert (await world.member("member2").client.get(CONFIG_MAPS, "settings", "default"))["data"] == {"a": "1"}


@in_world()
async def test_a_claim_that_its_member_has_bound_can_still_be_changed(world: World) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    await world.client.create(CLAIMS, {"metadata": {"name": "data"}, "spec": spec}, "default")
    there = {"clusterAffinity": {"clusterNames": ["member1", "member3"]}}
    await apply(world.client, policy("data", there, "PersistentVolumeClaim", "v1"))
    await world.sleep(30)
    before = await world.member("member1").client.get(CLAIMS, "data", "default")
    assert (await world.client.get(CLAIMS, "data", "default"))["status"]["phase"] == "Bound"

    await world.client.patch(CLAIMS, "data", {"metadata": {"labels": {"tier": "gold"}}}, "default")
    await world.sleep(30)
    after = await world.member("member1").client.get(CLAIMS, "data", "default")
    assert after["metadata"]["labels"]["tier"] == "gold"
    assert (after["metadata"]["uid"], after["spec"]) == (before["metadata"]["uid"], before["spec"])
    assert (await world.client.get(CLAIMS, "data", "default"))["status"]["phase"] == "Bound"
