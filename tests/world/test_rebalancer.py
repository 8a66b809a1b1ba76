"""A WorkloadRebalancer after a failover: what nothing moves back by itself goes back on request."""

import pytest

from kubeapi.meta import Manifest
from kubeclient import NotFound
from leeward.api.rebalancer import WorkloadRebalancer
from leeward.api.resource import WORKLOAD_REBALANCERS
from leeward.sim.world import World
from tests.world.stories import apply, in_world, play, ready_replicas, scenario, tasks
from tests.world.test_groups import DB, THREE, WEB, member_of, running, together

WORKLOAD = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx", "namespace": "default"}


async def finished(world: World, name: str) -> WorkloadRebalancer:
    for _ in range(30):
        found = await world.client.get(WORKLOAD_REBALANCERS, name)
        if found.status.finish_time is not None:
            return found
        await world.sleep(0.1)
    raise AssertionError(f"{name} does not finish")


async def exists(world: World, name: str) -> bool:
    try:
        await world.client.get(WORKLOAD_REBALANCERS, name)
    except NotFound:
        return False
    return True


@pytest.mark.long
@in_world()
async def test_after_a_failover_and_recovery_a_rebalancer_brings_the_weights_back(world: World) -> None:
    await apply(world.client, *scenario("divided.yaml"))
    await world.until(lambda: world.assigned("nginx-deployment") == {"member1": 1, "member2": 2}, 60)
    await world.sleep(10)
    await world.member("member1").stop()
    await world.until(lambda: world.assigned("nginx-deployment") == {"member2": 3})
    await world.sleep(60)
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1") and not world.taints("member1"))
    await world.sleep(600)
    assert world.assigned("nginx-deployment") == {"member2": 3}, "nothing moves back by itself"

    spec = {"workloads": [WORKLOAD, {**WORKLOAD, "name": "ghost"}], "ttlSecondsAfterFinished": 300}
    await world.client.create(WORKLOAD_REBALANCERS, {"metadata": {"name": "home"}, "spec": spec})
    await world.until(lambda: world.assigned("nginx-deployment") == {"member1": 1, "member2": 2}, 5)
    done = await finished(world, "home")
    results = {o.workload.name: (o.result, o.reason) for o in done.status.observed_workloads}
    assert results == {"nginx": ("Successful", ""), "ghost": ("Failed", "ReferencedBindingNotFound")}
    assert done.status.observed_generation == done.metadata.generation
    binding = world.binding("nginx-deployment")
    assert binding is not None
    assert binding.spec.reschedule_triggered_at == done.metadata.creation_timestamp
    await world.sleep(30)
    assert await ready_replicas(world, "member1", "nginx") == 1

    generation = binding.metadata.generation
    await world.sleep(250)
    assert await exists(world, "home")
    await world.sleep(60)
    assert not await exists(world, "home"), "its time to live is over"
    after = world.binding("nginx-deployment")
    assert after is not None
    assert after.metadata.generation <= generation + 1, "once"


@in_world()
async def test_a_workload_that_is_listed_later_is_rebalanced_later(world: World) -> None:
    await apply(world.client, *scenario("divided.yaml"))
    await world.until(lambda: world.assigned("nginx-deployment") == {"member1": 1, "member2": 2}, 60)
    ghost = {**WORKLOAD, "name": "ghost"}
    await world.client.create(WORKLOAD_REBALANCERS, {"metadata": {"name": "r"}, "spec": {"workloads": [ghost]}})
    assert (await finished(world, "r")).status.observed_workloads[0].result == "Failed"
    await world.sleep(600)
    await world.client.patch(WORKLOAD_REBALANCERS, "r", {"spec": {"workloads": [WORKLOAD]}})
    await world.sleep(5)
    done = await finished(world, "r")
    assert [(o.workload.name, o.result) for o in done.status.observed_workloads] == [("nginx", "Successful")]
    binding = world.binding("nginx-deployment")
    assert binding is not None
    assert binding.spec.reschedule_triggered_at is not None
    assert done.metadata.creation_timestamp is not None
    assert (binding.spec.reschedule_triggered_at - done.metadata.creation_timestamp).total_seconds() == 600


def in_terms(name: str) -> Manifest:
    made = member_of("shop", name)
    terms = [{"affinityName": cluster, "clusterNames": [cluster]} for cluster in ("member1", "member2")]
    made["spec"]["placement"] = {"clusterAffinities": terms}
    return made


@pytest.mark.parametrize("both", [False, True])
def test_a_rebalancer_of_one_member_moves_its_group_and_nothing_stops_serving(both: bool) -> None:
    async def story(world: World) -> None:
        home = await running(world, *(in_terms(name) for name in ("web", "db")))
        await world.member(home).stop()
        await world.until(lambda: together(world) not in ("", home), 900)
        away = together(world)
        await world.sleep(60)
        await world.member(home).start()
        await world.until(lambda: world.is_ready(home) and not world.taints(home))
        await world.sleep(120)
        for name in ("web", "db")[: 1 + both]:
            spec = {"workloads": [{**WORKLOAD, "name": name}]}
            await world.client.create(WORKLOAD_REBALANCERS, {"metadata": {"name": name}, "spec": spec})
            for _ in range(120):
                await world.sleep(1)
                for each in ("web", "db"):
                    served = [await ready_replicas(world, cluster, each) for cluster in (home, away)]
                    assert max(served) == 2
        assert together(world) == home
        assert [tasks(world, WEB), tasks(world, DB)] == [[], []]

    play(story, THREE)
