"""Orders that a control plane finds, to delete objects that others live in: each deletes one only where it is empty."""

from collections.abc import Awaitable, Callable

import pytest

from kubeapi.core import NAMESPACES
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.meta import find_condition
from leeward.api.names import REMOVAL_BLOCKED_CONDITION
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS
from leeward.sim.world import Mode, World
from tests.world.stories import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    POLICIES,
    apply,
    deployment,
    in_world,
    play,
    policy,
    ready_replicas,
)
from tests.world.test_dependencies_with_data import CLAIMS
from tests.world.test_found_orders import CLAIM, SPACES, uid_in
from tests.world.test_kinds import CRON_TAB_DEFINITION, CRON_TABS, DEFINITIONS, selecting
from tests.world.test_nothing_to_gain import POLICIES as CLUSTER_POLICIES
from tests.world.test_orphans import found_in, told
from tests.world.test_ownership import on
from tests.world.test_restored import PULLED, PUSHED, restore
from tests.world.test_stateful_sets import STATEFUL_SETS, stateful_set

Step = Callable[[World], Awaitable[None]]


async def restarted(world: World) -> None:
    """The controllers alone end, and are back after a while."""
    world.crash_controllers()
    await world.sleep(20)
    world.start_controllers()


async def restored_from_now(world: World) -> None:
    await restore(world, await world.medium.load(), controllers_stay=False)


@pytest.mark.parametrize("members", [PUSHED, PULLED], ids=["push", "pull"])
@pytest.mark.parametrize("happens", [restarted, restored_from_now])
@pytest.mark.parametrize("has_theirs", [True, False])
def test_s12_an_order_that_was_found_deletes_no_definition_of_objects_that_others_have(
    members: dict[str, Mode], happens: Step, *, has_theirs: bool
) -> None:
    async def story(world: World) -> None:
        definition = CRON_TAB_DEFINITION["metadata"]["name"]
        there = world.member("member1")
        await world.client.create(DEFINITIONS, CRON_TAB_DEFINITION)
        await world.client.create(CLUSTER_POLICIES, selecting(DEFINITIONS, definition, "member1"))
        await world.sleep(60)
        if has_theirs:
            await there.client.create(CRON_TABS, {"metadata": {"name": "theirs"}}, "default")
        before = await uid_in(world, "member1", DEFINITIONS, definition, "")
        await there.stop()
        await world.sleep(100)
        await world.client.delete(DEFINITIONS, definition)
        await world.sleep(20)
        await happens(world)
        await world.sleep(30)
        await there.start()
        await world.sleep(240)
        assert await uid_in(world, "member1", DEFINITIONS, definition, "") == (before if has_theirs else "")
        listed = {f"CustomResourceDefinition {definition} in member1"} if has_theirs else set[str]()
        assert told((await found_in(world)).orphans) == listed
        if has_theirs:
            assert [each["metadata"]["name"] for each in (await there.client.list(CRON_TABS)).items] == ["theirs"]

    play(story, members)


@pytest.mark.parametrize("members", [PUSHED, PULLED], ids=["push", "pull"])
@pytest.mark.parametrize("has_theirs", [True, False])
def test_s12_an_order_that_was_found_deletes_no_namespace_in_which_others_have_something(
    members: dict[str, Mode], *, has_theirs: bool
) -> None:
    """The Deployment of the control plane goes before; so do its ReplicaSet and its Pods."""

    async def story(world: World) -> None:
        there = world.member("member1")
        shop: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
        theirs: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "theirs"}}
        await world.client.create(NAMESPACES, shop)
        await apply(world.client, deployment("web", 3), policy("web", on("member1")), namespace="shop")
        await world.sleep(60)
        assert await ready_replicas(world, "member1", "web", "shop") == 3
        if has_theirs:
            await apply(there.client, theirs, namespace="shop")
        await there.stop()
        await world.sleep(100)
        await world.client.delete(NAMESPACES, "shop")
        await world.sleep(20)
        await restarted(world)
        await world.sleep(30)
        await there.start()
        await world.sleep(240)
        assert bool(await uid_in(world, "member1", SPACES, "shop", "")) is has_theirs
        assert bool(await uid_in(world, "member1", CONFIG_MAPS, "theirs", "shop")) is has_theirs
        assert not await uid_in(world, "member1", DEPLOYMENTS, "web", "shop")

    play(story, members)


@in_world(PUSHED)
async def test_s12_an_order_that_was_found_deletes_no_claim_that_somebody_mounts(world: World) -> None:
    there = world.member("member1")
    await world.client.create(CLAIMS, CLAIM, "default")
    await apply(world.client, policy("data", on("member1"), "PersistentVolumeClaim", "v1"))
    await world.sleep(60)
    theirs = deployment("theirs", 1)
    theirs["spec"]["template"]["spec"]["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    await apply(there.client, theirs)
    await world.sleep(60)
    before = await uid_in(world, "member1", CLAIMS, "data")
    await there.stop()
    await world.sleep(60)
    await world.client.delete(CLAIMS, "data", "default")
    await world.sleep(10)
    await restarted(world)
    await there.start()
    await world.sleep(240)
    assert await uid_in(world, "member1", CLAIMS, "data") == before
    await there.client.delete(DEPLOYMENTS, "theirs", "default")
    await world.sleep(120)
    assert not await uid_in(world, "member1", CLAIMS, "data"), "nobody mounts it any more"


async def elsewhere(world: World, policies: Resource[Manifest], name: str) -> None:
    """A person names another cluster, while the first one is there."""
    placement = {"clusterAffinity": {"clusterNames": ["member2"]}}
    await world.client.patch(policies, name, {"spec": {"placement": placement}}, namespace_of(policies))


def namespace_of(resource: Resource[Manifest]) -> str:
    return "default" if resource.namespaced else ""


@pytest.mark.parametrize("members", [PUSHED, PULLED], ids=["push", "pull"])
@pytest.mark.parametrize("away", [False, True])
def test_s12_another_place_for_a_namespace_deletes_nothing_that_others_have_in_it(
    members: dict[str, Mode], *, away: bool
) -> None:
    """The Namespace says why, and goes once nothing is in there."""

    async def story(world: World) -> None:
        there = world.member("member1")
        skipped = {"namespace.karmada.io/skip-auto-propagation": "true"}
        await world.client.create(SPACES, {"metadata": {"name": "shop", "labels": skipped}})
        await world.client.create(CLUSTER_POLICIES, selecting(SPACES, "shop", "member1"))
        await world.sleep(60)
        await there.client.create(CLAIMS, CLAIM, "shop")
        before = await uid_in(world, "member1", CLAIMS, "data", "shop")
        if away:
            await there.stop()
            await world.sleep(100)
        await elsewhere(world, CLUSTER_POLICIES, "shop")
        await world.sleep(60)
        if away:
            await there.start()
        await world.sleep(240)
        assert await uid_in(world, "member2", SPACES, "shop", "")
        assert await uid_in(world, "member1", CLAIMS, "data", "shop") == before
        found = await world.client.get(CLUSTER_RESOURCE_BINDINGS, "shop-namespace")
        blocked = find_condition(found.status.conditions, REMOVAL_BLOCKED_CONDITION, "True")
        assert blocked is not None
        assert blocked.reason == "SharedResource"
        assert "PersistentVolumeClaim shop/data lives in it" in blocked.message
        await there.client.delete(CLAIMS, "data", "shop")
        await world.sleep(240)
        assert await uid_in(world, "member1", SPACES, "shop", "") == ""

    play(story, members)


@pytest.mark.parametrize("members", [PUSHED, PULLED], ids=["push", "pull"])
def test_s12_another_place_for_a_claim_leaves_its_data(members: dict[str, Mode]) -> None:
    """A claim goes with its template."""

    async def story(world: World) -> None:
        await world.client.create(CLAIMS, CLAIM, "default")
        await apply(world.client, policy("data", on("member1"), "PersistentVolumeClaim", "v1"))
        await world.sleep(60)
        before = await uid_in(world, "member1", CLAIMS, "data", "default")
        await elsewhere(world, POLICIES, "data")
        await world.sleep(240)
        assert await uid_in(world, "member1", CLAIMS, "data", "default") == before
        await world.client.delete(CLAIMS, "data", "default")
        await world.sleep(60)
        assert [await uid_in(world, name, CLAIMS, "data", "default") for name in ("member1", "member2")] == ["", ""]

    play(story, members)


def test_s12_another_place_for_a_definition_keeps_what_others_have_of_it() -> None:
    async def story(world: World) -> None:
        definition = CRON_TAB_DEFINITION["metadata"]["name"]
        await world.client.create(DEFINITIONS, CRON_TAB_DEFINITION)
        await world.client.create(CLUSTER_POLICIES, selecting(DEFINITIONS, definition, "member1"))
        await world.sleep(60)
        there = world.member("member1").client
        await there.create(CRON_TABS, {"metadata": {"name": "theirs"}}, "default")
        before = (await there.get(CRON_TABS, "theirs", "default"))["metadata"]["uid"]
        await elsewhere(world, CLUSTER_POLICIES, definition)
        await world.sleep(240)
        assert (await there.get(CRON_TABS, "theirs", "default"))["metadata"]["uid"] == before

    play(story, PUSHED)


@pytest.mark.parametrize("members", [PUSHED, PULLED], ids=["push", "pull"])
@pytest.mark.parametrize("when_deleted", ["Delete", "Retain"])
def test_s12_another_place_for_a_set_deletes_no_claims(members: dict[str, Mode], when_deleted: str) -> None:
    """Claims that would go with the set keep it where it was, until its template is deleted."""

    async def story(world: World) -> None:
        made = stateful_set()
        made["spec"]["persistentVolumeClaimRetentionPolicy"] = {"whenDeleted": when_deleted}
        await world.client.create(STATEFUL_SETS, made, "default")
        await apply(world.client, policy("db", on("member1"), "StatefulSet"))
        await world.sleep(90)
        there = world.member("member1").client
        before = {each["metadata"]["uid"] for each in (await there.list(CLAIMS, "default")).items}
        assert before
        await elsewhere(world, POLICIES, "db")
        await world.sleep(240)
        assert {each["metadata"]["uid"] for each in (await there.list(CLAIMS, "default")).items} == before
        assert await uid_in(world, "member2", STATEFUL_SETS, "db")
        assert bool(await uid_in(world, "member1", STATEFUL_SETS, "db")) == (when_deleted == "Delete")
        found = world.binding("db-statefulset")
        assert found is not None
        blocked = find_condition(found.status.conditions, REMOVAL_BLOCKED_CONDITION, "True")
        assert (blocked.reason if blocked else "") == ("VolumesStay" if when_deleted == "Delete" else "")
        await world.client.delete(STATEFUL_SETS, "db", "default")
        await world.sleep(60)
        assert await uid_in(world, "member1", STATEFUL_SETS, "db") == ""

    play(story, members)
