"""Somebody else's object has the name of what a copy needs: such a copy serves nothing, and takes no good one away."""

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.meta import find_condition
from leeward.api.names import EVICTION_HELD_CONDITION
from leeward.operations.drain import start_drain
from leeward.sim.world import Mode, World
from tests.world.pictures import picture
from tests.world.stories import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    apply,
    deployment,
    held,
    identities,
    in_world,
    ready_replicas,
    tasks,
)
from tests.world.test_dependencies import SECRETS, config, followed, one_of, reading, reasons

THREE: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull"}
WEB = "web-deployment"
DIVIDED = one_of("member1", "member2", "member3")
TERMS: Manifest = {
    "clusterAffinities": [{"affinityName": name, "clusterNames": [name]} for name in ("member1", "member2", "member3")]
}
DUPLICATED: Manifest = {**DIVIDED, "replicaScheduling": {"replicaSchedulingType": "Duplicated"}}


async def runs_in(world: World, placement: Manifest, *manifests: Manifest) -> str:
    """Has the application, which reads db=prod, run in one cluster: which."""
    web = manifests or (config("db", "prod"), reading("web", "db"))
    await apply(world.client, *web, followed("web", placement))
    await world.until(lambda: len(world.assigned(WEB)) == 1)
    await world.sleep(60)
    (here,) = world.assigned(WEB)
    assert await ready_replicas(world, here, "web") == 2
    return here


async def somebody_has(world: World, member: str, resource: Resource[Manifest] = CONFIG_MAPS) -> None:
    await world.member(member).client.create(resource, {"metadata": {"name": "db"}, **TEST[resource.kind]}, "default")


TEST: dict[str, Manifest] = {"ConfigMap": {"data": {"value": "TEST"}}, "Secret": {"stringData": {"value": "TEST"}}}


def held_message(world: World) -> str:
    binding = world.binding(WEB)
    condition = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION) if binding else None
    return condition.message if condition else ""


async def serves_all_along(world: World, clusters: set[str], seconds: int) -> None:
    """Sees all replicas serve in these clusters together, in each second."""
    for _ in range(seconds):
        await world.sleep(1)
        assert sum([max(0, await ready_replicas(world, name, "web")) for name in sorted(clusters)]) >= 2


@pytest.mark.parametrize("placement", [DIVIDED, DUPLICATED, TERMS], ids=["divided", "duplicated", "terms"])
@pytest.mark.parametrize("other", [0, 1])
@in_world(THREE)
async def test_a_drain_goes_on_to_the_cluster_that_takes_what_the_copy_needs(
    world: World, placement: Manifest, other: int
) -> None:
    here = await runs_in(world, placement)
    good, theirs = sorted({*THREE} - {here})[:: 1 if other else -1]
    await somebody_has(world, theirs)
    await start_drain(world.client, here, None)
    await serves_all_along(world, {here, good}, 1500)
    assert (set(world.assigned(WEB)), tasks(world, WEB)) == ({good}, [])
    assert set(await identities(world, "web")) == {good}
    found = await world.member(theirs).client.get(CONFIG_MAPS, "db", "default")
    assert found["data"] == {"value": "TEST"}


@pytest.mark.parametrize("resource", [CONFIG_MAPS, SECRETS], ids=["ConfigMap", "Secret"])
@in_world(THREE)
async def test_where_no_cluster_takes_what_it_needs_the_good_copy_stays(
    world: World,
    resource: Resource[Manifest],
) -> None:
    web = reading("web", "db") if resource is CONFIG_MAPS else deployment("web", 2)
    if resource is SECRETS:
        web["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [{"secretRef": {"name": "db"}}]
        await world.client.create(SECRETS, {"metadata": {"name": "db"}, "stringData": {"value": "prod"}}, "default")
    else:
        await apply(world.client, config("db", "prod"))
    here = await runs_in(world, DIVIDED, web)
    for member in {*THREE} - {here}:
        await somebody_has(world, member, resource)
    await start_drain(world.client, here, None)
    await serves_all_along(world, {here}, 3000)
    assert (tasks(world, WEB)[:1], held(world, WEB)) == ([here], "ReplacementMissing")
    assert f"{resource.kind} db" in held_message(world)
    assert any(f"{resource.kind} db" in message for message in (await reasons(world))["DependenciesRefused"])
    await picture(world)


@in_world(THREE)
async def test_what_is_mended_where_it_was_refused_ends_the_drain(world: World) -> None:
    here = await runs_in(world, DIVIDED)
    others = {*THREE} - {here}
    for member in others:
        await somebody_has(world, member)
    await start_drain(world.client, here, None)
    await world.sleep(400)
    assert tasks(world, WEB) == [here]
    for member in others:
        await world.member(member).client.delete(CONFIG_MAPS, "db", "default")
    await world.until(lambda: tasks(world, WEB) == [], 900)
    (there,) = world.assigned(WEB)
    assert there in others
    found = await world.member(there).client.get(CONFIG_MAPS, "db", "default")
    assert found["data"] == {"value": "prod"}


@in_world(THREE)
async def test_s1_what_a_copy_has_named_stays_where_somebody_elses_object_takes_its_place_until_that_goes(
    world: World,
) -> None:
    """Nobody has seen there that no Pod of an earlier template is left."""
    taken, web = world.member("member1").client, reading("web", "db")
    await taken.create(DEPLOYMENTS, deployment("web", 1), "default")
    here = {"clusterAffinity": {"clusterNames": ["member1", "member2"]}}
    await apply(world.client, config("db", "prod"), web, followed("web", here))
    await world.sleep(60)
    await world.client.patch(DEPLOYMENTS, "web", {"spec": deployment("web", 2)["spec"]}, "default")
    await world.sleep(200)
    assert set(await identities(world, "db", resource=CONFIG_MAPS)) == {"member1"}
    await taken.delete(DEPLOYMENTS, "web", "default")
    await world.sleep(200)
    assert await ready_replicas(world, "member1", "web") == 2
    assert await identities(world, "db", resource=CONFIG_MAPS) == {}
