"""The walkthrough of the failover articles with Karmada's default timings, every instant asserted.

Probes and leases of this world fall on whole seconds, and so does everything that is counted from them.
"""

import pytest

from kubeapi.core import LEASES
from kubeclient import NotFound
from leeward.api.meta import Condition, find_condition
from leeward.api.names import CLUSTER_NAMESPACE, LEAVING_CONDITION
from leeward.api.work import ResourceBinding
from leeward.sim.world import World
from tests.world.stories import (
    DEPLOYMENTS,
    apply,
    by_weight,
    deployment,
    identities,
    in_world,
    policy,
    ready_replicas,
    scenario,
)

NO_SCHEDULE, NO_EXECUTE = "cluster.karmada.io/not-ready:NoSchedule", "cluster.karmada.io/not-ready:NoExecute"
UNREACHABLE = {"cluster.karmada.io/unreachable:NoSchedule", "cluster.karmada.io/unreachable:NoExecute"}
WORK = "nginx-687f7fb96f"


def tasks(binding: ResourceBinding | None) -> list[str]:
    return [task.from_cluster for task in binding.spec.graceful_eviction_tasks] if binding else []


async def propagated(world: World, name: str = "nginx") -> None:
    """Waits until the template says that all its replicas are ready."""
    wanted = (await world.client.get(DEPLOYMENTS, name, "default"))["spec"]["replicas"]
    for _ in range(60):
        if (await world.client.get(DEPLOYMENTS, name, "default")).get("status", {}).get("readyReplicas") == wanted:
            return
        await world.sleep(1)
    raise AssertionError(f"{name} does not become ready")


def ready_of(world: World, name: str) -> Condition:
    ready = world.cluster(name).ready
    assert ready is not None
    return ready


async def last_renewal(world: World, member: str) -> float:
    """Instant at which the lease of a Pull member was renewed last, in seconds of the world."""
    lease = await world.client.get(LEASES, member, CLUSTER_NAMESPACE)
    assert lease.spec.renew_time is not None
    return world.seconds - (world.clock.now() - lease.spec.renew_time).total_seconds()


def generation(world: World) -> int:
    binding = world.binding("nginx-deployment")
    assert binding is not None
    return binding.metadata.generation


def waits_for_its_cluster(world: World, member: str) -> bool:
    """Tells whether the Work says that its copy goes when its cluster is back; nothing is ordered before."""
    work = world.work(member, WORK)
    leaving = find_condition(work.status.conditions, LEAVING_CONDITION) if work is not None else None
    is_ordered = work is not None and work.metadata.deletion_timestamp is not None
    return leaving is not None and leaving.reason == "ClusterNotReady" and not is_ordered


@in_world()
async def test_push_member_stopped_and_started_again(world: World) -> None:
    await apply(world.client, *scenario("divided.yaml"))
    await propagated(world)
    assert world.assigned("nginx-deployment") == {"member1": 1, "member2": 2}
    assert world.work("member1", WORK) is not None
    assert world.work("member2", WORK) is not None
    await world.sleep_to_whole(10, offset=1)

    await world.member("member1").stop()
    stopped = world.seconds
    await world.until(lambda: not world.is_ready("member1"))
    assert world.seconds - stopped == pytest.approx(39), (
        "the first probe that fails, at +9 s, and the threshold of 30 s"
    )
    ready = ready_of(world, "member1")
    assert (ready.status, ready.reason, ready.message) == (
        "False",
        "ClusterNotReachable",
        "cluster is not reachable",
    )
    await world.until(lambda: world.taints("member1") == {NO_SCHEDULE})
    assert world.seconds - stopped == pytest.approx(39)
    await world.until(lambda: world.taints("member1") == {NO_SCHEDULE, NO_EXECUTE})
    assert world.seconds - stopped == pytest.approx(39 + 300)

    before = generation(world)
    await world.until(lambda: world.assigned("nginx-deployment") != {"member1": 1, "member2": 2})
    assert world.seconds - stopped == pytest.approx(39 + 300 + 300)
    assert world.assigned("nginx-deployment") == {"member2": 3}
    assert tasks(world.binding("nginx-deployment")) == ["member1"]
    assert generation(world) == before + 1, "evicting and placing are one write"

    await world.until(lambda: tasks(world.binding("nginx-deployment")) == [])
    assert world.seconds - stopped == pytest.approx(39 + 300 + 300 + 2, abs=0.5), "when the new replica is ready"
    assert await ready_replicas(world, "member2", "nginx") == 3
    await world.until(lambda: waits_for_its_cluster(world, "member1"))
    await world.sleep(60)
    assert waits_for_its_cluster(world, "member1")

    await world.sleep_to_whole(10, offset=1)
    await world.member("member1").start()
    started = world.seconds
    await world.until(lambda: world.is_ready("member1"))
    assert world.seconds - started == pytest.approx(39), "the first probe that succeeds, at +9 s, and the threshold"
    await world.until(lambda: world.taints("member1") == set())
    await world.until(lambda: world.work("member1", WORK) is None)
    assert world.seconds - started == pytest.approx(40, abs=0.5), "a second later, not after a back-off"
    assert await ready_replicas(world, "member1", "nginx") == -1
    await world.sleep(600)
    assert world.assigned("nginx-deployment") == {"member2": 3}, "nothing moves back"


@in_world()
async def test_pull_member_stopped_and_started_again(world: World) -> None:
    placement = by_weight({"member3": 1, "member2": 2})
    await apply(world.client, deployment("nginx", 3), policy("nginx", placement))
    await propagated(world)
    assert world.assigned("nginx-deployment") == {"member2": 2, "member3": 1}
    await world.sleep_to_whole(10, offset=4)

    await world.member("member3").stop()
    last_seen = await last_renewal(world, "member3")
    await world.until(lambda: not world.is_ready("member3"))
    assert world.seconds - last_seen == pytest.approx(40, abs=0.01), "the lease's grace period"
    ready = ready_of(world, "member3")
    assert (ready.status, ready.reason) == ("Unknown", "ClusterStatusUnknown")
    await world.until(lambda: world.taints("member3") == UNREACHABLE)
    start = int(last_seen)
    assert world.seconds - start == pytest.approx(300, abs=0.01), "from the last sign of life, in whole seconds"
    await world.until(lambda: world.assigned("nginx-deployment") == {"member2": 3})
    assert world.seconds - start == pytest.approx(600, abs=0.01)
    await world.until(lambda: tasks(world.binding("nginx-deployment")) == [])
    assert world.seconds - start == pytest.approx(602, abs=0.5), "when the new replica is ready"

    await world.member("member3").start()
    await world.until(lambda: world.is_ready("member3"))
    await world.until(lambda: world.taints("member3") == set())
    await world.until(lambda: world.work("member3", WORK) is None)
    assert await ready_replicas(world, "member3", "nginx") == -1
    assert world.assigned("nginx-deployment") == {"member2": 3}


@in_world()
async def test_pull_member_whose_api_server_alone_is_gone_is_not_ready(world: World) -> None:
    await world.sleep_to_whole(10, offset=1)
    await world.member("member3").stop_apiserver()
    stopped = world.seconds
    await world.until(lambda: not world.is_ready("member3"))
    assert world.seconds - stopped == pytest.approx(39, abs=0.5)
    ready = ready_of(world, "member3")
    assert (ready.status, ready.reason) == ("False", "ClusterNotReachable")
    await world.until(lambda: world.taints("member3") == {NO_SCHEDULE})


@in_world()
async def test_paused_member_is_found_out_although_its_connections_hang(world: World) -> None:
    await world.sleep_to_whole(10, offset=1)
    world.member("member1").pause()
    stopped = world.seconds
    await world.until(lambda: not world.is_ready("member1"))
    assert world.seconds - stopped <= 30 + 2 * (10 + 5), "threshold + 2 x (frequency + probe time-out)"
    world.member("member1").resume()
    await world.until(lambda: world.is_ready("member1"))
    await world.until(lambda: world.taints("member1") == set())


@in_world()
async def test_unready_member_says_so_itself(world: World) -> None:
    await world.sleep_to_whole(10, offset=1)
    world.member("member1").set_ready(False)
    await world.until(lambda: not world.is_ready("member1"))
    assert ready_of(world, "member1").reason == "ClusterNotReady"
    world.member("member1").set_ready(True)
    await world.until(lambda: world.is_ready("member1"))


@in_world()
async def test_slow_member_stays_ready(world: World) -> None:
    world.member("member1").set_latency(2)
    await world.sleep(300)
    assert world.is_ready("member1")


@in_world()
async def test_a_short_outage_moves_nothing(world: World) -> None:
    await apply(world.client, *scenario("divided.yaml"))
    await propagated(world)
    there = await identities(world, "nginx")
    await world.member("member1").stop()
    await world.sleep(25)
    await world.member("member1").start()
    await world.sleep(900)
    assert world.is_ready("member1")
    assert world.assigned("nginx-deployment") == {"member1": 1, "member2": 2}
    assert await ready_replicas(world, "member1", "nginx") == 1
    assert await identities(world, "nginx") == there


@in_world()
async def test_a_deleted_template_leaves_nothing_behind(world: World) -> None:
    await apply(world.client, *scenario("divided.yaml"))
    await propagated(world)
    await world.client.delete(DEPLOYMENTS, "nginx", "default")
    await world.until(lambda: world.binding("nginx-deployment") is None, 60)
    await world.until(lambda: world.work("member1", WORK) is None and world.work("member2", WORK) is None, 60)
    for member in ("member1", "member2"):
        try:
            await world.member(member).client.get(DEPLOYMENTS, "nginx", "default")
            raise AssertionError(f"nginx is still in {member}")
        except NotFound:
            continue
