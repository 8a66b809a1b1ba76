"""The story of an outage, as events and conditions tell it to someone who was asleep; and what is measured of it."""

import pytest

from kubeapi.core import EVENTS, Event
from leeward.api.resource import CLUSTERS
from leeward.sim.world import Mode, World
from tests.world.stories import apply, by_weight, deployment, in_world, policy, scenario

FOUR: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull", "member4": "Push"}
NGINX = "nginx-deployment"


async def told(world: World, kind: str, name: str) -> list[tuple[str, str]]:
    """Reasons and messages of the events about an object, in the order in which they were told last."""
    events: list[Event] = [
        event
        for namespace in ("default", "karmada-system")
        for event in (await world.client.list(EVENTS, namespace)).items
        if (event.involved_object.kind, event.involved_object.name) == (kind, name)
    ]
    return [(event.reason, event.message) for event in sorted(events, key=lambda e: int(e.metadata.resource_version))]


def metric(world: World, sample: str, **labels: str) -> float:
    return world.metrics.registry.get_sample_value(sample, labels) or 0.0


@in_world()
async def test_a_failover_is_told_of_the_cluster_the_binding_and_the_template(world: World) -> None:
    await apply(world.client, *scenario("divided.yaml"))
    await world.until(lambda: world.assigned(NGINX) == {"member1": 1, "member2": 2}, 60)
    await world.sleep(30)
    await world.member("member1").stop()
    await world.until(lambda: world.assigned(NGINX) == {"member2": 3})
    await world.sleep(120)
    of_cluster = await told(world, "Cluster", "member1")
    assert ("ClusterNotReachable", "Ready is now False: cluster is not reachable") in of_cluster
    tainted = [message for reason, message in of_cluster if reason == "TaintClusterSucceed"]
    assert [effect for effect in ("NoSchedule", "NoExecute") if effect in tainted[-1]] == [
        "NoSchedule",
        "NoExecute",
    ]
    for kind, name in (("ResourceBinding", NGINX), ("Deployment", "nginx")):
        of_it = await told(world, kind, name)
        assert ("SyncWorkSucceed", "Sync work of ResourceBinding(default/nginx-deployment) successful.") in of_it
        moves = [(reason, message) for reason, message in of_it if "Binding" in reason or "Evict" in reason]
        assert [reason for reason, _ in moves[:2]] == ["ScheduleBindingSucceed", "EvictWorkloadFromClusterSucceed"]
        assert moves[0][1].endswith("Result: {member1:1, member2:2}")
        assert moves[1][1].startswith("Evicting from cluster member1, which has the taint cluster.karmada.io/not-")
        assert moves[1][1].endswith("Result: {member2:3}")
        has_left = [("EvictWorkloadFromClusterSucceed", "Evict from cluster member1 succeed.")]
        assert moves[2:] == (has_left if kind == "Deployment" else [])


@in_world()
async def test_health_is_told_when_it_changes(world: World) -> None:
    await apply(world.client, *scenario("divided.yaml"))
    await world.until(lambda: world.assigned(NGINX) == {"member1": 1, "member2": 2}, 60)
    await world.sleep(60)
    before = await told(world, "Deployment", "nginx")
    assert (
        "AggregateStatusSucceed",
        "Update ResourceBinding(default/nginx-deployment) with AggregatedStatus successfully.",
    ) in before
    await world.sleep(600)
    assert await told(world, "Deployment", "nginx") == before, "and then no more"


@pytest.mark.long
@in_world(FOUR)
async def test_s4_it_is_told_why_nothing_moves_while_the_brake_holds(world: World) -> None:
    await apply(world.client, *scenario("divided.yaml"))
    await world.until(lambda: world.assigned(NGINX) == {"member1": 1, "member2": 2}, 60)
    await world.sleep(30)
    await world.member("member1").stop()
    await world.until(lambda: "cluster.karmada.io/not-ready:NoExecute" in world.taints("member1"))
    for name in ("member2", "member4"):
        world.member(name).pause()
    await world.sleep(900)
    ((_, engaged),) = await told(world, "ConfigMap", "leeward-brake")
    assert engaged.startswith(
        "3 of 4 clusters seem to be down (member1, member2, member4). The brake stops automatic evictions"
    )
    of_cluster = [message for reason, message in await told(world, "Cluster", "member2") if "Failed" in reason]
    assert len(of_cluster) == 1, "once, as long as it stands"
    assert of_cluster[0].startswith(
        "Nothing is evicted from this cluster, and the taint NoExecute is not set: too many"
    )
    for kind, name in (("ResourceBinding", NGINX), ("Deployment", "nginx")):
        ((_, why),) = [each for each in await told(world, kind, name) if "Failed" in each[0]]
        assert why.startswith(
            "not evicted from member1 (cluster.karmada.io/not-ready:NoExecute), because too many clusters"
        )
        assert "`leeward brake release`" in why


@in_world()
async def test_it_is_told_why_a_dead_cluster_does_not_leave(world: World) -> None:
    await apply(world.client, *scenario("divided.yaml"))
    await world.until(lambda: world.assigned(NGINX) == {"member1": 1, "member2": 2}, 60)
    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"))
    await world.client.delete(CLUSTERS, "member1")
    await world.sleep(120)
    ((reason, why),) = [each for each in await told(world, "Cluster", "member1") if "Failed" in each[0]]
    assert reason == "RemoveExecutionSpaceFailed"
    assert why.startswith("It is leaving, but what runs there cannot be removed while it is not ready (1 Works")
    assert "`leeward unjoin member1 --force`" in why


@in_world()
async def test_a_failover_is_measured(world: World) -> None:
    await apply(world.client, deployment("web", 3), policy("web", by_weight({"member1": 1, "member2": 2})))
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 1, "member2": 2}, 60)
    await world.sleep(30)
    await world.member("member1").stop()
    await world.until(lambda: world.assigned("web-deployment") == {"member2": 3})
    await world.sleep(60)
    name = "resource-eviction"
    assert metric(world, "eviction_processing_total", name=name, result="success") == 1
    assert metric(world, "eviction_processing_latency_seconds_count", name=name) == 1
    assert metric(world, "eviction_queue_depth", name=name) == 0
    assert metric(world, "policy_apply_attempts_total", result="success") >= 1
    assert metric(world, "binding_sync_work_duration_seconds_count", result="success") >= 2
    assert metric(world, "work_sync_workload_duration_seconds_count", result="success") >= 3
    kind = {"apiversion": "apps/v1", "kind": "Deployment"}
    created = [
        metric(world, "create_resource_to_cluster", result="success", member_cluster=member, **kind)
        for member in ("member1", "member2")
    ]
    assert created == [1, 1]
    assert metric(world, "update_resource_to_cluster", result="success", member_cluster="member2", **kind) == 1
    scheduled = {"result": "success", "schedule_type": "ReconcileSchedule"}
    assert metric(world, "karmada_scheduler_e2e_scheduling_duration_seconds_count", **scheduled) == 2
    assert metric(world, "karmada_scheduler_schedule_attempts_total", **scheduled) == 2
    assert metric(world, "karmada_scheduler_queue_incoming_bindings_total", event="Add") == 1
