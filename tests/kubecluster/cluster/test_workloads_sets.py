"""StatefulSets and DaemonSets in a whole cluster on virtual time."""

import asyncio

from kubecluster import WorkloadSettings
from kubecluster.kinds import DAEMON_SETS, NODES, PODS, STATEFUL_SETS
from tests.kubecluster.cluster.simulated_cluster import Cluster, pod_template, tell, workload


def test_a_stateful_set_starts_one_pod_after_the_other() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(STATEFUL_SETS, workload("StatefulSet", replicas=3, serviceName="web"))
        seen: list[list[str]] = []
        for _ in range(8):
            await asyncio.sleep(1)
            names = await cluster.names(PODS)
            if names not in seen:
                seen.append(names)
        assert seen == [["web-0"], ["web-0", "web-1"], ["web-0", "web-1", "web-2"]]
        status = await cluster.status(STATEFUL_SETS, "web")
        assert status["currentRevision"] == status["updateRevision"]
        assert {key: status[key] for key in status if key.endswith("eplicas")} == {
            "replicas": 3,
            "readyReplicas": 3,
            "currentReplicas": 3,
            "updatedReplicas": 3,
            "availableReplicas": 3,
        }
        pod = await cluster.get(PODS, "web-1")
        assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("web-1", "web")
        assert pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] == "web-1"

    tell(story)


def test_a_parallel_stateful_set_starts_all_pods_at_once() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(STATEFUL_SETS, workload("StatefulSet", replicas=3, podManagementPolicy="Parallel"))
        await asyncio.sleep(2.5)
        assert (await cluster.status(STATEFUL_SETS, "web"))["readyReplicas"] == 3

    tell(story)


def test_a_stateful_set_shrinks_from_the_highest_ordinal() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(STATEFUL_SETS, workload("StatefulSet", replicas=3))
        await asyncio.sleep(10)
        await cluster.patch(STATEFUL_SETS, "web", {"spec": {"replicas": 1}})
        await asyncio.sleep(2)
        assert await cluster.names(PODS) == ["web-0"]

    tell(story)


def test_a_stateful_set_updates_one_pod_at_a_time_down_to_its_partition() -> None:
    async def story(cluster: Cluster) -> None:
        strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
        await cluster.create(STATEFUL_SETS, workload("StatefulSet", replicas=3, updateStrategy=strategy))
        await asyncio.sleep(10)
        await cluster.patch(STATEFUL_SETS, "web", {"spec": {"template": pod_template("nginx:2")}})
        assert await cluster.least_ready_during(10) == 2
        images = {p["metadata"]["name"]: p["spec"]["containers"][0]["image"] for p in await cluster.objects(PODS)}
        assert images == {"web-0": "nginx:1", "web-1": "nginx:2", "web-2": "nginx:2"}
        status = await cluster.status(STATEFUL_SETS, "web")
        assert (status["currentReplicas"], status["updatedReplicas"]) == (1, 2)
        assert status["currentRevision"] != status["updateRevision"]

    tell(story)


def test_a_lost_pod_of_a_stateful_set_comes_back_under_its_name() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(STATEFUL_SETS, workload("StatefulSet", replicas=2))
        await asyncio.sleep(6)
        before = await cluster.get(PODS, "web-0")
        await cluster.delete(PODS, "web-0")
        await asyncio.sleep(3)
        after = await cluster.get(PODS, "web-0")
        assert after["metadata"]["uid"] != before["metadata"]["uid"]
        assert (await cluster.status(STATEFUL_SETS, "web"))["readyReplicas"] == 2

    tell(story)


def test_a_daemon_set_runs_on_every_ready_node() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DAEMON_SETS, workload("DaemonSet"))
        await asyncio.sleep(3)
        assert sorted(p["spec"]["nodeName"] for p in await cluster.objects(PODS)) == ["node-1", "node-2", "node-3"]
        assert await cluster.status(DAEMON_SETS, "web") == {
            "currentNumberScheduled": 3,
            "numberMisscheduled": 0,
            "desiredNumberScheduled": 3,
            "numberReady": 3,
            "observedGeneration": 1,
            "updatedNumberScheduled": 3,
            "numberAvailable": 3,
        }

    tell(story, WorkloadSettings(nodes=3))


def test_a_daemon_set_follows_the_labels_and_taints_of_nodes() -> None:
    async def story(cluster: Cluster) -> None:
        template = pod_template(nodeSelector={"disk": "ssd"})
        await cluster.create(DAEMON_SETS, workload("DaemonSet", template))
        await asyncio.sleep(3)
        assert await cluster.names(PODS) == []
        for node in ("node-1", "node-2"):
            await cluster.patch(NODES, node, {"metadata": {"labels": {"disk": "ssd"}}})
        await asyncio.sleep(3)
        assert await cluster.ready_pods() == 2
        await cluster.patch(NODES, "node-2", {"spec": {"taints": [{"key": "own", "effect": "NoExecute"}]}})
        await asyncio.sleep(1)
        assert [pod["spec"]["nodeName"] for pod in await cluster.objects(PODS)] == ["node-1"]

    tell(story)


def test_a_daemon_set_updates_one_node_at_a_time() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DAEMON_SETS, workload("DaemonSet"))
        await asyncio.sleep(3)
        await cluster.patch(DAEMON_SETS, "web", {"spec": {"template": pod_template("nginx:2")}})
        assert await cluster.least_ready_during(10) == 2
        assert (await cluster.status(DAEMON_SETS, "web"))["updatedNumberScheduled"] == 3

    tell(story, WorkloadSettings(nodes=3))
