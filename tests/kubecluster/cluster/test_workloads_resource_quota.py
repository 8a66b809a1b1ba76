"""ResourceQuotas of a simulated cluster: what they count, and which Pods they keep out."""

import asyncio

import pytest

from kubeapi.meta import Manifest
from kubeclient import Forbidden
from kubecluster.kinds import CONFIG_MAPS, DEPLOYMENTS, PODS, RESOURCE_QUOTAS
from tests.kubecluster.cluster.simulated_cluster import Cluster, pod_template, tell, workload


def quota(**hard: str) -> Manifest:
    amounts = {name.replace("_", "."): amount for name, amount in hard.items()}
    return {"metadata": {"name": "some"}, "spec": {"hard": amounts}}


def deployment(replicas: int, template: Manifest) -> Manifest:
    return workload("Deployment", template, replicas=replicas)


def asking(cpu: str) -> Manifest:
    container = {"name": "main", "image": "nginx", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    template = pod_template()
    return {**template, "spec": {"containers": [container]}}


def test_a_quota_says_what_its_namespace_uses() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(
            RESOURCE_QUOTAS, quota(cpu="4", requests_memory="8Gi", pods="9", configmaps="5", requests_storage="1Gi")
        )
        await cluster.create(CONFIG_MAPS, {"metadata": {"name": "a"}})
        await cluster.create(DEPLOYMENTS, deployment(replicas=2, template=asking("500m")))
        await asyncio.sleep(10)
        status = await cluster.status(RESOURCE_QUOTAS, "some")
        assert status["hard"]["cpu"] == "4"
        here = [m for m in await cluster.objects(CONFIG_MAPS) if m["metadata"]["namespace"] == "default"]
        configmaps = str(len(here))
        assert status["used"] == {"cpu": "1", "requests.memory": "2Gi", "pods": "2", "configmaps": configmaps}

        await cluster.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
        await asyncio.sleep(60)
        assert (await cluster.status(RESOURCE_QUOTAS, "some"))["used"]["cpu"] == "0"

    tell(story)


def test_a_quota_keeps_out_the_pods_beyond_it_though_all_come_at_once() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(RESOURCE_QUOTAS, quota(cpu="1"))
        await cluster.create(DEPLOYMENTS, deployment(replicas=5, template=asking("500m")))
        await asyncio.sleep(10)
        assert await cluster.ready_pods() == 2
        conditions = (await cluster.status(DEPLOYMENTS, "web"))["conditions"]
        failure = next(condition for condition in conditions if condition["type"] == "ReplicaFailure")
        assert "exceeded quota: some, requested: cpu=500m, used: cpu=1, limited: cpu=1" in failure["message"]

        await cluster.patch(RESOURCE_QUOTAS, "some", {"spec": {"hard": {"cpu": "3"}}})
        await asyncio.sleep(60)
        assert await cluster.ready_pods() == 5

    tell(story)


def test_a_pod_must_say_what_a_quota_limits() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(RESOURCE_QUOTAS, quota(cpu="1"))
        pod = {"metadata": {"name": "one"}, "spec": {"containers": [{"name": "main", "image": "nginx"}]}}
        with pytest.raises(Forbidden, match="failed quota: some: must specify cpu for: main"):
            await cluster.create(PODS, pod)

    tell(story)


def test_a_quota_with_a_scope_limits_nothing_here() -> None:
    async def story(cluster: Cluster) -> None:
        scoped = quota(cpu="0")
        scoped["spec"]["scopes"] = ["NotTerminating"]
        await cluster.create(RESOURCE_QUOTAS, scoped)
        await cluster.create(DEPLOYMENTS, deployment(replicas=1, template=asking("500m")))
        await asyncio.sleep(10)
        assert await cluster.ready_pods() == 1

    tell(story)
