"""Scheduling that users ask for while a cluster is dead, or where none fits: what serves does not go for nothing."""

from typing import Any

from kubeapi.meta import Manifest
from leeward.api.meta import find_condition
from leeward.api.resource import CLUSTERS, WORKLOAD_REBALANCERS
from leeward.sim.world import Mode, World
from tests.world.stories import (
    DEPLOYMENTS,
    POLICIES,
    apply,
    by_weight,
    deployment,
    identities,
    in_world,
    policy,
    ready_replicas,
)

THREE: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push"}
WEB = "web-deployment"
ONE_CLUSTER = [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]
WORKLOAD = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "default"}


def aggregated(*names: str) -> Manifest:
    scheduling = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
    affinity = {"clusterAffinity": {"clusterNames": list(names)}} if names else {}
    return {**affinity, "replicaScheduling": scheduling}


async def place(world: World, placement: Manifest) -> None:
    found = await world.client.get(POLICIES, "web", "default")
    found["spec"]["placement"] = placement
    await world.client.update(POLICIES, found, "web", "default")


async def scale(world: World, replicas: int) -> None:
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": replicas}}, "default")


async def rebalance(world: World) -> None:
    await world.client.create(WORKLOAD_REBALANCERS, {"metadata": {"name": "again"}, "spec": {"workloads": [WORKLOAD]}})


async def dies(world: World, weights: dict[str, int], replicas: int, then: Manifest) -> dict[str, str]:
    """The application is divided so, by whatever placement; then member1 dies, and is not evicted yet. Gives the uids
    of its copies."""
    await apply(world.client, deployment("web", replicas), policy("web", by_weight(weights)))
    await world.sleep(40)
    await place(world, then)
    await world.sleep(20)
    assert world.assigned(WEB) == {name: replicas * weight // sum(weights.values()) for name, weight in weights.items()}
    before = await uids(world)
    await world.member("member1").stop()
    await world.sleep(60)
    assert not world.is_ready("member1")
    return before


async def uids(world: World, *members: str) -> dict[str, str]:
    """The uids of the copies in these members (in all)."""
    return {member: uid for member, (uid, _) in (await identities(world, "web", members)).items()}


@in_world(THREE)
async def test_a_rebalancing_moves_nothing_that_serves_into_a_dead_cluster(world: World) -> None:
    before = await dies(world, {"member1": 1, "member2": 1}, 4, aggregated("member1", "member2"))
    await rebalance(world)
    await world.sleep(60)
    assert await ready_replicas(world, "member2", "web") >= 2
    await world.member("member1").start()
    await world.sleep(120)
    assert await uids(world) == before, "nor is its own copy touched, which was only out of sight"
    assert [await ready_replicas(world, name, "web") for name in ("member1", "member2")] == [2, 2]


@in_world(THREE)
async def test_one_replica_less_takes_none_that_serves_while_others_are_dead(world: World) -> None:
    before = await dies(world, {"member1": 3, "member2": 1}, 4, aggregated("member1", "member2"))
    await scale(world, 3)
    await world.sleep(60)
    assert await ready_replicas(world, "member2", "web") >= 1
    await world.member("member1").start()
    await world.sleep(120)
    assert await uids(world) == before
    assert [await ready_replicas(world, name, "web") for name in ("member1", "member2")] == [2, 1]


@in_world(THREE)
async def test_fewer_groups_are_kept_where_they_are_alive(world: World) -> None:
    both: dict[str, Any] = {"clusterAffinity": {"clusterNames": ["member1", "member2"]}}
    await apply(world.client, deployment("web", 2), policy("web", both))
    await world.sleep(40)
    before = await uids(world, "member2")
    await world.member("member1").stop()
    await world.sleep(60)
    await place(world, {**both, "spreadConstraints": ONE_CLUSTER})
    await world.sleep(60)
    assert await uids(world, "member2") == before
    assert await ready_replicas(world, "member2", "web") == 2


@in_world(THREE)
async def test_what_a_cluster_leaves_behind_goes_to_one_that_is_alive(world: World) -> None:
    await dies(world, {"member1": 2, "member2": 4}, 6, aggregated())
    await world.client.delete(CLUSTERS, "member2")
    await world.sleep(60)
    assert await ready_replicas(world, "member3", "web") >= 4


@in_world(THREE)
async def test_more_replicas_go_to_clusters_that_are_alive(world: World) -> None:
    tolerated = {"key": "cluster.karmada.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    placement = {**aggregated(), "clusterTolerations": [tolerated]}
    await dies(world, {"member1": 1, "member2": 1}, 4, placement)
    await scale(world, 8)
    await world.sleep(1800)
    alive = [await ready_replicas(world, name, "web") for name in ("member2", "member3")]
    assert sum(max(0, count) for count in alive) >= 6


@in_world(THREE)
async def test_one_replica_more_takes_none_away_where_no_cluster_is_meant_any_more(world: World) -> None:
    for name in THREE:
        await world.client.patch(CLUSTERS, name, {"metadata": {"labels": {"env": "prod"}}})
    meant = {"clusterAffinity": {"labelSelector": {"matchLabels": {"env": "prod"}}}}
    await apply(world.client, deployment("web", 4), policy("web", {**aggregated(), **meant}))
    await world.sleep(40)
    (placed,) = world.assigned(WEB)
    before = await uids(world)
    for name in THREE:
        await world.client.patch(CLUSTERS, name, {"metadata": {"labels": {"env": "live"}}})
    await world.sleep(60)
    assert await ready_replicas(world, placed, "web") == 4
    await scale(world, 5)
    await world.sleep(60)
    assert await ready_replicas(world, placed, "web") >= 4
    assert await uids(world) == before


@in_world(THREE)
async def test_a_placement_that_names_no_cluster_there_is_takes_nothing_and_is_carried_out_when_that_joins(
    world: World,
) -> None:
    await apply(world.client, deployment("web", 4), policy("web", by_weight({"member1": 1, "member2": 1})))
    await world.until(lambda: world.assigned(WEB) == {"member1": 2, "member2": 2}, 60)
    await world.sleep(30)
    await world.client.patch(CLUSTERS, "member3", {"metadata": {"labels": {"env": "prod"}}})
    meant = {"clusterAffinity": {"labelSelector": {"matchLabels": {"env": "live"}}}}
    await place(world, {**aggregated(), **meant})
    await world.sleep(60)
    assert [await ready_replicas(world, name, "web") for name in THREE] == [2, 2, -1]
    binding = world.binding(WEB)
    assert binding is not None
    scheduled = find_condition(binding.status.conditions, "Scheduled")
    assert scheduled is not None
    assert (scheduled.status, scheduled.reason) == ("False", "NoClusterFit")
    await world.client.patch(CLUSTERS, "member3", {"metadata": {"labels": {"env": "live"}}})
    await world.until(lambda: world.assigned(WEB) == {"member3": 4}, 60)


@in_world(THREE)
async def test_a_failover_goes_where_copies_are_dispatched(world: World) -> None:
    scheduling = aggregated()["replicaScheduling"]
    first = {"clusterAffinity": {"clusterNames": ["member1"]}, "replicaScheduling": scheduling}
    await apply(world.client, deployment("web", 2), policy("web", first))
    await world.until(lambda: world.assigned(WEB) == {"member1": 2}, 60)
    await world.sleep(40)
    found = await world.client.get(POLICIES, "web", "default")
    found["spec"]["placement"] = aggregated()
    found["spec"]["suspension"] = {"dispatchingOnClusters": {"clusterNames": ["member2"]}}
    await world.client.update(POLICIES, found, "web", "default")
    await world.sleep(10)
    await world.member("member1").stop()
    await world.sleep(2400)
    assert await ready_replicas(world, "member3", "web") == 2


async def without_region(world: World, *names: str) -> None:
    """Region a has both clusters of the application, of which member1 dies; then member2 is in none."""
    for name, region in {"member1": "a", "member2": "a", "member3": "b"}.items():
        await world.client.patch(CLUSTERS, name, {"spec": {"region": region}})
    one_region = [{"spreadByField": "region", "minGroups": 1, "maxGroups": 1}, {**ONE_CLUSTER[0], "maxGroups": 2}]
    everywhere = {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}
    placement = {**everywhere, "clusterAffinity": {"clusterNames": list(names)}, "spreadConstraints": one_region}
    await apply(world.client, deployment("web", 2), policy("web", placement))
    await world.until(lambda: world.assigned(WEB) == {"member1": 2, "member2": 2}, 60)
    await world.sleep(30)
    await world.member("member1").stop()
    await world.sleep(60)
    await world.client.patch(CLUSTERS, "member2", {"spec": {"region": None}})


@in_world(THREE)
async def test_s1_a_cluster_that_has_lost_its_region_gives_nothing_up_for_a_dead_one(world: World) -> None:
    await without_region(world, "member1", "member2")
    before = await uids(world, "member2")
    for _ in range(700):
        assert await ready_replicas(world, "member2", "web") == 2
        await world.sleep(1)
    await world.client.patch(CLUSTERS, "member2", {"spec": {"region": "a"}})
    await world.member("member1").start()
    await world.sleep(90)
    assert await uids(world, "member2") == before
    assert world.assigned(WEB) == {"member1": 2, "member2": 2}


@in_world(THREE)
async def test_l2_the_region_that_is_alive_takes_what_would_be_left_to_a_dead_cluster(world: World) -> None:
    await without_region(world, *THREE)
    await world.sleep(10)
    assert world.assigned(WEB) == {"member3": 2}
    assert await ready_replicas(world, "member3", "web") == 2
