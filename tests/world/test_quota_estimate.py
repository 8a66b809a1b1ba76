"""The estimate by quotas (gate ResourceQuotaEstimate): replicas go where a ResourceQuota of the cluster takes them."""

import pytest

from kubeapi.core import NAMESPACES
from leeward.api.resource import FEDERATED_RESOURCE_QUOTAS
from leeward.manager.gates import switch_gates
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import World
from tests.world.stories import apply, in_world, policy, ready_replicas, tasks
from tests.world.test_quota import asking, change_quota, create_quota, quota
from tests.world.test_quota_enforcement import ALL, scheduled

ESTIMATED = ManagerSettings(gates=switch_gates([("ResourceQuotaEstimate", True)]))
BY_ROOM = {
    "clusterAffinity": {"clusterNames": list(ALL)},
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    },
}
LIMITS = {"member1": {"cpu": "2"}, "member2": {"cpu": "3"}, "member3": {"cpu": "0"}}


def assigned(world: World, name: str) -> dict[str, int]:
    return world.assigned(f"{name}-deployment")


@in_world(manager=ESTIMATED)
async def test_replicas_are_divided_by_what_the_quotas_leave_room_for(world: World) -> None:
    await create_quota(world, {"cpu": "9"}, LIMITS)
    await world.sleep(60)
    await apply(world.client, asking("web", 5), policy("web", BY_ROOM))
    await world.sleep(60)
    assert assigned(world, "web") == {"member1": 2, "member2": 3}
    assert [await ready_replicas(world, name, "web") for name in ("member1", "member2")] == [2, 3]

    await apply(world.client, asking("more", 1), policy("more", BY_ROOM))
    await world.sleep(20)
    assert (assigned(world, "more"), scheduled(world, "more")[1]) == ({}, "Unschedulable")
    wider = [{"clusterName": name, "hard": hard} for name, hard in (LIMITS | {"member3": {"cpu": "1"}}).items()]
    await change_quota(world, {"staticAssignments": wider})
    await world.sleep(60)
    assert assigned(world, "more") == {"member3": 1}


FIRST_THEN_SECOND = {
    "clusterAffinities": [
        {"affinityName": "first", "clusterNames": ["member1"]},
        {"affinityName": "second", "clusterNames": ["member2"]},
    ],
    "replicaScheduling": BY_ROOM["replicaScheduling"],
}


@in_world(manager=ESTIMATED)
async def test_what_one_namespace_was_given_counts_against_its_own_quota_alone(world: World) -> None:
    """All are placed before a cluster or a quota reports: what goes to the second cluster stays there."""
    await world.client.create(NAMESPACES, {"metadata": {"name": "shop"}})
    for namespace in ("default", "shop"):
        await world.client.create(FEDERATED_RESOURCE_QUOTAS, quota({"cpu": "9"}, {"member1": {"cpu": "5"}}), namespace)
    await world.sleep(60)
    for namespace, names in (("default", ("big", "more")), ("shop", ("small",))):
        await apply(world.client, *(policy(name, FIRST_THEN_SECOND) for name in names), namespace=namespace)
    await apply(world.client, asking("big", 4))
    await apply(world.client, asking("more", 2))
    await apply(world.client, asking("small", 2), namespace="shop")
    await world.sleep(60)
    assert assigned(world, "big") == {"member1": 4}
    assert world.assigned("small-deployment", "shop") == {"member1": 2}, "shop has used nothing of its own"
    assert assigned(world, "more") == {"member2": 2}, "of the five of default four are taken"


@pytest.mark.long
@in_world(manager=ESTIMATED)
async def test_a_failover_goes_where_there_is_room_and_the_rest_stays(world: World) -> None:
    await create_quota(world, {"cpu": "9"}, {"member1": {"cpu": "2"}, "member2": {"cpu": "3"}})
    await world.sleep(60)
    placement = {**BY_ROOM, "clusterAffinity": {"clusterNames": ["member1", "member2"]}}
    await apply(world.client, asking("web", 4), policy("web", placement))
    await world.sleep(60)
    before = assigned(world, "web")
    assert sum(before.values()) == 4
    await world.member("member1").stop()
    await world.until(lambda: bool(tasks(world, "web-deployment")))
    await world.sleep(60)
    after = assigned(world, "web")
    assert (after["member2"], sum(after.values())) == (3, 4)


@in_world()
async def test_without_the_gate_quotas_decide_nothing_about_room(world: World) -> None:
    await create_quota(world, {"cpu": "9"}, LIMITS)
    await world.sleep(60)
    await apply(world.client, asking("web", 6), policy("web", BY_ROOM))
    await world.sleep(60)
    assert assigned(world, "web")["member3"] > 0
