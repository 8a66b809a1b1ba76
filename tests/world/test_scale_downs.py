"""Replicas that have moved, in a cluster that comes back: they go when what replaces them serves."""

import pytest

from leeward.api.meta import find_condition
from leeward.api.names import REMOVAL_BLOCKED_CONDITION, REMOVAL_HELD_ANNOTATION, RETAIN_REPLICAS_LABEL
from leeward.api.resource import RESOURCE_BINDINGS, WORKS
from leeward.operations.clusters import ClusterState, state_of
from leeward.operations.drain import copies_in, start_drain
from leeward.sim.world import World
from tests.security.test_could_not_look import blind, not_observed
from tests.world.stories import (
    DEPLOYMENTS,
    POLICIES,
    apply,
    by_weight,
    deployment,
    held,
    identities,
    in_world,
    policy,
    ready_replicas,
    tasks,
    with_room,
    without_room,
)
from tests.world.test_overrides import OVERRIDES, only, overriding, replacing
from tests.world.test_ownership import on
from tests.world.test_partial_eviction import DYNAMIC, cordoned_node, hungry
from tests.world.test_restored import PUSHED, WEB, moved, placed

ONE_OF_TWO = {
    "clusterAffinity": {"clusterNames": ["member1", "member2"]},
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
}


async def parted(world: World) -> dict[str, tuple[str, int]]:
    """Has a part of what serves in member1 moved away from it while it is away; what is there as it was."""
    await apply(world.client, hungry(8), policy("web", DYNAMIC))
    await world.until(lambda: world.assigned(WEB) == {"member1": 4, "member2": 4}, 60)
    await world.sleep(30)
    await cordoned_node(world, "member2", True)
    await world.sleep(30)
    before = await identities(world, "web", ["member1"])
    await world.member("member1").stop()
    await world.until(lambda: world.assigned(WEB) != {"member1": 4, "member2": 4})
    await world.until(lambda: not tasks(world, WEB), 1800)
    await world.sleep(30)
    return before


def blocked(world: World) -> str:
    binding = world.binding(WEB)
    assert binding is not None
    condition = find_condition(binding.status.conditions, REMOVAL_BLOCKED_CONDITION)
    return condition.message if condition is not None else ""


@in_world(PUSHED)
async def test_s1_replicas_that_have_moved_stay_in_a_cluster_that_returns_while_what_replaces_them_is_lost(
    world: World,
) -> None:
    before = await parted(world)
    assert world.assigned(WEB)["member1"] < 4
    await world.member("member2").stop()
    await world.until(lambda: not world.is_ready("member2"), 120)
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    for _ in range(120):
        await world.sleep(1)
        assert await ready_replicas(world, "member1", "web") == 4
    assert blocked(world) == "Not scaled down in member1, because the new copy is not healthy."
    await image(world, "nginx:2")
    await world.sleep(10)
    assert await ready_replicas(world, "member1", "web") == 4
    assert await image_in(world, "member1") == "nginx:2", "what the user asks for meanwhile is done"
    assert uids(await identities(world, "web", ["member1"])) == uids(before)
    await world.member("member2").start()
    await cordoned_node(world, "member2", False)
    await world.until(lambda: not tasks(world, WEB), 1800)
    await world.sleep(120)
    assert not blocked(world)
    counts = {name: await ready_replicas(world, name, "web") for name in world.assigned(WEB)}
    assert counts == world.assigned(WEB)
    assert sum(counts.values()) == 8


@pytest.mark.parametrize("restarts", [False, True])
@in_world(PUSHED)
async def test_replicas_that_have_moved_go_when_what_replaces_them_serves(world: World, restarts: bool) -> None:
    await parted(world)
    left = world.assigned(WEB)["member1"]
    await world.member("member1").start()
    if restarts:
        await world.stop_controllers()
        world.start_controllers()
    await world.until(lambda: world.is_ready("member1"))
    await world.sleep(60)
    assert await ready_replicas(world, "member1", "web") == left == world.assigned(WEB)["member1"]
    assert not blocked(world)


@in_world(PUSHED)
async def test_s1_a_new_leader_keeps_the_replicas_that_serve_in_a_cluster_that_has_returned(world: World) -> None:
    before = await parted(world)
    await world.member("member2").stop()
    await world.until(lambda: not world.is_ready("member2"), 120)
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    await world.sleep(30)
    await world.stop_controllers()
    await world.sleep(5)
    world.start_controllers()
    for _ in range(120):
        await world.sleep(1)
        assert await ready_replicas(world, "member1", "web") == 4
    assert blocked(world) == "Not scaled down in member1, because the new copy is not healthy."
    assert uids(await identities(world, "web", ["member1"])) == uids(before)


def uids(found: dict[str, tuple[str, int]]) -> dict[str, str]:
    return {name: uid for name, (uid, _) in found.items()}


async def image(world: World, name: str) -> None:
    web = await world.client.get(DEPLOYMENTS, "web", "default")
    (container,) = web["spec"]["template"]["spec"]["containers"]
    patch = {"spec": {"template": {"spec": {"containers": [{**container, "image": name}]}}}}
    await world.client.patch(DEPLOYMENTS, "web", patch, "default")


async def image_in(world: World, member: str) -> str:
    web = await world.member(member).client.get(DEPLOYMENTS, "web", "default")
    return web["spec"]["template"]["spec"]["containers"][0]["image"]


@in_world(PUSHED)
async def test_replicas_that_were_held_go_when_what_replaces_them_is_observed_again(world: World) -> None:
    await parted(world)
    left = world.assigned(WEB)["member1"]
    see_again = blind(world, "member2")
    await world.until(lambda: not_observed(world, "member2") is not None, 60)
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    await world.sleep(120)
    assert await ready_replicas(world, "member1", "web") == 4
    see_again()
    await world.until(lambda: not_observed(world, "member2") is None, 60)
    await world.sleep(60)
    assert await ready_replicas(world, "member1", "web") == left == world.assigned(WEB)["member1"]
    assert not blocked(world)


@in_world(PUSHED)
async def test_a_removal_that_was_held_is_carried_out_when_what_replaces_the_copy_is_observed_again(
    world: World,
) -> None:
    old = await placed(world)
    new = await moved(world, old)
    await world.until(lambda: not tasks(world, WEB), 900)
    await world.sleep(30)
    see_again = blind(world, new)
    await world.until(lambda: not_observed(world, new) is not None, 60)
    await world.member(old).start()
    await world.until(lambda: world.is_ready(old), 120)
    await world.sleep(120)
    assert await ready_replicas(world, old, "web") == 3
    see_again()
    await world.until(lambda: not_observed(world, new) is None, 60)
    await world.sleep(60)
    assert await ready_replicas(world, old, "web") == -1


@in_world(PUSHED)
async def test_l4_a_manifest_that_an_override_made_unreadable_holds_back_no_other_cluster(world: World) -> None:
    """The scale-down in member1 is held: it is away."""
    await apply(world.client, deployment("web", 6), policy("web", by_weight(dict.fromkeys(PUSHED, 1))))
    await world.sleep(60)
    unreadable = replacing("/spec/template/spec/containers/0/resources", {"requests": {"cpu": "lots"}})
    override = overriding("web", {"name": "web"}, only("member3"), plaintext=unreadable)
    await world.client.create(OVERRIDES, override, "default")
    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"), 120)
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}}, "default")
    await image(world, "nginx:2")
    await world.sleep(30)
    assert await image_in(world, "member2") == "nginx:2"


@pytest.mark.parametrize("how", ["the policy is edited", "the policy is replaced", "its targets are edited"])
@in_world(PUSHED)
async def test_s1_a_copy_that_a_person_moves_serves_until_the_new_one_does(world: World, how: str) -> None:
    await apply(world.client, deployment("web", 4), policy("web", ONE_OF_TWO))
    await world.sleep(60)
    (old,) = world.assigned(WEB)
    (new,) = {"member1", "member2"} - {old}
    moved = {"clusterAffinity": {"clusterNames": [new]}}
    if how == "the policy is edited":
        await world.client.patch(POLICIES, "web", {"spec": {"placement": moved}}, "default")
    elif how == "the policy is replaced":
        found = await world.client.get(POLICIES, "web", "default")
        await world.client.update(POLICIES, {**found, "spec": policy("web", moved)["spec"]}, "web", "default")
    else:
        edited = {"spec": {"clusters": [{"name": new, "replicas": 4}]}}
        await world.client.patch(RESOURCE_BINDINGS, WEB, edited, "default")
    told, serving = set[str](), list[int]()
    for _ in range(300):
        await world.sleep(0.1)
        serving = [await ready_replicas(world, name, "web") for name in (old, new)]
        assert sum(max(0, count) for count in serving) >= 4
        told.add(blocked(world))
    why = "the new copy, or its cluster, is not healthy"
    assert told == {"", f"Not removed from {old}, because {why}."}
    assert (serving, blocked(world)) == ([-1, 4], "")


@pytest.mark.parametrize("how", ["a policy is edited", "an eviction is ended"])
@in_world(PUSHED)
async def test_a_person_takes_a_copy_away_whatever_replaces_it(world: World, how: str) -> None:
    """Half of the Pods find no node in the other cluster."""
    await apply(world.client, hungry(8), policy("web", ONE_OF_TWO))
    await world.sleep(60)
    (old,) = world.assigned(WEB)
    (new,) = {"member1", "member2"} - {old}
    moved = {"clusterAffinity": {"clusterNames": [new]}}
    await cordoned_node(world, new, True)
    if how == "a policy is edited":
        await world.client.patch(POLICIES, "web", {"spec": {"placement": moved}}, "default")
        await world.sleep(60)
        assert await ready_replicas(world, old, "web") == 8
        (work,) = [each for each in (await world.client.list(WORKS, f"karmada-es-{old}")).items if "web" in each.name]
        word = {"metadata": {"annotations": {REMOVAL_HELD_ANNOTATION: "false"}}}
        await world.client.patch(WORKS, work.name, word, work.namespace)
    else:
        task = {"fromCluster": old, "reason": "why", "producer": "me", "replicas": 8}
        left = {"clusters": [{"name": new, "replicas": 8}], "gracefulEvictionTasks": [task]}
        await world.client.patch(RESOURCE_BINDINGS, WEB, {"spec": left}, "default")
        await world.sleep(60)
        assert await ready_replicas(world, old, "web") == 8
        ended = {"gracefulEvictionTasks": [{**task, "suppressDeletion": False}]}
        await world.client.patch(RESOURCE_BINDINGS, WEB, {"spec": ended}, "default")
    await world.sleep(30)
    assert await ready_replicas(world, old, "web") == -1
    assert not tasks(world, WEB)


@pytest.mark.parametrize("how", ["an override policy", "its own cluster"])
@pytest.mark.parametrize("is_divided", [False, True])
@in_world(PUSHED)
async def test_a_copy_goes_also_where_another_is_to_have_fewer_replicas(
    world: World, how: str, is_divided: bool
) -> None:
    """A cluster that was taken out of its policy had its copy for good."""
    web = deployment("web", 6)
    if how == "its own cluster":
        web["metadata"]["labels"][RETAIN_REPLICAS_LABEL] = "true"
    three, two = (
        by_weight(dict.fromkeys(names, 1)) if is_divided else {"clusterAffinity": {"clusterNames": [*names]}}
        for names in (PUSHED, ("member1", "member2"))
    )
    await apply(world.client, web, policy("web", three))
    if how == "an override policy":
        fewer = overriding("web", {"name": "web"}, only("member2"), plaintext=replacing("/spec/replicas", 1))
        await world.client.create(OVERRIDES, fewer, "default")
    await world.sleep(60)
    if how == "its own cluster":
        for name in PUSHED:
            await world.member(name).client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 1}}, "default")
        await world.sleep(30)
    await world.client.patch(POLICIES, "web", {"spec": {"placement": two}}, "default")
    await world.sleep(120)
    assert (await ready_replicas(world, "member3", "web"), blocked(world)) == (-1, "")
    assert await ready_replicas(world, "member2", "web") == 1


@in_world(PUSHED)
async def test_s1_a_drain_of_what_is_degraded_everywhere_is_held_until_there_is_room(world: World) -> None:
    """Half of the Pods find no node, here and there. Time let one half go for the other: four served of eight."""
    for member in ("member1", "member2"):
        await cordoned_node(world, member, True)
    await apply(world.client, hungry(8), policy("web", ONE_OF_TWO))
    await world.sleep(60)
    (old,) = world.assigned(WEB)
    await start_drain(world.client, old, None)
    await world.until(lambda: bool(tasks(world, WEB)), 60)
    await world.sleep(1800)
    assert await ready_replicas(world, old, "web") == 4
    (copy,) = await copies_in(world.client, old)
    assert (copy.workload, copy.state) == ("Deployment default/web", "moving, until its replacement is healthy")
    assert held(world, WEB) == "ReplacementMissing"
    binding = world.binding(WEB)
    assert binding is not None
    assert state_of(world.cluster(old), (binding,)) is ClusterState.DRAINING, "`leeward status` says so"
    for member in ("member1", "member2"):
        await cordoned_node(world, member, False)
    await world.sleep(120)
    assert await ready_replicas(world, old, "web") == -1
    assert await copies_in(world.client, old) == []


@in_world(PUSHED)
async def test_s1_a_copy_that_is_held_is_preserved_with_its_application_while_it_alone_serves(world: World) -> None:
    placing = policy("web", {"clusterAffinity": {"clusterNames": ["member1"]}})
    placing["spec"]["preserveResourcesOnDeletion"] = True
    await apply(world.client, deployment("web", 4), placing)
    await world.sleep(60)
    await without_room(world, "member2")
    before = await identities(world, "web", ["member1"])
    await world.client.patch(POLICIES, "web", {"spec": {"placement": on("member2")}}, "default")
    await world.sleep(30)
    (copy,) = await copies_in(world.client, "member1")
    assert (copy.workload, copy.state) == (
        "Deployment default/web",
        "stays until other clusters serve all replicas",
    )
    await world.client.delete(DEPLOYMENTS, "web", "default")
    await world.sleep(60)
    assert uids(await identities(world, "web", ["member1"])) == uids(before)
    assert await ready_replicas(world, "member1", "web") == 4
    assert not (await world.client.list(WORKS, "karmada-es-member1")).items


@in_world(PUSHED)
async def test_copies_that_are_to_shrink_do_not_wait_for_one_another_to_grow(world: World) -> None:
    """The user asks for more than there is room for while both clusters are away, and takes it back."""
    await apply(world.client, hungry(4), policy("web", by_weight({"member1": 1, "member2": 1})))
    await world.sleep(60)
    for member in ("member1", "member2"):
        await world.member(member).stop()
    await world.until(lambda: not world.is_ready("member1") and not world.is_ready("member2"), 120)
    for replicas in (40, 4):
        await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": replicas}}, "default")
        await world.sleep(30)
    for member in ("member1", "member2"):
        await world.member(member).start()
    await world.until(lambda: world.is_ready("member1") and world.is_ready("member2"), 300)
    await world.sleep(60)
    assert not blocked(world)
    for member in ("member1", "member2"):
        web = await world.member(member).client.get(DEPLOYMENTS, "web", "default")
        assert web["spec"]["replicas"] == await ready_replicas(world, member, "web") == 2


@pytest.mark.parametrize("lost", [False, True])
@in_world({"member1": "Push", "member2": "Push", "member3": "Push"})
async def test_s1_replicas_that_were_not_given_up_yet_stay_when_the_rest_of_their_copy_is_to_leave_too(
    world: World, lost: bool
) -> None:
    """A scale-down waits for replicas elsewhere, and then its cluster is drained, or lost."""
    others = ("member2", "member3")
    await apply(world.client, deployment("web", 4), policy("web", by_weight({"member1": 1})))
    await world.until(lambda: world.assigned(WEB) == {"member1": 4}, 60)
    await world.sleep(30)
    for member in others:
        await without_room(world, member)
    await world.sleep(30)
    spread = policy("web", by_weight({"member1": 2, "member2": 1, "member3": 1}))
    await world.client.patch(POLICIES, "web", {"spec": spread["spec"]}, "default")
    await world.until(lambda: world.assigned(WEB) == {"member1": 2, "member2": 1, "member3": 1}, 60)
    await world.sleep(60)
    assert await ready_replicas(world, "member1", "web") == 4
    if lost:
        await world.member("member1").stop()
    else:
        await start_drain(world.client, "member1", None)
    await world.until(lambda: bool(tasks(world, WEB)))
    await world.sleep(60)
    if lost:
        await world.member("member1").start()
        await world.until(lambda: world.is_ready("member1"))
    for _ in range(60):
        await world.sleep(1)
        assert await ready_replicas(world, "member1", "web") == 4
    for member in others:
        await with_room(world, member)
    await world.until(lambda: not tasks(world, WEB), 1800)
    await world.sleep(120)
    counts = {name: await ready_replicas(world, name, "web") for name in world.assigned(WEB)}
    assert counts == world.assigned(WEB)
    assert sum(counts.values()) == 4
