"""Clusters that are kept in git: whoever applies a list of taints takes ours off, and the application moves in time all
the same."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kubeapi.core import EVENTS
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Conflict, Request, Response
from kubeserver.handler import StreamResponse
from leeward.api.meta import find_condition
from leeward.api.names import TAINTED_CONDITION, TAINTS_REMOVED_CONDITION
from leeward.api.resource import CLUSTER_TAINT_POLICIES
from leeward.operations.status import look_at_fleet
from leeward.sim.world import Mode, World
from tests.variants import mostly_long
from tests.world.stories import POLICIES, apply, deployment, in_world, play, policy, ready_replicas
from tests.world.test_detection import Answering, status
from tests.world.test_taint_policies import at_once

WEB = "web-deployment"
PUSH: dict[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push"}
PULL: dict[str, Mode] = {"member1": "Pull", "member2": "Pull", "member3": "Pull"}
CLUSTERS = Resource.of_manifests("cluster.karmada.io/v1alpha1", "clusters", "Cluster", False)
ONE: Manifest = {
    "clusterAffinity": {"clusterNames": list(PUSH)},
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
    "clusterTolerations": [{"key": "tenant", "operator": "Exists"}],
    "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
}
TENANT: Manifest = {"key": "tenant", "effect": "NoSchedule"}
REMOVED = TAINTS_REMOVED_CONDITION
MOVED_AFTER = 630
"""Seconds from a death to the move, with Karmada's timings: threshold, eviction time-out and toleration."""
Write = Callable[[World, str], Awaitable[None]]


async def empty_list(world: World, name: str) -> None:
    await world.client.patch(CLUSTERS, name, {"spec": {"taints": []}})


async def no_list(world: World, name: str) -> None:
    await world.client.patch(CLUSTERS, name, {"spec": {"taints": None}})


async def own_taint(world: World, name: str) -> None:
    await world.client.patch(CLUSTERS, name, {"spec": {"taints": [TENANT]}})


async def put(world: World, name: str) -> None:
    """A replacement by a file that knows of no annotation, finalizer or taint of ours."""
    found = await world.client.get(CLUSTERS, name)
    metadata = {key: found["metadata"][key] for key in ("name", "resourceVersion", "uid")}
    await world.client.update(CLUSTERS, {**found, "metadata": metadata, "spec": {**found["spec"], "taints": []}}, name)


async def server_side_apply(world: World, name: str) -> None:
    await server_side_apply_as(world, name, "argocd-controller")


async def server_side_apply_as(world: World, name: str, manager: str) -> None:
    manifest = {
        "apiVersion": CLUSTERS.api_version,
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"syncMode": world.cluster(name).spec.sync_mode, "taints": [TENANT]},
    }
    await world.client.apply(CLUSTERS, manifest, field_manager=manager)


async def sync(world: World, write: Write, every: float) -> None:
    """A tool that applies all Clusters again and again, as they are in git."""
    while True:
        for name in world.members:
            try:
                await write(world, name)
            except Conflict:
                continue
        await asyncio.sleep(every)


def start_sync(world: World, write: Write, every: float) -> "asyncio.Task[None]":
    return asyncio.get_running_loop().create_task(sync(world, write, every))


async def place(world: World) -> str:
    """Has an application placed; the one cluster that it runs in."""
    await apply(world.client, deployment("web", 3), policy("web", ONE))
    await world.sleep(60)
    (home,) = world.assigned(WEB)
    return home


async def moves(world: World, home: str, died: float) -> float:
    """Seconds from the death to the decision that moves the application, which then runs elsewhere."""
    await world.until(lambda: home not in world.assigned(WEB), 2000)
    seconds = world.seconds - died
    (target,) = world.assigned(WEB)
    await world.sleep(60)
    assert await ready_replicas(world, target, "web") == 3
    return seconds


@pytest.mark.parametrize("every", [5, 30, 120, 290])
@pytest.mark.parametrize("write", [empty_list, put, server_side_apply])
@in_world(PUSH)
async def test_l2_a_failover_comes_in_time_whoever_applies_its_cluster(
    world: World, write: Write, every: float
) -> None:
    home = await place(world)
    writer = start_sync(world, write, every)
    await world.sleep(60)
    died = world.seconds
    await world.member(home).stop()
    before = world.journal.count
    seconds = await moves(world, home, died)
    writer.cancel()
    assert seconds == MOVED_AFTER
    assert world.journal.count - before < 10 * (seconds + 60) / every + 1000, "writes are bounded by the writer's"


@pytest.mark.parametrize("seconds_before", [0.5, 30, 200, 330, 570])
@pytest.mark.parametrize("write", [empty_list, no_list, own_taint, put, server_side_apply])
@in_world(PUSH)
async def test_l2_one_sync_within_an_outage_costs_nothing(world: World, write: Write, seconds_before: float) -> None:
    home, died = await place(world), world.seconds
    await world.member(home).stop()
    await world.sleep(MOVED_AFTER - seconds_before)
    await write(world, home)
    assert await moves(world, home, died) == MOVED_AFTER


@pytest.mark.parametrize("every", mostly_long([5, 30, 120, 290], 120))
@pytest.mark.parametrize("write", mostly_long([empty_list, put, server_side_apply], put))
@in_world(PUSH)
async def test_l2_a_policys_taint_that_git_takes_off_evicts_in_its_time(
    world: World, write: Write, every: float
) -> None:
    await world.client.create(CLUSTER_TAINT_POLICIES, at_once())
    home = await place(world)
    writer = start_sync(world, write, every)
    await world.sleep(60)
    await world.member(home).stop()
    await world.until(lambda: not world.is_ready(home))
    seconds = await moves(world, home, world.seconds)
    writer.cancel()
    assert 299 <= seconds <= 302, "the toleration of not-ready alone"
    await world.member(home).start()
    await world.until(lambda: world.is_ready(home))
    await world.sleep(10)
    assert not world.cluster(home).taint_record, "the policy has removed its taint"


@pytest.mark.parametrize("write", [empty_list, put])
@pytest.mark.parametrize("restarts", [False, True])
def test_l2_a_pull_cluster_in_git_fails_over_in_time(write: Write, restarts: bool) -> None:
    """Controllers are restarted meanwhile, or not."""

    async def story(world: World, tool: bool) -> float:
        home = await place(world)
        writer = start_sync(world, write, 30) if tool else None
        died = world.seconds
        await world.member(home).stop()
        await world.sleep(400)
        if restarts:
            await world.stop_controllers()
            world.start_controllers()
        seconds = await moves(world, home, died)
        if writer is not None:
            writer.cancel()
        return seconds

    found: list[float] = []

    async def without(world: World) -> None:
        found.append(await story(world, tool=False))

    async def with_tool(world: World) -> None:
        found.append(await story(world, tool=True))

    play(without, PULL)
    play(with_tool, PULL)
    assert found[1] - found[0] <= 10, found


@in_world(PUSH)
async def test_who_takes_taints_off_and_leaves_no_name_is_told_as_somebody(world: World) -> None:
    """A merge patch of null names no field, so that the API server notes no manager."""
    home = await place(world)
    await world.member(home).stop()
    await world.until(lambda: bool(world.cluster(home).spec.taints))
    await world.sleep(10)
    await no_list(world, home)
    await world.sleep(10)
    found = find_condition(world.cluster(home).status.conditions, REMOVED)
    assert found is not None
    assert "taken off by somebody" in found.message


@pytest.mark.parametrize("restarts", [False, True])
@in_world(PUSH)
async def test_nobody_is_told_to_take_off_taints_whose_write_failed(world: World, restarts: bool) -> None:
    """The record is written, with an answer that is lost, and the spec is not: seed 700222 blamed somebody."""
    await world.client.patch(CLUSTERS, "member1", {"metadata": {"labels": {"tier": "gold"}}})
    await world.sleep(60)
    failing, path = status(500, "InternalError"), "/apis/cluster.karmada.io/v1alpha1/clusters/member1"

    async def answer(request: Request, work: Callable[[], Answering]) -> Response | StreamResponse:
        if request.method != "PATCH" or request.path not in (path, f"{path}/status"):
            return await work()
        if request.path.endswith("/status"):
            await work()
        return failing

    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"))
    world.place.audit = answer
    await world.sleep(120)
    if restarts:
        await world.stop_controllers()
        world.start_controllers()
        await world.sleep(120)
    world.place.audit = None
    await world.sleep(120)
    cluster = world.cluster("member1")
    assert cluster.taint_record
    assert cluster.spec.taints
    assert find_condition(cluster.status.conditions, REMOVED) is None


@pytest.mark.parametrize("at", [100, 400, 628])
@in_world(PUSH)
async def test_l2_a_restart_while_the_taint_is_off_forgets_nothing(world: World, at: float) -> None:
    """The taint is taken off while no controller runs."""
    home, died = await place(world), world.seconds
    await world.member(home).stop()
    await world.sleep(at)
    await world.stop_controllers()
    await put(world, home)
    world.start_controllers()
    assert MOVED_AFTER <= await moves(world, home, died) <= MOVED_AFTER + 60


@in_world(PUSH)
async def test_l2_another_outage_has_another_clock(world: World) -> None:
    home = await place(world)
    writer = start_sync(world, empty_list, 30)
    await world.member(home).stop()
    await world.sleep(500)
    await world.member(home).start()
    await world.until(lambda: world.is_ready(home), 120)
    await world.sleep(60)
    assert list(world.assigned(WEB)) == [home]
    assert not [c for c in world.cluster(home).status.conditions if c.type in (TAINTED_CONDITION, REMOVED)]
    died = world.seconds
    await world.member(home).stop()
    assert await moves(world, home, died) == MOVED_AFTER
    writer.cancel()


@in_world(PUSH)
async def test_nothing_is_placed_in_a_dead_cluster_whose_taints_are_taken_off_at_once(world: World) -> None:
    """A tool heals a difference within a second, so that our writes wait: the cluster is no place all the same."""
    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"), 120)
    await world.sleep(30)
    writer = start_sync(world, empty_list, 0.5)
    await world.sleep(60)
    placement = {"clusterAffinity": {"clusterNames": ["member1", "member2"]}}
    await apply(world.client, deployment("web", 3), policy("web", placement))
    await world.sleep(60)
    assert list(world.assigned(WEB)) == ["member2"]
    before = await taint_writes(world)
    await world.sleep(600)
    assert await taint_writes(world) - before <= 20, "a write waits longer and longer"
    writer.cancel()


async def taint_writes(world: World) -> int:
    """Number of the Cluster's generations less those of the tool, each of which undoes one."""
    return (await world.client.get(CLUSTERS, "member1"))["metadata"]["generation"] // 2


@in_world(PUSH)
async def test_the_taints_stand_most_of_the_time(world: World) -> None:
    await world.member("member1").stop()
    await world.sleep(400)
    writer = start_sync(world, server_side_apply, 5)
    stood = 0
    for _ in range(100):
        await world.sleep(3.1)
        spec = world.cluster("member1").spec
        stood += any(taint.effect == "NoExecute" for taint in spec.taints)
    writer.cancel()
    assert stood > 80


@in_world(PUSH)
async def test_the_cluster_an_event_and_status_say_who_takes_taints_off(world: World) -> None:
    home = await place(world)
    await world.member(home).stop()
    writer = start_sync(world, server_side_apply, 30)
    await world.sleep(400)
    told = find_condition(world.cluster(home).status.conditions, REMOVED)
    assert told is not None
    assert "taken off by argocd-controller. " in told.message
    await server_side_apply_as(world, home, "flux")
    await world.sleep(200)
    told = find_condition(world.cluster(home).status.conditions, REMOVED)
    assert told is not None
    assert "taken off by argocd-controller, flux. " in told.message
    found = await world.client.list(EVENTS, "default")
    events = [e for e in found.items if e.reason == "TaintsRemovedByOthers"]
    assert [(e.involved_object.name, e.count) for e in events] == [(home, 1)] * 2
    status = await look_at_fleet(world.client, world.clock)
    assert [f.about for f in status.findings if "taken off by argocd-controller, flux" in f.sentence] == [
        f"cluster/{home}"
    ]
    writer.cancel()


@in_world(PUSH)
async def test_a_person_holds_an_eviction_by_a_toleration_in_the_policy(world: World) -> None:
    """The way that docs/production.md names: taking the taint off is none."""
    home = await place(world)
    await world.member(home).stop()
    await world.sleep(500)
    stays = [{"key": f"cluster.karmada.io/{name}", "operator": "Exists"} for name in ("not-ready", "unreachable")]
    placement = {**ONE, "clusterTolerations": stays}
    await world.client.patch(POLICIES, "web", {"spec": {"placement": placement}}, "default")
    await world.sleep(1800)
    assert list(world.assigned(WEB)) == [home]
