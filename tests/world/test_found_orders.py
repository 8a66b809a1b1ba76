"""A control plane that is restored finds orders to delete, and is given more: each is about one object, and about none
that came later."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from kubeapi.core import NAMESPACES
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import NotFound
from leeward.manager.timing import Timing
from leeward.sim.world import Mode, World
from tests.world.stories import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    POLICIES,
    apply,
    by_weight,
    deployment,
    identities,
    in_world,
    play,
    policy,
    ready_replicas,
    without_room,
)
from tests.world.test_dependencies_with_data import CLAIMS
from tests.world.test_orphans import found_in, told
from tests.world.test_ownership import on
from tests.world.test_restored import PULLED, PUSHED, restore

SPACES = Resource.of_manifests("v1", "namespaces", "Namespace", False)
Step = Callable[[World], Awaitable[object]]
CLAIM: Manifest = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


async def uid_in(world: World, member: str, resource: Resource[Manifest], name: str, namespace: str = "default") -> str:
    try:
        found = await world.member(member).client.get(resource, name, namespace)
    except NotFound:
        return ""
    return "" if "deletionTimestamp" in found["metadata"] else found["metadata"]["uid"]


async def stays_as_it_is(world: World, look: Callable[[], Awaitable[object]], seconds: int = 900) -> None:
    before = await look()
    for _ in range(seconds // 5):
        await world.sleep(5)
        assert await look() == before


@pytest.mark.parametrize("members", [PUSHED, PULLED], ids=["push", "pull"])
@pytest.mark.parametrize("stay", [True, False])
def test_what_was_deployed_again_after_the_backup_runs_on(members: dict[str, Mode], *, stay: bool) -> None:
    """The backup holds the removal of an earlier application of this name, which waits for its cluster."""

    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 3), policy("web", on("member1")))
        await world.sleep(60)
        await world.member("member1").stop()
        await world.sleep(100)
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(20)
        backup = await world.medium.load()
        await world.member("member1").start()
        await world.sleep(120)
        assert await ready_replicas(world, "member1", "web") == -1
        await apply(world.client, deployment("web", 3, "nginx:2"))
        await world.sleep(120)
        await restore(world, backup, controllers_stay=stay)
        await stays_as_it_is(world, lambda: identities(world, "web"))
        assert await ready_replicas(world, "member1", "web") == 3
        await apply(world.client, deployment("web", 3, "nginx:2"))
        await stays_as_it_is(world, lambda: uid_in(world, "member1", DEPLOYMENTS, "web"), 300)
        assert world.assigned("web-deployment") == {"member1": 3}

    play(story, members)


@pytest.mark.parametrize("known", [True, False])
@in_world(PUSHED)
async def test_an_order_given_after_a_restore_is_about_no_object_that_was_made_since_the_backup(
    world: World, *, known: bool
) -> None:
    """The backup has an earlier application of the name (`known`), or none, and its user deploys that. Then it is moved
    out of the cluster, while that is away."""
    await apply(world.client, policy("web", on("member1")))
    if known:
        await apply(world.client, deployment("web", 3))
        await world.sleep(60)
    backup = await world.medium.load()
    if known:
        await world.client.delete(DEPLOYMENTS, "web", "default")
        await world.sleep(30)
    await apply(world.client, deployment("web", 3, "nginx:2"))
    await world.sleep(60)
    await world.member("member1").stop()
    await restore(world, backup, controllers_stay=False)
    await world.sleep(5)
    if not known:
        await apply(world.client, deployment("web", 3))
    await world.sleep(5)
    assert world.assigned("web-deployment") == {"member1": 3}
    await world.client.patch(POLICIES, "web", {"spec": {"placement": on("member2")}}, "default")
    await world.sleep(120)
    assert await ready_replicas(world, "member2", "web") == 3
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"), 120)
    await stays_as_it_is(world, lambda: uid_in(world, "member1", DEPLOYMENTS, "web"), 300)
    assert await ready_replicas(world, "member1", "web") == 3
    assert told((await found_in(world)).orphans) == {"Deployment default/web in member1"}


async def with_finalizer(world: World) -> None:
    patch = {"metadata": {"finalizers": ["example.com/x"]}}
    await world.member("member1").client.patch(DEPLOYMENTS, "web", patch, "default")


async def without_finalizer(world: World) -> None:
    await world.member("member1").client.patch(DEPLOYMENTS, "web", {"metadata": {"finalizers": None}}, "default")


async def refusing(world: World) -> None:
    world.member("member1").refuse_writes(403)


async def refusing_no_more(world: World) -> None:
    world.member("member1").refuse_writes(None)


async def suspended(world: World) -> None:
    await world.client.patch(POLICIES, "web", {"spec": {"suspension": {"dispatching": True}}}, "default")
    await world.sleep(5)


async def resumed(world: World) -> None:
    await world.client.patch(POLICIES, "web", {"spec": {"suspension": None}}, "default")


@pytest.mark.parametrize(
    ("begin", "end"),
    [(with_finalizer, without_finalizer), (refusing, refusing_no_more), (suspended, resumed)],
    ids=["finalizer", "refused", "suspended"],
)
@in_world(PUSHED)
async def test_a_removal_that_was_held_up_in_a_living_cluster_is_about_what_was_there(
    world: World, begin: Step, end: Step
) -> None:
    await apply(world.client, deployment("web", 3), policy("web", on("member1")))
    await world.sleep(60)
    await begin(world)
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.sleep(60)
    backup = await world.medium.load()
    await end(world)
    await world.sleep(400)
    assert await ready_replicas(world, "member1", "web") == -1
    await apply(world.client, deployment("web", 3, "nginx:2"))
    await world.sleep(120)
    await restore(world, backup, controllers_stay=False)
    await stays_as_it_is(world, lambda: identities(world, "web"))
    assert await ready_replicas(world, "member1", "web") == 3


@in_world(PUSHED)
async def test_a_claim_that_was_made_again_after_the_backup_keeps_its_data(world: World) -> None:
    web = deployment("web", 2)
    volume = {"name": "d", "persistentVolumeClaim": {"claimName": "data"}}
    web["spec"]["template"]["spec"]["volumes"] = [volume]
    followed = policy("web", on("member1"))
    followed["spec"]["propagateDeps"] = True
    await world.client.create(CLAIMS, CLAIM, "default")
    await apply(world.client, web, followed)
    await world.sleep(90)
    await world.member("member1").stop()
    await world.sleep(100)
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.client.delete(CLAIMS, "data", "default")
    await world.sleep(20)
    backup = await world.medium.load()
    await world.member("member1").start()
    await world.sleep(120)
    await world.client.create(CLAIMS, CLAIM, "default")
    await apply(world.client, web)
    await world.sleep(120)
    assert await uid_in(world, "member1", CLAIMS, "data")
    await restore(world, backup, controllers_stay=False)
    await stays_as_it_is(world, lambda: uid_in(world, "member1", CLAIMS, "data"))
    assert await ready_replicas(world, "member1", "web") == 2


@pytest.mark.parametrize("members", [PUSHED, PULLED], ids=["push", "pull"])
def test_a_namespace_that_was_made_again_after_the_backup_stays_with_what_others_have_in_it(
    members: dict[str, Mode],
) -> None:
    async def story(world: World) -> None:
        shop: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
        await world.client.create(NAMESPACES, shop)
        await apply(world.client, deployment("web", 3), policy("web", on("member1")), namespace="shop")
        await world.sleep(60)
        await world.member("member1").stop()
        await world.sleep(100)
        await world.client.delete(NAMESPACES, "shop")
        await world.sleep(60)
        backup = await world.medium.load()
        await world.member("member1").start()
        await world.sleep(200)
        await world.client.create(NAMESPACES, shop)
        await world.sleep(30)
        await apply(world.client, deployment("web", 3), policy("web", on("member1")), namespace="shop")
        await world.sleep(60)
        theirs: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs"}}
        await apply(world.member("member1").client, theirs, deployment("local", 2), namespace="shop")
        await world.sleep(60)

        async def look() -> list[str]:
            found = [await uid_in(world, "member1", CONFIG_MAPS, "theirs", "shop")]
            found += [await uid_in(world, "member1", DEPLOYMENTS, name, "shop") for name in ("web", "local")]
            return found

        assert all(await look())
        await restore(world, backup, controllers_stay=False)
        await stays_as_it_is(world, look)

    play(story, members)


@pytest.mark.parametrize("members", [PUSHED, PULLED], ids=["push", "pull"])
@pytest.mark.parametrize("seconds", [20, 120])
def test_a_namespace_and_a_claim_deleted_while_their_cluster_is_away_go_though_controllers_restart(
    members: dict[str, Mode], seconds: int
) -> None:
    """The controllers are away for `seconds`: whoever carries the order out finds it given."""

    async def story(world: World) -> None:
        shop: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
        await world.client.create(NAMESPACES, shop)
        await world.client.create(CLAIMS, CLAIM, "default")
        await apply(world.client, policy("data", on("member1"), "PersistentVolumeClaim", "v1"))
        await world.sleep(60)
        kept = {"shop": SPACES, "data": CLAIMS}
        places = {"shop": "", "data": "default"}
        assert all([await uid_in(world, "member1", kept[name], name, places[name]) for name in kept])
        await world.member("member1").stop()
        await world.sleep(60)
        await world.client.delete(NAMESPACES, "shop")
        await world.client.delete(CLAIMS, "data", "default")
        await world.sleep(10)
        world.crash_controllers()
        await world.sleep(seconds)
        world.start_controllers()
        await world.sleep(60)
        await world.member("member1").start()
        await world.sleep(240)
        assert not any([await uid_in(world, "member1", kept[name], name, places[name]) for name in kept])

    play(story, members)


@pytest.mark.parametrize("room", [True, False])
@in_world(PUSHED, timing=replace(Timing.karmada(), pod_startup_seconds=60.0))
async def test_a_removal_that_rests_on_a_later_copy_leaves_as_many_as_served(world: World, *, room: bool) -> None:
    """The removal is of an application that was made again under its name before the backup, and has moved since."""
    await apply(world.client, deployment("web", 6), policy("web", by_weight({"member1": 1, "member2": 1})))
    await world.sleep(60)
    await world.member("member1").stop()
    await world.sleep(60)
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.sleep(5)
    await apply(world.client, deployment("web", 4))
    await world.sleep(120)
    backup = await world.medium.load()
    await world.member("member1").start()
    await world.sleep(100)
    placement = {"clusterAffinity": {"clusterNames": ["member1"]}, "replicaScheduling": None}
    await world.client.patch(POLICIES, "web", {"spec": {"placement": placement}}, "default")
    await world.sleep(200)
    assert await ready_replicas(world, "member1", "web") == 4
    if not room:
        await without_room(world, "member2")
    await restore(world, backup, controllers_stay=False)
    for _ in range(600):
        await world.sleep(1)
        assert sum([max(0, await ready_replicas(world, name, "web")) for name in world.members]) >= 4
