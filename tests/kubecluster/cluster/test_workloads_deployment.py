"""Deployments in a whole cluster on virtual time."""

import asyncio

from kubecluster import WorkloadSettings
from kubecluster.kinds import DEPLOYMENTS, PODS, REPLICA_SETS
from tests.kubecluster.cluster.simulated_cluster import Cluster, condition, pod_template, tell, workload


def test_a_deployment_of_three_is_ready_after_the_startup_time() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=3))
        await asyncio.sleep(1.9)
        assert (await cluster.status(DEPLOYMENTS, "web")).get("readyReplicas", 0) == 0
        await asyncio.sleep(0.3)
        deployment = await cluster.get(DEPLOYMENTS, "web")
        counts = {key: value for key, value in deployment["status"].items() if key != "conditions"}
        assert counts == {
            "observedGeneration": 1,
            "replicas": 3,
            "updatedReplicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
        }
        assert condition(deployment["status"], "Available") == ("True", "MinimumReplicasAvailable")
        assert condition(deployment["status"], "Progressing") == ("True", "NewReplicaSetAvailable")
        assert deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1"

    tell(story)


def test_pods_look_like_those_of_a_real_cluster() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=2))
        await asyncio.sleep(3)
        [replica_set] = await cluster.objects(REPLICA_SETS)
        pods = await cluster.objects(PODS)
        assert sorted(pod["spec"]["nodeName"] for pod in pods) == ["node-1", "node-2"]
        assert len({pod["status"]["podIP"] for pod in pods}) == 2
        for pod in pods:
            assert pod["metadata"]["name"].startswith(replica_set["metadata"]["name"] + "-")
            assert pod["metadata"]["labels"].items() >= replica_set["spec"]["selector"]["matchLabels"].items()
            assert pod["metadata"]["ownerReferences"][0]["uid"] == replica_set["metadata"]["uid"]
            assert pod["status"]["phase"] == "Running"
            assert pod["status"]["qosClass"] == "Burstable"
            assert pod["status"]["podIP"].startswith("10.")
            assert {c["type"]: c["status"] for c in pod["status"]["conditions"]} == {
                "PodReadyToStartContainers": "True",
                "Initialized": "True",
                "Ready": "True",
                "ContainersReady": "True",
                "PodScheduled": "True",
            }

    tell(story)


def test_scaling_adds_and_removes_pods() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=1))
        await asyncio.sleep(3)
        await cluster.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 150}})
        await asyncio.sleep(3)
        assert (await cluster.status(DEPLOYMENTS, "web"))["readyReplicas"] == 150
        await cluster.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 2}})
        await asyncio.sleep(1)
        assert (await cluster.status(DEPLOYMENTS, "web"))["replicas"] == 2
        assert len(await cluster.objects(PODS)) == 2
        await cluster.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
        await asyncio.sleep(1)
        status = await cluster.status(DEPLOYMENTS, "web")
        assert "replicas" not in status
        assert await cluster.names(PODS) == []

    tell(story)


def test_a_rolling_update_keeps_the_deployment_available() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=4))
        await asyncio.sleep(3)
        await cluster.patch(DEPLOYMENTS, "web", {"spec": {"template": pod_template("nginx:2")}})
        assert await cluster.least_ready_during(15) == 3
        status = await cluster.status(DEPLOYMENTS, "web")
        assert (status["replicas"], status["updatedReplicas"], status["availableReplicas"]) == (4, 4, 4)
        assert condition(status, "Progressing") == ("True", "NewReplicaSetAvailable")
        assert {pod["spec"]["containers"][0]["image"] for pod in await cluster.objects(PODS)} == {"nginx:2"}
        assert sorted(s["spec"]["replicas"] for s in await cluster.objects(REPLICA_SETS)) == [0, 4]

    tell(story)


def test_a_broken_image_stops_a_rollout_and_leaves_the_old_pods() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=4, progressDeadlineSeconds=60))
        await asyncio.sleep(3)
        await cluster.patch(DEPLOYMENTS, "web", {"spec": {"template": pod_template("nginx:broken")}})
        assert await cluster.least_ready_during(30) == 3
        status = await cluster.status(DEPLOYMENTS, "web")
        assert (status["updatedReplicas"], status["availableReplicas"], status["unavailableReplicas"]) == (2, 3, 2)
        assert condition(status, "Progressing") == ("True", "ReplicaSetUpdated")
        await asyncio.sleep(40)
        status = await cluster.status(DEPLOYMENTS, "web")
        assert condition(status, "Progressing") == ("False", "ProgressDeadlineExceeded")
        assert condition(status, "Available") == ("True", "MinimumReplicasAvailable")
        broken = [pod for pod in await cluster.objects(PODS) if pod["status"]["phase"] == "Pending"]
        waiting = {pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] for pod in broken}
        assert waiting == {"ImagePullBackOff"}

    tell(story)


def test_going_back_to_an_old_template_reuses_its_replica_set() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=2))
        await asyncio.sleep(3)
        for image in ("nginx:2", "nginx:1"):
            await cluster.patch(DEPLOYMENTS, "web", {"spec": {"template": pod_template(image)}})
            await asyncio.sleep(15)
        assert len(await cluster.objects(REPLICA_SETS)) == 2
        deployment = await cluster.get(DEPLOYMENTS, "web")
        assert deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"
        assert deployment["status"]["availableReplicas"] == 2

    tell(story)


def test_recreate_ends_all_old_pods_first() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=3, strategy={"type": "Recreate"}))
        await asyncio.sleep(3)
        await cluster.patch(DEPLOYMENTS, "web", {"spec": {"template": pod_template("nginx:2")}})
        for _ in range(30):
            await asyncio.sleep(0.1)
            assert len({pod["spec"]["containers"][0]["image"] for pod in await cluster.objects(PODS)}) <= 1
        assert (await cluster.status(DEPLOYMENTS, "web"))["availableReplicas"] == 3

    tell(story)


def test_old_replica_sets_go_beyond_the_history_limit() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=1, revisionHistoryLimit=1))
        for tag in ("2", "3", "4"):
            await asyncio.sleep(10)
            await cluster.patch(DEPLOYMENTS, "web", {"spec": {"template": pod_template(f"nginx:{tag}")}})
        await asyncio.sleep(10)
        sets = await cluster.objects(REPLICA_SETS)
        assert {s["spec"]["template"]["spec"]["containers"][0]["image"] for s in sets} == {"nginx:3", "nginx:4"}

    tell(story)


def test_a_paused_deployment_scales_but_does_not_roll() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=2))
        await asyncio.sleep(3)
        changed = {"paused": True, "replicas": 3, "template": pod_template("nginx:2")}
        await cluster.patch(DEPLOYMENTS, "web", {"spec": changed})
        await asyncio.sleep(5)
        assert {pod["spec"]["containers"][0]["image"] for pod in await cluster.objects(PODS)} == {"nginx:1"}
        status = await cluster.status(DEPLOYMENTS, "web")
        assert status["readyReplicas"] == 3
        assert condition(status, "Progressing") == ("Unknown", "DeploymentPaused")
        await cluster.patch(DEPLOYMENTS, "web", {"spec": {"paused": False}})
        await asyncio.sleep(15)
        status = await cluster.status(DEPLOYMENTS, "web")
        assert status["updatedReplicas"] == 3
        assert condition(status, "Progressing") == ("True", "NewReplicaSetAvailable")

    tell(story)


def test_deleting_a_deployment_takes_its_pods_along() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=3))
        await asyncio.sleep(3)
        await cluster.delete(DEPLOYMENTS, "web")
        await asyncio.sleep(2)
        assert await cluster.names(REPLICA_SETS) == []
        assert await cluster.names(PODS) == []

    tell(story)


def test_a_deleted_pod_is_replaced() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=2))
        await asyncio.sleep(3)
        [first, second] = await cluster.names(PODS)
        await cluster.delete(PODS, first)
        await asyncio.sleep(3)
        names = await cluster.names(PODS)
        assert len(names) == 2
        assert first not in names
        assert second in names
        assert await cluster.ready_pods() == 2

    tell(story)


def test_pods_become_available_after_min_ready_seconds() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=2, minReadySeconds=10))
        await asyncio.sleep(3)
        status = await cluster.status(DEPLOYMENTS, "web")
        assert (status["readyReplicas"], status.get("availableReplicas", 0)) == (2, 0)
        await asyncio.sleep(10)
        assert (await cluster.status(DEPLOYMENTS, "web"))["availableReplicas"] == 2

    tell(story)


def test_pods_that_fit_nowhere_wait_until_there_is_room() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=3))
        await asyncio.sleep(3)
        assert await cluster.ready_pods() == 2
        [waiting] = [pod for pod in await cluster.objects(PODS) if "nodeName" not in pod["spec"]]
        assert condition(waiting["status"], "PodScheduled") == ("False", "Unschedulable")
        [placed, _] = [pod for pod in await cluster.objects(PODS) if "nodeName" in pod["spec"]]
        await cluster.delete(PODS, placed["metadata"]["name"])
        await asyncio.sleep(3)
        assert (await cluster.get(PODS, waiting["metadata"]["name"]))["spec"]["nodeName"]

    tell(story, WorkloadSettings(node_cpu="150m"))
