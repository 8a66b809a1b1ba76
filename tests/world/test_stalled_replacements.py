"""A cluster that is Ready and takes nothing does not swallow what is moved to it, while another one is well."""

import pytest

from kubeapi.codec import to_wire
from kubeapi.core import EVENTS
from kubeapi.meta import Manifest
from kubeclient import Request, Response
from leeward.api.resource import CLUSTERS
from leeward.sim.world import Mode, World
from tests.world.stories import (
    DEPLOYMENTS,
    apply,
    by_weight,
    deployment,
    held,
    in_world,
    policy,
    ready_replicas,
    tasks,
    with_room,
    without_room,
)
from tests.world.test_detection import answers, status
from tests.world.test_overrides import OVERRIDES, only, overriding, replacing

THREE: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull"}
WEB = "web-deployment"
ONE_COPY: Manifest = {
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
    "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
}
AGGREGATED: Manifest = {
    "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
}
WRITES = ("POST", "PUT", "PATCH", "DELETE")


def refusing(request: Request) -> Response | None:
    """Every write of a Deployment, as a full disk or a quota does."""
    is_write = request.method in WRITES and "/deployments" in request.path
    return status(500, "InternalError") if is_write else None


async def evictions(world: World) -> list[str]:
    """Messages of events about clusters that were left."""
    events = (await world.client.list(EVENTS, "default")).items
    return sorted({event.message for event in events if event.reason == "EvictWorkloadFromClusterSucceed"})


async def begun(world: World) -> list[str]:
    """Messages of the evictions that have begun."""
    return [message for message in await evictions(world) if message.startswith("Evicting from cluster")]


async def without_takers(world: World, placement: Manifest, why: str) -> tuple[str, list[str]]:
    """The only cluster that has a copy, and the others, none of which takes another one."""
    await apply(world.client, deployment("web", 3), policy("web", placement))
    await world.until(lambda: len(world.assigned(WEB)) == 1, 60)
    await world.sleep(30)
    (old,) = world.assigned(WEB)
    others = [name for name in THREE if name != old]
    for name in others:
        if why == "refuses writes":
            answers(world.member(name).place, refusing)
        else:
            await without_room(world, name)
    return old, others


def taken_by(world: World, others: list[str]) -> tuple[str, str]:
    """The cluster that swallows what was moved to it, and the one that it was not moved to."""
    (swallowing,) = world.assigned(WEB)
    (third,) = [name for name in others if name != swallowing]
    return swallowing, third


async def moved(world: World, placement: Manifest, why: str) -> tuple[str, str, str]:
    """The old cluster, the one that swallows what is moved to it, and the third, once the first has been left."""
    old, others = await without_takers(world, placement, why)
    await world.member(old).stop()
    await world.until(lambda: old not in world.assigned(WEB), 900)
    return old, *taken_by(world, others)


async def mend(world: World, name: str) -> None:
    answers(world.member(name).place, lambda _: None)
    await with_room(world, name)


@in_world(THREE)
async def test_l2_the_next_cluster_is_tried_where_nothing_can_be_rendered_for_the_first(world: World) -> None:
    """No Work was ever made for it, and it swallowed the application for good."""
    await apply(world.client, deployment("web", 3), policy("web", ONE_COPY))
    await world.until(lambda: len(world.assigned(WEB)) == 1, 60)
    await world.sleep(30)
    (old,) = world.assigned(WEB)
    await world.member(old).stop()
    await world.until(lambda: not world.is_ready(old), 120)
    others = [name for name in THREE if name != old]
    bad = overriding("bad", {"name": "web"}, only(others[0]), plaintext=replacing("/spec/nope", 1))
    await world.client.create(OVERRIDES, bad, "default")
    await world.until(lambda: list(world.assigned(WEB)) == [others[0]], 900)
    await world.until(lambda: list(world.assigned(WEB)) == [others[1]], 660)
    await world.until(lambda: tasks(world, WEB) == [], 60)
    assert await ready_replicas(world, others[1], "web") == 3
    told = f"Evicting from cluster {others[0]}, for which nothing could be rendered: "
    assert any(message.startswith(told) for message in await evictions(world))


@pytest.mark.parametrize(
    ("placement", "why"),
    [
        (ONE_COPY, "refuses writes"),
        pytest.param(ONE_COPY, "has no room", marks=pytest.mark.long),
        pytest.param(AGGREGATED, "refuses writes", marks=pytest.mark.long),
    ],
    ids=["one copy, writes are refused", "one copy, there is no room", "divided, writes are refused"],
)
@in_world(THREE)
async def test_l2_the_next_cluster_is_tried_where_the_first_takes_nothing(
    world: World, placement: Manifest, why: str
) -> None:
    old, swallowing, third = await moved(world, placement, why)
    left = world.seconds
    await mend(world, third)
    await world.until(lambda: third in world.assigned(WEB), 700)
    assert 600 <= world.seconds - left <= 660
    await world.sleep(60)
    assert await ready_replicas(world, third, "web") == 3
    assert any(f"Evicting from cluster {swallowing}, " in message for message in await evictions(world))
    await mend(world, swallowing)
    await world.member(old).start()
    await world.until(lambda: world.is_ready(old), 120)
    await world.sleep(600)
    assert (list(world.assigned(WEB)), tasks(world, WEB), held(world, WEB)) == ([third], [], "")
    for name in (old, swallowing):
        assert await ready_replicas(world, name, "web") == -1, "nothing is left behind"


@pytest.mark.long
@in_world(THREE)
async def test_c1_what_becomes_healthy_nowhere_is_tried_once_in_each_cluster(world: World) -> None:
    await moved(world, ONE_COPY, "has no room")
    await world.sleep(2400)
    assert len(await begun(world)) == 2, "the cluster that was lost, and the one that took nothing"
    assert held(world, WEB) == "ReplacementMissing"
    before = world.binding(WEB)
    await world.sleep(1800)
    assert world.binding(WEB) == before, "and then nothing moves"


async def released(world: World, image: str) -> None:
    container = {"name": "main", "image": image, "resources": {"requests": {"cpu": "1"}}}
    await world.client.patch(
        DEPLOYMENTS, "web", {"spec": {"template": {"spec": {"containers": [container]}}}}, "default"
    )


@pytest.mark.long
@in_world(THREE)
async def test_c1_a_release_that_mends_what_became_healthy_nowhere_has_its_time_where_it_is(world: World) -> None:
    _, _, third = await moved(world, ONE_COPY, "has no room")
    await world.until(lambda: list(world.assigned(WEB)) == [third], 700)
    await world.sleep(700)
    before = await begun(world)
    await mend(world, third)
    await released(world, "nginx:2")
    for _ in range(90):
        await world.sleep(1)
        assert list(world.assigned(WEB)) == [third]
    assert await ready_replicas(world, third, "web") == 3
    assert await begun(world) == before


@pytest.mark.long
@in_world(THREE)
async def test_l2_a_release_that_becomes_healthy_nowhere_either_is_tried_in_each_cluster_after_its_time(
    world: World,
) -> None:
    _, swallowing, third = await moved(world, ONE_COPY, "has no room")
    await world.until(lambda: list(world.assigned(WEB)) == [third], 700)
    await world.sleep(700)
    at = world.seconds
    await released(world, "nginx:2")
    await world.until(lambda: list(world.assigned(WEB)) == [swallowing], 700)
    assert 600 <= world.seconds - at <= 660
    await world.sleep(1200)
    assert list(world.assigned(WEB)) == [swallowing], "it was tried in both"


@pytest.mark.long
@in_world(THREE)
async def test_l2_a_tool_that_writes_annotations_of_the_template_keeps_no_target_that_takes_nothing(
    world: World,
) -> None:
    """The annotation has nothing to do with what is run: it is no release, however often it comes."""
    _, swallowing, third = await moved(world, ONE_COPY, "has no room")
    left = world.seconds
    await mend(world, third)
    while list(world.assigned(WEB)) == [swallowing] and world.seconds - left < 1200:
        note: Manifest = {"metadata": {"annotations": {"tool.example/checked-at": str(world.seconds)}}}
        await world.client.patch(DEPLOYMENTS, "web", note, "default")
        await world.sleep(60)
    assert list(world.assigned(WEB)) == [third]
    assert 600 <= world.seconds - left <= 720
    await world.sleep(60)
    assert await ready_replicas(world, third, "web") == 3


@pytest.mark.long
@in_world(THREE)
async def test_s1_what_serves_of_a_replacement_stays_where_it_is(world: World) -> None:
    share = by_weight({"member1": 1, "member2": 1, "member3": 1})
    await apply(world.client, deployment("web", 6), policy("web", share))
    await world.until(lambda: sum(world.assigned(WEB).values()) == 6, 60)
    await world.sleep(30)
    uid = (await world.member("member2").client.get(DEPLOYMENTS, "web", "default"))["metadata"]["uid"]
    await without_room(world, "member2")
    await world.member("member1").stop()
    await world.until(lambda: "member1" not in world.assigned(WEB), 900)
    assert world.assigned(WEB) == {"member2": 3, "member3": 3}
    await world.until(lambda: world.assigned(WEB) == {"member2": 2, "member3": 4}, 700)
    for _ in range(60):
        await world.sleep(1)
        assert await ready_replicas(world, "member2", "web") == 2
    assert await ready_replicas(world, "member3", "web") == 4
    assert (await world.member("member2").client.get(DEPLOYMENTS, "web", "default"))["metadata"]["uid"] == uid
    await world.until(lambda: tasks(world, WEB) == [], 60)


def directly(placement: Manifest) -> Manifest:
    """A policy whose copies are purged before they are replaced."""
    made = policy("web", placement)
    made["spec"]["failover"] = {"cluster": {"purgeMode": "Directly"}}
    return made


async def taint(world: World, name: str) -> None:
    """Taints by hand, on a living cluster: what is there has to go."""
    found = await world.client.get(CLUSTERS, name)
    kept = [to_wire(taint) for taint in found.spec.taints]
    patch: Manifest = {"spec": {"taints": [*kept, {"key": "example.com/gone", "effect": "NoExecute"}]}}
    await world.client.patch(CLUSTERS, name, patch, resource_version=found.metadata.resource_version)


@pytest.mark.long
@in_world(THREE)
async def test_s1_what_serves_of_a_stalled_replacement_is_not_purged_though_the_policy_purges_directly(
    world: World,
) -> None:
    share = by_weight({"member1": 1, "member2": 1, "member3": 1})
    await apply(world.client, deployment("web", 6), directly(share))
    await world.until(lambda: sum(world.assigned(WEB).values()) == 6, 60)
    await world.sleep(30)
    uid = (await world.member("member2").client.get(DEPLOYMENTS, "web", "default"))["metadata"]["uid"]
    await without_room(world, "member2")
    await taint(world, "member1")
    await world.until(lambda: "member1" not in world.assigned(WEB), 60)
    for _ in range(2000):
        await world.sleep(1)
        assert await ready_replicas(world, "member2", "web") == 2
    assert (await world.member("member2").client.get(DEPLOYMENTS, "web", "default"))["metadata"]["uid"] == uid
    assert not any("from cluster member2" in message for message in await evictions(world))
    await with_room(world, "member2")
    await world.sleep(60)
    assert sum([max(0, await ready_replicas(world, name, "web")) for name in THREE]) == 6


@in_world(THREE)
async def test_l2_where_nothing_serves_the_next_cluster_is_tried_though_the_policy_purges_directly(
    world: World,
) -> None:
    """The state that the policy preserves goes on with it."""
    purging = directly(ONE_COPY)
    rules = [{"aliasLabelName": "example.com/state", "jsonPath": "{.readyReplicas}"}]
    purging["spec"]["failover"]["cluster"]["statePreservation"] = {"rules": rules}
    await apply(world.client, deployment("web", 3), purging)
    await world.until(lambda: len(world.assigned(WEB)) == 1, 60)
    await world.sleep(30)
    (old,) = world.assigned(WEB)
    others = [name for name in THREE if name != old]
    for name in others:
        await without_room(world, name)
    await taint(world, old)
    await world.until(lambda: old not in world.assigned(WEB), 60)
    swallowing, third = taken_by(world, others)
    await mend(world, third)
    await world.until(lambda: third in world.assigned(WEB), 1300)
    await world.sleep(60)
    assert await ready_replicas(world, third, "web") == 3
    found = await world.member(third).client.get(DEPLOYMENTS, "web", "default")
    assert found["metadata"]["labels"]["example.com/state"] == "3"
    for name in (old, swallowing):
        assert await ready_replicas(world, name, "web") == -1, "it was purged"
