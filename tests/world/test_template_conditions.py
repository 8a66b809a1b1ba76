"""Conditions of a template for clients that wait for them: in a rollout, in an outage, when a replacement fails."""

from itertools import pairwise
from typing import Any

from leeward.sim.world import World
from tests.world.stories import DEPLOYMENTS, apply, by_weight, deployment, in_world, policy


async def conditions(world: World, name: str) -> dict[str, dict[str, Any]]:
    found = await world.client.get(DEPLOYMENTS, name, "default")
    return {c["type"]: c for c in found.get("status", {}).get("conditions", [])}


async def verdict(world: World, name: str, kind: str) -> tuple[str, str]:
    condition = (await conditions(world, name)).get(kind, {})
    return condition.get("status", ""), condition.get("reason", "")


async def spread(world: World, name: str) -> None:
    """Two replicas in each of two clusters; in one of them when the other is lost."""
    await apply(world.client, policy(name, by_weight({"member1": 1, "member2": 1})), deployment(name, 4))
    await world.sleep(60)


DONE = ("True", "NewReplicaSetAvailable")
AVAILABLE = ("True", "MinimumReplicasAvailable")


@in_world({"member1": "Push", "member2": "Push"})
async def test_a_client_that_waits_for_a_rollout_waits_for_all_clusters(world: World) -> None:
    await spread(world, "web")
    assert await verdict(world, "web", "Available") == AVAILABLE
    assert await verdict(world, "web", "Progressing") == DONE
    await world.member("member2").stop()
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"template": {"spec": {"hostname": "new"}}}}, "default")
    await world.sleep(20)
    found = await world.client.get(DEPLOYMENTS, "web", "default")
    assert found["status"]["observedGeneration"] < found["metadata"]["generation"], "kubectl wait goes by it"
    await world.member("member2").start()
    await world.sleep(60)
    found = await world.client.get(DEPLOYMENTS, "web", "default")
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"]
    assert await verdict(world, "web", "Progressing") == DONE


@in_world({"member1": "Push", "member2": "Push"})
async def test_an_outage_costs_one_write_and_a_failover_none_but_for_its_numbers(world: World) -> None:
    await spread(world, "web")
    before = await world.client.get(DEPLOYMENTS, "web", "default")
    await world.member("member1").stop()
    await world.sleep(100)
    during = await world.client.get(DEPLOYMENTS, "web", "default")
    seen = [before, during]
    await world.sleep(200)
    assert await world.client.get(DEPLOYMENTS, "web", "default") == during, "an outage is told once"
    for _ in range(540):
        found = await world.client.get(DEPLOYMENTS, "web", "default")
        if found["metadata"]["resourceVersion"] != seen[-1]["metadata"]["resourceVersion"]:
            seen.append(found)
        await world.sleep(1)
    assert world.assigned("web-deployment") == {"member2": 4}
    numbers = [{**each["status"], "conditions": None} for each in seen]
    assert all(one != other for one, other in pairwise(numbers)), "none was written for conditions"
    available = [{c["type"]: c["status"] for c in each["status"]["conditions"]}["Available"] for each in seen]
    assert available == ["True", "Unknown", "Unknown", "True"], "as long as it hangs on a cluster that is not seen"
    reasons = [{c["type"]: c["reason"] for c in each["status"]["conditions"]}["Progressing"] for each in seen]
    assert set(reasons) == {"NewReplicaSetAvailable"}, "a failover is no rollout"


@in_world({"member1": "Push", "member2": "Push"})
async def test_a_replacement_that_never_comes_up_leaves_unknown_whether_the_whole_is_available(world: World) -> None:
    await spread(world, "web")
    await world.client.patch(
        DEPLOYMENTS, "web", {"spec": {"template": {"spec": {"nodeSelector": {"no": "where"}}}}}, "default"
    )
    await world.sleep(120)
    assert await verdict(world, "web", "Progressing") == ("True", "ReplicaSetUpdated")
    await world.member("member1").stop()
    await world.sleep(900)
    assert world.assigned("web-deployment") == {"member2": 4}
    assert await verdict(world, "web", "Available") == ("Unknown", "ClusterNotSeen")
    assert "member1" in (await conditions(world, "web"))["Available"]["message"]
