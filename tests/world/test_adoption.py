"""Adoption: what is assigned again while its old Work's deletion is pending keeps its object, its uid and its Pods."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from kubeapi.core import NAMESPACES, PODS
from kubeapi.meta import Manifest
from kubeclient import NotFound
from leeward.api.names import execution_space, work_name
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS, WORKS
from leeward.api.work import Work
from leeward.core.copies.availability import availability
from leeward.sim.world import Mode, World
from tests.variants import mostly_long
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, deployment, in_world, policy, ready_replicas

MEMBERS: Mapping[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull"}
WEB, BINDING = work_name("Deployment", "web", "default"), "web-deployment"
AWAY = ["stopped", "cut off", "unready"]


@dataclass(frozen=True)
class Running:
    """Objects of the application that a member runs, by uid."""

    deployment: str
    pods: frozenset[str]


async def running(world: World, member: str) -> Running:
    client = world.member(member).client
    found = await client.get(DEPLOYMENTS, "web", "default")
    return Running(
        found["metadata"]["uid"], frozenset(pod.metadata.uid for pod in (await client.list(PODS, "default")).items)
    )


def placed(*members: str, tolerant: bool = True) -> Manifest:
    """`tolerant` of clusters that are not Ready."""
    tolerations = {"clusterTolerations": [{"operator": "Exists"}]} if tolerant else {}
    return {"clusterAffinity": {"clusterNames": list(members)}, **tolerations}


async def place(world: World, *members: str, tolerant: bool = True) -> None:
    """The user's change."""
    patch = {"spec": {"placement": {"clusterTolerations": None, **placed(*members, tolerant=tolerant)}}}
    await world.client.patch(POLICIES, "web", patch, "default")


async def web_runs(world: World, *members: str) -> None:
    await apply(world.client, deployment("web", 2), policy("web", placed(*members)))
    await world.sleep(60)


async def leave(world: World, member: str, how: str) -> None:
    match how:
        case "stopped":
            await world.member(member).stop_agent()
            await world.member(member).stop_apiserver()
        case "cut off":
            world.member(member).pause()
        case _:
            world.member(member).set_ready(False)
    await world.until(lambda: not world.is_ready(member), 300)


async def come_back(world: World, member: str, how: str) -> None:
    match how:
        case "stopped":
            await world.member(member).start()
        case "cut off":
            world.member(member).resume()
        case _:
            world.member(member).set_ready(True)
    await world.until(lambda: world.is_ready(member), 300)


async def settled(world: World, member: str) -> Work:
    """The Work that is there in the end: alive, applied in its own generation, and seen healthy."""
    await world.sleep(60)
    work = await world.client.get(WORKS, WEB, execution_space(member))
    assert work.metadata.deletion_timestamp is None
    assert availability(work, world.cluster(member), 2).is_whole
    return work


def is_leaving(world: World, member: str) -> bool:
    work = world.work(member, WEB)
    return work is not None and work.is_leaving and work.metadata.deletion_timestamp is None


def is_dying(world: World, member: str) -> bool:
    work = world.work(member, WEB)
    return work is not None and work.metadata.deletion_timestamp is not None


@pytest.mark.parametrize("member", ["member1", "member3"])
@pytest.mark.parametrize("how", mostly_long(AWAY, "stopped"))
@in_world(MEMBERS)
async def test_what_is_assigned_again_before_its_cluster_is_back_keeps_its_object(
    world: World, how: str, member: str
) -> None:
    await web_runs(world, member)
    before = await running(world, member)
    old = (await world.client.get(WORKS, WEB, execution_space(member))).metadata.uid
    await leave(world, member, how)
    await place(world, "member2")
    await world.until(lambda: is_leaving(world, member), 60)
    await world.sleep(60)
    await place(world, member)
    await world.sleep(60)
    assert list(world.assigned(BINDING)) == [member]
    await come_back(world, member, how)
    work = await settled(world, member)
    assert work.metadata.uid == old
    assert not work.is_leaving
    assert await running(world, member) == before
    assert await ready_replicas(world, "member2", "web") == -1


@pytest.mark.parametrize("member", ["member1", "member3"])
@pytest.mark.parametrize("how", mostly_long(AWAY, "cut off"))
@in_world(MEMBERS)
async def test_what_is_assigned_again_when_its_cluster_returns_keeps_its_object(
    world: World, how: str, member: str
) -> None:
    """The scheduler places nothing on a cluster that is away; when it is back, it does so at once."""
    await web_runs(world, member)
    before = await running(world, member)
    await leave(world, member, how)
    await place(world, "member2", tolerant=False)
    await world.until(lambda: is_leaving(world, member), 60)
    await world.sleep(60)
    await place(world, "member2", member, tolerant=False)
    await world.sleep(60)
    assert list(world.assigned(BINDING)) == ["member2"]
    await come_back(world, member, how)
    await settled(world, member)
    assert set(world.assigned(BINDING)) == {member, "member2"}
    assert await running(world, member) == before


@in_world(MEMBERS)
async def test_what_is_assigned_again_while_its_deletion_is_under_way_keeps_its_object(world: World) -> None:
    await web_runs(world, "member1")
    before = await running(world, "member1")
    world.member("member1").set_latency(2)
    await place(world, "member2")
    await world.until(lambda: is_dying(world, "member1"), 60)
    await world.sleep(0.5)
    await place(world, "member1")
    await world.sleep(30)
    world.member("member1").set_latency(0)
    await settled(world, "member1")
    assert await running(world, "member1") == before


@in_world(MEMBERS)
async def test_what_was_assigned_again_and_leaves_once_more_is_removed(world: World) -> None:
    await web_runs(world, "member3")
    await world.member("member3").stop()
    await world.until(lambda: not world.is_ready("member3"), 300)
    for target in ("member2", "member3", "member2"):
        await place(world, target)
        await world.sleep(60)
    await world.member("member3").start()
    await world.sleep(120)
    assert await ready_replicas(world, "member3", "web") == -1
    assert await ready_replicas(world, "member2", "web") == 2


@in_world(MEMBERS)
async def test_what_was_assigned_again_goes_with_its_template(world: World) -> None:
    await web_runs(world, "member3")
    await world.member("member3").stop()
    await world.until(lambda: not world.is_ready("member3"), 300)
    for target in ("member2", "member3"):
        await place(world, target)
        await world.sleep(60)
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.sleep(60)
    await world.member("member3").start()
    await world.sleep(120)
    assert await ready_replicas(world, "member3", "web") == -1
    with pytest.raises(NotFound):
        await world.client.get(WORKS, WEB, execution_space("member3"))


@in_world(MEMBERS)
async def test_an_object_goes_with_its_cluster_although_it_is_assigned_there(world: World) -> None:
    await web_runs(world, "member1", "member2")
    await world.client.delete(CLUSTERS, "member1")
    await world.sleep(120)
    assert await ready_replicas(world, "member1", "web") == -1


@in_world(MEMBERS)
async def test_the_adopted_object_is_healthy_only_when_the_new_works_own_generation_is_applied(world: World) -> None:
    """The old Work and the new one are both of generation 1, with other contents."""
    await web_runs(world, "member1")
    before = await running(world, "member1")
    await leave(world, "member1", "cut off")
    await place(world, "member2")
    await world.sleep(60)
    template = deployment("web", 2, "another")["spec"]["template"]
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"template": template}}, "default")
    await place(world, "member1")
    await world.sleep(60)
    seen: list[str] = []

    def look() -> bool:
        work = world.work("member1", WEB)
        if work is not None and availability(work, world.cluster("member1"), 2).is_whole:
            seen.append(work.metadata.uid)
        return bool(seen)

    world.member("member1").resume()
    await world.until(look, 300)
    found = await world.member("member1").client.get(DEPLOYMENTS, "web", "default")
    assert found["metadata"]["uid"] == before.deployment
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "another"
    assert found["status"]["updatedReplicas"] == 2, "the rollout has ended"


@in_world(MEMBERS)
async def test_a_namespace_that_is_made_again_while_a_member_is_away_keeps_its_uid_there(world: World) -> None:
    namespace = {"metadata": {"name": "shop"}}
    await world.client.create(NAMESPACES, namespace)
    await world.sleep(30)
    before = (await world.member("member1").client.get(NAMESPACES, "shop")).metadata.uid
    await leave(world, "member1", "cut off")
    await world.client.delete(NAMESPACES, "shop")
    await world.sleep(30)
    await world.client.create(NAMESPACES, namespace)
    await world.sleep(30)
    await come_back(world, "member1", "cut off")
    await world.sleep(60)
    assert (await world.member("member1").client.get(NAMESPACES, "shop")).metadata.uid == before
    assert (await world.member("member2").client.get(NAMESPACES, "shop")).metadata.uid


@pytest.mark.parametrize("member", mostly_long(["member1", "member3"], "member3"))
@in_world(MEMBERS)
async def test_l2_what_is_deleted_and_applied_again_while_a_cluster_is_away_runs_in_the_others_at_once(
    world: World, member: str
) -> None:
    """The old binding waited for the Work in that cluster, and nothing was made of the new template anywhere."""
    await web_runs(world, "member2", member)
    before = await running(world, member)
    world.member(member).pause()
    await world.sleep(5)
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.until(lambda: world.binding(BINDING) is None, 60)
    changed = deployment("web", 2, selector={"matchLabels": {"app": "web", "release": "two"}})
    changed["spec"]["template"]["metadata"]["labels"]["release"] = "two"
    await apply(world.client, changed)
    await world.sleep(20)
    assert await ready_replicas(world, "member2", "web") == 2
    await come_back(world, member, "cut off")
    await settled(world, member)
    found = await world.member(member).client.get(DEPLOYMENTS, "web", "default")
    assert found["metadata"]["uid"] != before.deployment, "what was deleted is not kept: its selector could not change"
    assert set(world.assigned(BINDING)) == {"member2", member}


@in_world(MEMBERS)
async def test_l3_a_namespace_with_applications_can_be_deleted_while_a_cluster_is_away(world: World) -> None:
    await world.client.create(NAMESPACES, {"metadata": {"name": "shop"}})
    await apply(world.client, deployment("web", 2), policy("web", placed("member1", "member2")), namespace="shop")
    await world.sleep(60)
    await leave(world, "member1", "cut off")
    await world.client.delete(NAMESPACES, "shop")
    await world.sleep(30)
    with pytest.raises(NotFound):
        await world.client.get(NAMESPACES, "shop")
    await come_back(world, "member1", "cut off")
    await world.sleep(60)
    for member in MEMBERS:
        assert await ready_replicas(world, member, "web", "shop") == -1
        assert not (await world.client.list(WORKS, execution_space(member))).items


@pytest.mark.long
@in_world(MEMBERS)
async def test_s12_a_binding_that_somebody_deletes_keeps_the_object_of_a_cluster_that_is_away(world: World) -> None:
    await web_runs(world, "member1", "member2")
    before = await running(world, "member1")
    await leave(world, "member1", "cut off")
    await world.client.delete(RESOURCE_BINDINGS, BINDING, "default")
    await world.sleep(60)
    assert await ready_replicas(world, "member2", "web") == 2, "its template is still there"
    await come_back(world, "member1", "cut off")
    await settled(world, "member1")
    assert await running(world, "member1") == before
