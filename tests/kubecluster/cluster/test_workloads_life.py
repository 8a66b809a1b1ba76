"""The cluster as a whole: its nodes, its quiet, its restarts."""

import asyncio
from collections.abc import Mapping

import pytest

from kubeapi.loop.virtual import run_virtual
from kubecluster import WorkloadSettings
from kubecluster.kinds import DAEMON_SETS, DEPLOYMENTS, JOBS, NODES, PODS, REPLICATION_CONTROLLERS, STATEFUL_SETS
from kubeserver.store.memory import MemoryMedium
from tests.kubecluster.cluster.simulated_cluster import Cluster, pod_template, running, tell, workload

KINDS = (NODES, DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, JOBS, PODS)


async def fill(cluster: Cluster) -> None:
    """One workload of each kind, one of them broken."""
    await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=2))
    broken = workload("Deployment", pod_template("nginx:broken"), replicas=1)
    await cluster.create(DEPLOYMENTS, {**broken, "metadata": {"name": "broken"}})
    await cluster.create(STATEFUL_SETS, workload("StatefulSet", replicas=2))
    await cluster.create(DAEMON_SETS, workload("DaemonSet"))
    template = pod_template(restartPolicy="Never")
    await cluster.create(JOBS, {"metadata": {"name": "once"}, "spec": {"template": template}})


async def versions(cluster: Cluster) -> Mapping[str, str]:
    found = [obj for resource in KINDS for obj in await cluster.objects(resource)]
    return {obj["metadata"]["uid"]: obj["metadata"]["resourceVersion"] for obj in found}


def test_nodes_are_registered_and_ready() -> None:
    async def story(cluster: Cluster) -> None:
        [first, second] = await cluster.objects(NODES)
        assert (first["metadata"]["name"], second["metadata"]["name"]) == ("node-1", "node-2")
        assert first["metadata"]["labels"]["kubernetes.io/hostname"] == "node-1"
        assert first["metadata"]["labels"]["kubernetes.io/os"] == "linux"
        offered = {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "100Gi", "pods": "110"}
        assert first["status"]["allocatable"] == first["status"]["capacity"] == offered
        assert first["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.0-leeward"
        assert {c["type"]: c["status"] for c in first["status"]["conditions"]}["Ready"] == "True"
        assert first["spec"]["podCIDR"] != second["spec"]["podCIDR"]

    tell(story)


def test_a_deleted_node_registers_again() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=2))
        await asyncio.sleep(3)
        await cluster.delete(NODES, "node-1")
        await asyncio.sleep(1)
        assert await cluster.names(NODES) == ["node-1", "node-2"]
        assert await cluster.ready_pods() == 2

    tell(story)


def test_a_quiet_cluster_writes_nothing() -> None:
    async def story(cluster: Cluster) -> None:
        await fill(cluster)
        await asyncio.sleep(700)
        revision = cluster.store.revision
        await asyncio.sleep(3600)
        assert cluster.store.revision == revision

    tell(story)


def test_a_restart_changes_nothing() -> None:
    async def run() -> None:
        medium = MemoryMedium()
        async with running(medium) as cluster:
            await fill(cluster)
            await asyncio.sleep(20)
            before = await versions(cluster)
        async with running(medium) as cluster:
            await asyncio.sleep(20)
            assert await versions(cluster) == before

    run_virtual(run())


def test_a_restart_in_the_middle_of_a_start_goes_on() -> None:
    async def run() -> None:
        medium = MemoryMedium()
        async with running(medium) as cluster:
            await fill(cluster)
            await asyncio.sleep(0.5)
        async with running(medium) as cluster:
            await asyncio.sleep(10)
            assert (await cluster.status(DEPLOYMENTS, "web"))["readyReplicas"] == 2
            assert (await cluster.status(STATEFUL_SETS, "web"))["readyReplicas"] == 2
            assert (await cluster.status(JOBS, "once"))["succeeded"] == 1
            assert len(await cluster.objects(PODS)) == 2 + 1 + 2 + 2 + 1

    run_virtual(run())


def test_pods_move_when_a_restart_takes_their_node_away() -> None:
    async def run() -> None:
        medium = MemoryMedium()
        async with running(medium) as cluster:
            await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=4))
            await asyncio.sleep(3)
        async with running(medium, WorkloadSettings(nodes=1)) as cluster:
            await asyncio.sleep(3)
            assert await cluster.names(NODES) == ["node-1"]
            assert {pod["spec"]["nodeName"] for pod in await cluster.objects(PODS)} == {"node-1"}
            assert await cluster.ready_pods() == 4

    run_virtual(run())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"nodes": -1}, "nodes: is -1"),
        ({"nodes": 10_000}, "nodes: is 10000"),
        ({"pod_startup_seconds": -0.5}, "pod_startup_seconds: is -0.5"),
        ({"node_cpu": "many"}, "node_cpu: quantities must match"),
        ({"node_memory": "-1Gi"}, "node_memory: is -1Gi"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(settings: dict[str, int | float | str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WorkloadSettings(**settings)  # type: ignore[arg-type]


def test_a_kind_that_nobody_used_for_hours_is_still_followed() -> None:
    async def story(cluster: Cluster) -> None:
        await asyncio.sleep(3.5 * 3600)
        spec = {"replicas": 1, "selector": {"app": "web"}, "template": pod_template()}
        await cluster.create(REPLICATION_CONTROLLERS, {"metadata": {"name": "web"}, "spec": spec})
        await asyncio.sleep(5)
        assert await cluster.ready_pods() == 1

    tell(story)
