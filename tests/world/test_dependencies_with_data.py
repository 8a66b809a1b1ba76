"""Claims of workloads: the data in a member outlives what needs it, as long as the claim has a template."""

from collections.abc import Awaitable, Callable

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.meta import find_condition
from leeward.api.names import BINDING_ID_LABEL, EVICT_SHARED_ANNOTATION, REMOVAL_BLOCKED_CONDITION, depended_by_label
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS, RESOURCE_INTERPRETER_CUSTOMIZATIONS
from leeward.sim.world import World
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, deployment, identities, in_world, tasks
from tests.world.test_dependencies import followed, named, needed_in
from tests.world.test_dependencies_in_trouble import THREE_PUSH, one_runs

CLAIMS = Resource.of_manifests("v1", "persistentvolumeclaims", "PersistentVolumeClaim", True)
WEB, DATA = "web-deployment", "data-persistentvolumeclaim"
FIRST: Manifest = {"clusterAffinity": {"clusterNames": ["member1"]}}
NAMING = """
function GetDependencies(object)
  return {{apiVersion = "v1", kind = "PersistentVolumeClaim", namespace = "default", name = "data"}}
end
"""


def claiming(name: str, claim: str) -> Manifest:
    made = deployment(name, 1)
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    made["spec"]["template"]["spec"]["volumes"] = volumes
    return made


def claim(name: str) -> Manifest:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


@in_world(THREE_PUSH)
async def test_a_claim_stays_in_the_cluster_that_its_workload_was_evicted_from(world: World) -> None:
    """The data in it would be gone. Holds: S12."""
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
    assert await identities(world, "data", resource=CLAIMS) == after, "another place is no order about data"
    binding = world.binding("data-persistentvolumeclaim")
    blocked = find_condition(binding.status.conditions, REMOVAL_BLOCKED_CONDITION, "True") if binding else None
    assert blocked is not None
    assert blocked.reason == "VolumesStay"


@in_world(THREE_PUSH)
async def test_a_claim_that_has_left_with_its_cluster_is_not_kept_where_that_joins_again(world: World) -> None:
    """Nothing is in it any more (seed 54324)."""
    await world.client.create(CLAIMS, claim("data"), "default")
    here, there = await one_runs(world, claiming("web", "data"))
    await world.member(here).stop()
    await world.until(lambda: world.assigned("web-deployment") == {there: 1})
    await world.until(lambda: not tasks(world, "web-deployment"))
    await world.member(here).start()
    await world.until(lambda: named(world, here, "Deployment", "web") is None)
    await world.sleep(60)
    assert set(await identities(world, "data", resource=CLAIMS)) == {here, there}
    await world.client.delete(CLUSTERS, here)
    await world.until(lambda: needed_in(world, "data-persistentvolumeclaim") == {"web-deployment": [there]}, 60)


async def removed_and_made_anew(world: World) -> None:
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await apply(world.client, claiming("web", "data"))


async def removed_and_made_anew_later(world: World) -> None:
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.until(lambda: world.binding(WEB) is None)
    await world.sleep(300)
    assert needed_in(world, DATA) == {WEB: ["member1"]}
    await apply(world.client, claiming("web", "data"))


async def removed_while_nobody_works(world: World) -> None:
    await world.stop_controllers()
    await world.client.patch(RESOURCE_BINDINGS, WEB, {"metadata": {"finalizers": None}}, "default")
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.sleep(60)
    assert world.binding(WEB) is None
    world.start_controllers()
    await world.sleep(60)
    await apply(world.client, claiming("web", "data"))


async def not_named_for_a_while(world: World) -> None:
    volumes = (await world.client.get(DEPLOYMENTS, "web", "default"))["spec"]["template"]["spec"]["volumes"]
    for named_volumes in (None, volumes):
        patch = {"spec": {"template": {"spec": {"volumes": named_volumes}}}}
        await world.client.patch(DEPLOYMENTS, "web", patch, "default")
        await world.sleep(60)


async def not_followed_for_a_while(world: World) -> None:
    for asked in (False, True):
        await world.client.patch(POLICIES, "web", {"spec": {"propagateDeps": asked}}, "default")
        await world.sleep(60)


async def unbound(world: World) -> None:
    await world.client.delete(RESOURCE_BINDINGS, WEB, "default")


@pytest.mark.parametrize(
    "happens",
    [
        removed_and_made_anew,
        removed_and_made_anew_later,
        removed_while_nobody_works,
        not_named_for_a_while,
        not_followed_for_a_while,
        unbound,
    ],
)
@in_world(THREE_PUSH)
async def test_a_claim_keeps_its_data_whatever_becomes_of_what_needs_it(
    world: World, happens: Callable[[World], Awaitable[None]]
) -> None:
    """Holds: S12. In Kubernetes no claim goes with its Deployment, either."""
    await world.client.create(CLAIMS, claim("data"), "default")
    await apply(world.client, claiming("web", "data"), followed("web", FIRST))
    await world.sleep(60)
    before = await identities(world, "data", resource=CLAIMS)
    assert set(before) == {"member1"}
    await happens(world)
    await world.sleep(60)
    assert await identities(world, "data", resource=CLAIMS) == before
    assert needed_in(world, DATA) == {WEB: ["member1"]}
    attached, dependant = world.binding(DATA), world.binding(WEB)
    assert attached is not None
    assert dependant is not None
    assert set(await identities(world, "web")) == {"member1"}
    label = depended_by_label("default", WEB)
    assert attached.metadata.labels[label] == dependant.metadata.labels[BINDING_ID_LABEL]


@in_world(THREE_PUSH)
async def test_a_claim_keeps_its_data_while_a_script_that_names_it_is_made_anew(world: World) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment"}
    script = {"dependencyInterpretation": {"luaScript": NAMING}}
    customization = {"metadata": {"name": "naming"}, "spec": {"target": target, "customizations": script}}
    await world.client.create(RESOURCE_INTERPRETER_CUSTOMIZATIONS, customization)
    await world.client.create(CLAIMS, claim("data"), "default")
    await apply(world.client, deployment("web", 1), followed("web", FIRST))
    await world.sleep(60)
    before = await identities(world, "data", resource=CLAIMS)
    assert set(before) == {"member1"}
    await world.client.delete(RESOURCE_INTERPRETER_CUSTOMIZATIONS, "naming")
    await world.sleep(60)
    await world.client.create(RESOURCE_INTERPRETER_CUSTOMIZATIONS, customization)
    await world.sleep(60)
    assert await identities(world, "data", resource=CLAIMS) == before


@in_world(THREE_PUSH)
async def test_a_claim_goes_with_its_own_template(world: World) -> None:
    """Deleted long after what needed it, too."""
    await world.client.create(CLAIMS, claim("data"), "default")
    await apply(world.client, claiming("web", "data"), followed("web", FIRST))
    await world.sleep(60)
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.sleep(60)
    assert set(await identities(world, "data", resource=CLAIMS)) == {"member1"}
    await world.client.delete(CLAIMS, "data", "default")
    await world.until(lambda: world.binding(DATA) is None)
    await world.sleep(60)
    assert await identities(world, "data", resource=CLAIMS) == {}


@in_world(THREE_PUSH)
async def test_a_claim_goes_with_a_workload_whose_policy_lets_it_go(world: World) -> None:
    letting_go = followed("web", FIRST)
    letting_go["metadata"]["annotations"] = {EVICT_SHARED_ANNOTATION: "true"}
    await world.client.create(CLAIMS, claim("data"), "default")
    await apply(world.client, claiming("web", "data"), letting_go)
    await world.sleep(60)
    assert set(await identities(world, "data", resource=CLAIMS)) == {"member1"}
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.until(lambda: world.binding(WEB) is None)
    await world.until(lambda: world.binding(DATA) is None)
    await world.sleep(60)
    assert await identities(world, "data", resource=CLAIMS) == {}


@in_world(THREE_PUSH)
async def test_a_claim_that_nothing_needs_leaves_with_its_cluster(world: World) -> None:
    await world.client.create(CLAIMS, claim("data"), "default")
    await apply(world.client, claiming("web", "data"), followed("web", FIRST))
    await world.sleep(60)
    before = await identities(world, "data", resource=CLAIMS)
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.sleep(60)
    await world.client.delete(CLUSTERS, "member1")
    await world.until(lambda: world.binding(DATA) is None, 120)
    assert await identities(world, "data", resource=CLAIMS) == before, "what is shared stays there"
