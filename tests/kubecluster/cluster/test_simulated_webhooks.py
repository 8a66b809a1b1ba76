"""A webhook in a simulated cluster: away without ready Pods, and letting everything pass with one."""

import asyncio

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import ApiError
from kubecluster.kinds import CONFIG_MAPS, DEPLOYMENTS, SERVICES
from tests.kubecluster.cluster.simulated_cluster import Cluster, tell, workload

CONFIGURATIONS = Resource.of_manifests(
    "admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", False
)
SERVICE: Manifest = {"metadata": {"name": "judge"}, "spec": {"selector": {"app": "web"}, "ports": [{"port": 443}]}}


def configuration(**client_config: object) -> Manifest:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}
    webhook = {"name": "judge.example.com", "rules": [rule], "clientConfig": client_config, "sideEffects": "None"}
    return {"metadata": {"name": "judge"}, "webhooks": [{**webhook, "admissionReviewVersions": ["v1"]}]}


def config(name: str) -> Manifest:
    return {"metadata": {"name": name}}


async def is_refused(cluster: Cluster, name: str) -> bool:
    try:
        await cluster.client.create(CONFIG_MAPS, config(name), "default")
    except ApiError as error:
        return "no endpoints available" in str(error) or "not found" in str(error)
    return False


def test_it_refuses_until_a_pod_of_its_service_is_ready_and_again_without_one() -> None:
    async def story(cluster: Cluster) -> None:
        service = {"namespace": "default", "name": "judge"}
        await cluster.client.create(CONFIGURATIONS, configuration(service=service))
        assert await is_refused(cluster, "a"), "there is no Service"
        await cluster.client.create(SERVICES, SERVICE, "default")
        assert await is_refused(cluster, "a"), "no Pod is ready"
        await cluster.client.create(DEPLOYMENTS, workload("Deployment", replicas=1), "default")
        await asyncio.sleep(10)
        assert not await is_refused(cluster, "a")
        await cluster.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 0}}, "default")
        await asyncio.sleep(10)
        assert await is_refused(cluster, "b")

    tell(story)


def test_a_service_without_selector_and_a_url_lead_nowhere_whatever_runs() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.client.create(DEPLOYMENTS, workload("Deployment", replicas=1), "default")
        await cluster.client.create(SERVICES, {**SERVICE, "spec": {"ports": [{"port": 443}]}}, "default")
        await asyncio.sleep(10)
        service = {"namespace": "default", "name": "judge"}
        await cluster.client.create(CONFIGURATIONS, configuration(service=service))
        assert await is_refused(cluster, "a")
        await cluster.client.delete(CONFIGURATIONS, "judge")
        await cluster.client.create(CONFIGURATIONS, configuration(url="https://judge.example/"))
        with pytest.raises(ApiError, match="failed to call webhook"):
            await cluster.client.create(CONFIG_MAPS, config("b"), "default")

    tell(story)
