"""Past its grace period an eviction goes on as long as the old copy serves, or may serve, more than its replacement."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubeapi.core import PODS
from kubeapi.meta import Manifest
from leeward.api.resource import CLUSTERS
from leeward.sim.world import Mode, World
from tests.world.stories import (
    DEPLOYMENTS,
    POLICIES,
    apply,
    by_weight,
    deployment,
    held,
    in_world,
    policy,
    ready_replicas,
    tasks,
    without_room,
)
from tests.world.test_safety import brake_engaged

THREE: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push"}
WEB = "web-deployment"
BY_HAND: Manifest = {"spec": {"taints": [{"key": "example.com/maintenance", "effect": "NoExecute"}]}}
ONE_COPY: Manifest = {
    "clusterAffinity": {"clusterNames": ["member1", "member2"]},
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
    "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
}
DIVIDED = by_weight({"member1": 1, "member2": 1})
DIVIDED_TYPE = {"replicaSchedulingType": "Divided"}
GRACE_SECONDS = 600


async def uid_in(world: World, member: str) -> str:
    found = await world.member(member).client.get(DEPLOYMENTS, "web", "default")
    return found["metadata"]["uid"]


async def held_copy(world: World, placement: Manifest, replicas: int, *, partitioned: bool = False) -> tuple[str, str]:
    """The old cluster and the new one of a copy whose replacement finds no room, past its grace period."""
    await apply(world.client, deployment("web", replicas), policy("web", placement))
    await world.until(lambda: sum(world.assigned(WEB).values()) == replicas, 60)
    await world.sleep(30)
    old = "member1" if "member1" in world.assigned(WEB) else "member2"
    new = "member2" if old == "member1" else "member1"
    await without_room(world, new)
    if partitioned:
        world.link("controllers", old).cut()
    else:
        await world.client.patch(CLUSTERS, old, BY_HAND)
    await world.until(lambda: list(world.assigned(WEB)) == [new], 900)
    await world.sleep(GRACE_SECONDS + 120)
    assert (tasks(world, WEB), held(world, WEB)) == ([old], "ReplacementMissing")
    return old, new


async def nothing(world: World, old: str) -> None:
    pass


async def a_label(world: World, old: str) -> None:
    await world.client.patch(DEPLOYMENTS, "web", {"metadata": {"labels": {"x": "y"}}}, "default")


async def a_release(world: World, old: str) -> None:
    containers = [{"name": "main", "image": "nginx:2"}]
    body = {"spec": {"template": {"spec": {"containers": containers}}}}
    await world.client.patch(DEPLOYMENTS, "web", body, "default")


async def a_release_that_stops_the_old_one_first(world: World, old: str) -> None:
    containers = [{"name": "main", "image": "nginx:2"}]
    strategy = {"type": "Recreate", "rollingUpdate": None}
    body: Manifest = {"spec": {"strategy": strategy, "template": {"spec": {"containers": containers}}}}
    await world.client.patch(DEPLOYMENTS, "web", body, "default")


async def a_scale_up(world: World, old: str) -> None:
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 4}}, "default")


async def a_pod_that_restarts(world: World, old: str) -> None:
    client = world.member(old).client
    pods = [pod for pod in (await client.list(PODS, "default")).items if pod.name.startswith("web")]
    await client.delete(PODS, pods[0].name, "default")


async def a_blip_of_readyz(world: World, old: str) -> None:
    world.member(old).set_ready(False)
    await world.until(lambda: not world.is_ready(old), 100)
    world.member(old).set_ready(True)
    await world.until(lambda: world.is_ready(old), 100)


async def a_restart_of_the_controllers(world: World, old: str) -> None:
    await world.stop_controllers()
    await world.sleep(5)
    world.start_controllers()


EVENTS: tuple[Callable[[World, str], Awaitable[Any]], ...] = (
    nothing,
    a_label,
    a_release,
    a_release_that_stops_the_old_one_first,
    a_scale_up,
    a_pod_that_restarts,
    a_blip_of_readyz,
    a_restart_of_the_controllers,
)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
@pytest.mark.parametrize(
    ("placement", "replicas"),
    [
        (ONE_COPY, 3),
        *(pytest.param(each, count, marks=pytest.mark.long) for each, count in ((ONE_COPY, 1), (DIVIDED, 3))),
    ],
    ids=["3", "1", "part"],
)
@in_world(THREE)
async def test_s1_the_copy_that_serves_survives(
    world: World, event: Callable[[World, str], Awaitable[Any]], placement: Manifest, replicas: int
) -> None:
    old, _ = await held_copy(world, placement, replicas)
    before, uid = await ready_replicas(world, old, "web"), await uid_in(world, old)
    assert before > 0
    await event(world, old)
    await world.sleep(300)
    assert await ready_replicas(world, old, "web") >= before
    assert await uid_in(world, old) == uid
    assert (tasks(world, WEB), held(world, WEB)) == ([old], "ReplacementMissing")


@pytest.mark.long
@pytest.mark.parametrize(("placement", "replicas"), [(ONE_COPY, 3), (DIVIDED, 3)], ids=["all", "part"])
@in_world(THREE)
async def test_s1_a_copy_that_was_only_cut_off_serves_on_when_it_is_seen_again(
    world: World, placement: Manifest, replicas: int
) -> None:
    old, _ = await held_copy(world, placement, replicas, partitioned=True)
    before, uid = await ready_replicas(world, old, "web"), await uid_in(world, old)
    world.link("controllers", old).mend()
    await world.until(lambda: world.is_ready(old), 100)
    await world.sleep(300)
    assert (await ready_replicas(world, old, "web"), await uid_in(world, old)) == (before, uid)
    assert tasks(world, WEB) == [], "its eviction is withdrawn"


@pytest.mark.long
@in_world(THREE)
async def test_s1_a_degraded_copy_is_worth_what_serves_of_it(world: World) -> None:
    await apply(world.client, deployment("web", 6), policy("web", DIVIDED))
    await world.until(lambda: sum(world.assigned(WEB).values()) == 6, 60)
    await world.sleep(30)
    await without_room(world, "member1")
    await without_room(world, "member2")
    await world.client.patch(CLUSTERS, "member1", BY_HAND)
    await world.until(lambda: world.assigned(WEB) == {"member2": 6}, 60)
    await a_pod_that_restarts(world, "member1")
    await world.sleep(GRACE_SECONDS + 1200)
    assert await ready_replicas(world, "member1", "web") == 2, "two of three serve, and what replaces them does not"


@pytest.mark.long
@in_world(THREE)
async def test_s1_what_serves_no_more_than_its_replacement_goes_after_a_whole_grace_period(world: World) -> None:
    await apply(world.client, deployment("web", 2), policy("web", ONE_COPY))
    await world.until(lambda: len(world.assigned(WEB)) == 1, 60)
    await world.sleep(30)
    (old,) = world.assigned(WEB)
    new = "member2" if old == "member1" else "member1"
    await without_room(world, old)
    await without_room(world, new)
    await world.client.patch(CLUSTERS, old, BY_HAND)
    await world.until(lambda: list(world.assigned(WEB)) == [new], 60)
    await world.sleep(GRACE_SECONDS)
    for pod in (await world.member(old).client.list(PODS, "default")).items:
        await world.member(old).client.delete(PODS, pod.name, "default")
    await world.sleep(GRACE_SECONDS - 60)
    assert await ready_replicas(world, old, "web") == 0
    assert tasks(world, WEB) == [old], "it may be restarting"
    await world.sleep(120)
    assert tasks(world, WEB) == [], "neither has served for ten minutes"


@pytest.mark.long
@in_world(THREE)
async def test_s4_a_hub_that_is_cut_off_ends_no_eviction_that_is_under_way(world: World) -> None:
    old, _ = await held_copy(world, ONE_COPY, 3)
    uid = await uid_in(world, old)
    for name in THREE:
        world.link("controllers", name).cut()
    await world.until(lambda: all(not world.is_ready(name) for name in THREE), 120)
    await world.sleep(60)
    assert await brake_engaged(world)
    await world.sleep(900)
    assert tasks(world, WEB) == [old]
    for name in THREE:
        world.link("controllers", name).mend()
    await world.until(lambda: all(world.is_ready(name) for name in THREE), 120)
    await world.sleep(120)
    assert (await ready_replicas(world, old, "web"), await uid_in(world, old)) == (3, uid)


@pytest.mark.parametrize("beside", [{}, {"member3": 1}], ids=["alone", "with another one"])
@in_world(THREE)
async def test_l1_a_changed_placement_has_the_cluster_that_is_being_left_when_it_is_well_again(
    world: World,
    beside: dict[str, int],
) -> None:
    """The open eviction barred the cluster, and waited for a place that there was not without it (seed 4223)."""
    old, _ = await held_copy(world, DIVIDED, 3)
    uid = await uid_in(world, old)
    wanted: Manifest = by_weight({old: 1, **beside})
    if beside:
        wanted["spreadConstraints"] = [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}]
        wanted["replicaScheduling"] = {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Aggregated",
        }
    await world.client.patch(POLICIES, "web", {"spec": {"placement": wanted}}, "default")
    await world.sleep(60)
    assert tasks(world, WEB) == [old], "it is still tainted"
    await world.client.patch(CLUSTERS, old, {"spec": {"taints": None}})
    await world.sleep(120)
    assert (tasks(world, WEB), sum(world.assigned(WEB).values())) == ([], 3)
    assert set(world.assigned(WEB)) <= {old, *beside}
    assert sum([await ready_replicas(world, name, "web") for name in world.assigned(WEB)]) == 3
    assert await uid_in(world, old) == uid
