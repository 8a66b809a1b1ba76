"""Root certificates in each Namespace of a cluster, and disk on each of its Nodes."""

import asyncio

from kubeapi.meta import Manifest
from kubecluster import WorkloadSettings
from kubecluster.kinds import CONFIG_MAPS, CORE_NAMESPACES, PODS
from tests.kubecluster.cluster.simulated_cluster import Cluster, condition, tell

NAME = "kube-root-ca.crt"
SETTINGS = WorkloadSettings(root_certificates="-----BEGIN CERTIFICATE-----\n", node_ephemeral_storage="2Gi")


async def published(cluster: Cluster) -> dict[str, Manifest]:
    """The data of each, by namespace."""
    found = [each for each in await cluster.objects(CONFIG_MAPS) if each["metadata"]["name"] == NAME]
    return {each["metadata"]["namespace"]: each["data"] for each in found}


def scratch(name: str, amount: str) -> Manifest:
    resources = {"requests": {"ephemeral-storage": amount}, "limits": {"ephemeral-storage": amount}}
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i:1", "resources": resources}]}}


def test_every_namespace_has_the_root_certificates() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(CORE_NAMESPACES, {"metadata": {"name": "shop"}})
        await asyncio.sleep(1)
        wanted = {"ca.crt": SETTINGS.root_certificates}
        namespaces = await cluster.names(CORE_NAMESPACES)
        assert {"default", "kube-system", "shop"} <= set(namespaces)
        assert await published(cluster) == dict.fromkeys(namespaces, wanted)

        await cluster.delete(CONFIG_MAPS, NAME)
        await cluster.client.patch(CONFIG_MAPS, NAME, {"data": {"ca.crt": "mine", "other": "mine"}}, "shop")
        await asyncio.sleep(1)
        assert await published(cluster) == dict.fromkeys(namespaces, wanted)

        await cluster.delete(CORE_NAMESPACES, "shop")
        await asyncio.sleep(5)
        assert "shop" not in await cluster.names(CORE_NAMESPACES)
        assert "shop" not in await published(cluster)

    tell(story, SETTINGS)


def test_a_pod_that_projects_token_and_root_certificates_runs() -> None:
    async def story(cluster: Cluster) -> None:
        item = {"key": "ca.crt", "path": "ca.crt"}
        namespace = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
        sources = [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}},
            {"configMap": {"name": NAME, "items": [item]}},
            {"downwardAPI": {"items": [namespace]}},
        ]
        mounted = [{"name": "api", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]
        container = {"name": "c", "image": "busybox:1.36", "volumeMounts": mounted}
        spec = {"containers": [container], "volumes": [{"name": "api", "projected": {"sources": sources}}]}
        await cluster.create(PODS, {"metadata": {"name": "token"}, "spec": spec})
        await asyncio.sleep(5)
        assert (await cluster.status(PODS, "token"))["phase"] == "Running"

    tell(story, SETTINGS)


def test_disk_of_a_node_is_given_once() -> None:
    async def story(cluster: Cluster) -> None:
        for name, amount in (("a", "2Gi"), ("b", "1Gi"), ("c", "1Gi"), ("d", "1Gi")):
            await cluster.create(PODS, scratch(name, amount))
            await asyncio.sleep(5)
        assert [(await cluster.status(PODS, name))["phase"] for name in "abcd"] == ["Running"] * 3 + ["Pending"]
        status = await cluster.status(PODS, "d")
        assert condition(status, "PodScheduled") == ("False", "Unschedulable")
        assert status["conditions"][0]["message"] == "0/2 nodes are available: 2 Insufficient ephemeral-storage."

    tell(story, SETTINGS)
