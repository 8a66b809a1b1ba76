"""ClusterOverridePolicies on Namespaces: what each member gets, and what follows a change of the policy."""

from typing import Any

from kubeapi.core import NAMESPACES
from leeward.sim.world import World
from tests.world.stories import in_world
from tests.world.test_overrides import CLUSTER_OVERRIDES, TWO, overriding, tagged


@in_world(TWO)
async def test_a_cluster_policy_on_a_namespace_is_carried_out_and_followed(world: World) -> None:
    """Labels for meshes and pod security: Karmada's namespace controller renders them, too."""

    async def mesh_labels() -> dict[str, Any]:
        found = {name: await world.member(name).client.get(NAMESPACES, "shop") for name in TWO}
        return {name: each.metadata.labels.get("mesh") for name, each in found.items()}

    await world.client.create(NAMESPACES, {"metadata": {"name": "shop", "labels": {"team": "shop"}}})
    await world.sleep(30)
    selector = {"apiVersion": "v1", "kind": "Namespace", "name": "shop"}
    mesh = overriding("mesh", selector, {"clusterNames": ["member1"]}, labelsOverrider=[added("mesh", "on")])
    await world.client.create(CLUSTER_OVERRIDES, mesh)
    await world.sleep(30)
    assert await mesh_labels() == {"member1": "on", "member2": None}
    rules = overriding("mesh", labelsOverrider=[added("mesh", "late")])["spec"]["overrideRules"]
    await world.client.patch(CLUSTER_OVERRIDES, "mesh", {"spec": {"overrideRules": rules}})
    await world.sleep(30)
    assert await mesh_labels() == {"member1": "late", "member2": "late"}
    await world.client.delete(CLUSTER_OVERRIDES, "mesh")
    await world.sleep(30)
    assert await mesh_labels() == {"member1": None, "member2": None}


def added(key: str, value: str) -> dict[str, Any]:
    return {"operator": "add", "value": {key: value}}


@in_world(TWO)
async def test_an_image_override_for_everything_keeps_no_namespace_from_its_members(world: World) -> None:
    await world.client.create(CLUSTER_OVERRIDES, overriding("all", imageOverrider=tagged("0")))
    await world.sleep(10)
    await world.client.create(NAMESPACES, {"metadata": {"name": "shop"}})
    await world.sleep(30)
    for name in TWO:
        assert (await world.member(name).client.get(NAMESPACES, "shop")).metadata.name == "shop"
