"""Changes that meet an application that asks for failback between terms: by users, labels, clusters that leave."""

from collections.abc import Mapping
from typing import Any

import pytest

from kubeapi.meta import Manifest
from leeward.api.names import FAILBACK_PACE_ANNOTATION
from leeward.api.resource import CLUSTERS, WORKLOAD_REBALANCERS
from leeward.sim.world import World
from tests.variants import mostly_long
from tests.world.sampler import sampled
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, deployment, in_world, tasks
from tests.world.test_failback_between_terms import DIVISIONS, FOUR, WEB, back, fled, has_home, returning, terms

GROUPS = (("member1",), ("member3", "member4"))
TOLERATED = [{"key": "nobody.needs/this", "operator": "Exists", "effect": "NoSchedule"}]


async def on_its_way(world: World, how: str) -> dict[str, int]:
    """Half of eight replicas have returned to the primary. Returns where they are."""
    await fled(world, returning(terms(GROUPS, how), **{FAILBACK_PACE_ANNOTATION: "2"}), "member1", replicas=8)
    await back(world, "member1")
    await world.until(lambda: world.assigned(WEB).get("member1", 0) >= 4 and not tasks(world, WEB), 1500)
    placed = world.assigned(WEB)
    assert len(placed) == 3, "the rest is still in the backup"
    return placed


@pytest.mark.parametrize("how", mostly_long(["static", "dynamic"], "static"))
@pytest.mark.parametrize("what", ["an edit that moves nothing", "a rebalancing"])
@in_world(FOUR)
async def test_s1_what_has_returned_goes_gracefully_whatever_is_asked_for_on_the_way(
    world: World, how: str, what: str
) -> None:
    await on_its_way(world, how)
    async with sampled(world) as samples:
        if what == "a rebalancing":
            workload = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "default"}
            rebalancer = {"metadata": {"name": "again"}, "spec": {"workloads": [workload]}}
            await world.client.create(WORKLOAD_REBALANCERS, rebalancer)
        else:
            changed = {"spec": {"placement": {"clusterTolerations": TOLERATED}}}
            await world.client.patch(POLICIES, "web", changed, "default")
        await world.sleep(300)
    assert samples.fewest == 8
    assert sum(world.assigned(WEB).values()) == 8


@pytest.mark.parametrize("how", mostly_long(["static", "dynamic"], "static"))
@in_world(FOUR)
async def test_s1_a_cluster_that_is_unjoined_on_the_way_takes_along_its_own_replicas_alone(
    world: World, how: str
) -> None:
    placed = await on_its_way(world, how)
    async with sampled(world) as samples:
        await world.client.delete(CLUSTERS, "member4")
        await world.sleep(120)
        assert world.assigned(WEB)["member1"] >= placed["member1"]
        await world.until(lambda: world.assigned(WEB) == {"member1": 8}, 1200)
        await world.sleep(60)
    assert samples.fewest >= 8 - placed["member4"]


async def labelled(world: World, tiers: Mapping[str, str | None]) -> None:
    for name, tier in tiers.items():
        await world.client.patch(CLUSTERS, name, {"metadata": {"labels": {"tier": tier}}})


def by_tier(how: str) -> Manifest:
    tiers: list[Any] = [
        {"affinityName": tier, "labelSelector": {"matchLabels": {"tier": tier}}} for tier in ("gold", "silver")
    ]
    return returning({"clusterAffinities": tiers, "replicaScheduling": DIVISIONS[how]})


async def in_gold(world: World, how: str, replicas: int) -> dict[str, int]:
    """Serves in the three clusters of the first term."""
    await labelled(world, {"member1": "gold", "member2": "gold", "member3": "gold", "member4": "silver"})
    await apply(world.client, deployment("web", replicas), by_tier(how))
    await world.until(lambda: len(world.assigned(WEB)) == 3, 60)
    await world.sleep(60)
    return world.assigned(WEB)


@in_world(FOUR)
async def test_s1_copies_are_never_between_two_terms(world: World) -> None:
    """A label of one cluster is changed: the copies of the others stay."""
    await in_gold(world, "duplicated", 4)
    uids = {name: await uid_in(world, name) for name in ("member1", "member3")}
    async with sampled(world) as samples:
        await labelled(world, {"member2": "silver"})
        await world.sleep(900)
    assert samples.fewest >= 8
    assert set(world.assigned(WEB)) == {"member1", "member3"}
    assert {name: await uid_in(world, name) for name in uids} == uids


@pytest.mark.parametrize("how", mostly_long(["static", "dynamic"], "static"))
@in_world(FOUR)
async def test_s12_replicas_that_no_outage_has_moved_stay_where_a_label_has_put_their_cluster(
    world: World, how: str
) -> None:
    placed = await in_gold(world, how, 6)
    await labelled(world, {"member2": "silver"})
    await world.sleep(1500)
    assert world.assigned(WEB) == placed
    assert not has_home(world)


async def uid_in(world: World, name: str) -> str:
    return (await world.member(name).client.get(DEPLOYMENTS, "web", "default"))["metadata"]["uid"]


@in_world(FOUR)
async def test_a_failback_remembers_its_way_though_one_original_cluster_leaves_the_term(world: World) -> None:
    await in_gold(world, "static", 6)
    await world.member("member1").stop()
    await world.until(lambda: "member1" not in world.assigned(WEB))
    await world.sleep(60)
    await labelled(world, {"member2": None})
    await back(world, "member1")
    async with sampled(world) as samples:
        await world.until(lambda: world.assigned(WEB).get("member1", 0) == 2, 1500)
        await world.sleep(60)
    assert samples.fewest == 6
