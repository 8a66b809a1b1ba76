"""Pods whose ConfigMap, Secret or ServiceAccount is missing, in a whole cluster on virtual time."""

import asyncio
from collections.abc import Mapping
from typing import Any

from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubecluster.kinds import (
    CONFIG_MAPS,
    CORE_NAMESPACES,
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    SECRETS,
    SERVICE_ACCOUNTS,
    STATEFUL_SETS,
)
from kubeserver.store.memory import MemoryMedium
from tests.kubecluster.cluster.simulated_cluster import Cluster, condition, pod_template, running, tell, workload

EVENTS = Resource.of_manifests("v1", "events", "Event", namespaced=True)


def deployment(**spec: Any) -> Manifest:
    return workload("Deployment", pod_template(**spec), replicas=1)


async def only_pod(cluster: Cluster) -> Manifest:
    [pod] = await cluster.objects(PODS)
    return pod


def waiting(pod: Manifest) -> Mapping[str, str]:
    [status] = pod["status"]["containerStatuses"]
    return status["state"].get("waiting", {})


async def told(cluster: Cluster, reason: str) -> list[tuple[str, str]]:
    """Kinds of objects of which an event tells, and what it tells."""
    events = [event for event in await cluster.objects(EVENTS) if event["reason"] == reason]
    return [(event["involvedObject"]["kind"], event["message"]) for event in events]


def variable_from(**source: Manifest) -> Manifest:
    template = pod_template()
    template["spec"]["containers"][0]["env"] = [{"name": "A", "valueFrom": source}]
    return workload("Deployment", template, replicas=1)


def test_a_container_is_created_when_the_config_map_of_its_environment_is_there() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, variable_from(configMapKeyRef={"name": "conf", "key": "a"}))
        await asyncio.sleep(5)
        pod = await only_pod(cluster)
        reason = {"reason": "CreateContainerConfigError", "message": 'configmap "conf" not found'}
        assert (pod["status"]["phase"], waiting(pod)) == ("Pending", reason)
        assert await told(cluster, "Failed") == [("Pod", 'Error: configmap "conf" not found')]

        await cluster.create(CONFIG_MAPS, {"metadata": {"name": "conf"}, "data": {"b": "1"}})
        await asyncio.sleep(1)
        assert waiting(await only_pod(cluster))["message"] == "couldn't find key a in ConfigMap default/conf"

        await cluster.patch(CONFIG_MAPS, "conf", {"data": {"a": "1"}})
        await asyncio.sleep(1)
        assert await cluster.ready_pods() == 1
        assert (await only_pod(cluster))["metadata"]["uid"] == pod["metadata"]["uid"]

    tell(story)


def test_a_pod_is_created_when_the_secret_of_its_volume_is_there() -> None:
    async def story(cluster: Cluster) -> None:
        volume = {"name": "key", "secret": {"secretName": "tls"}}
        await cluster.create(DEPLOYMENTS, deployment(volumes=[volume]))
        await asyncio.sleep(60)
        pod = await only_pod(cluster)
        assert (pod["status"]["phase"], waiting(pod)["reason"]) == ("Pending", "ContainerCreating")
        message = 'MountVolume.SetUp failed for volume "key" : secret "tls" not found'
        assert await told(cluster, "FailedMount") == [("Pod", message)]

        await cluster.create(SECRETS, {"metadata": {"name": "tls"}, "data": {}})
        await asyncio.sleep(1)
        assert await cluster.ready_pods() == 1

    tell(story)


def test_a_pod_that_runs_goes_on_without_its_config_map() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(CONFIG_MAPS, {"metadata": {"name": "conf"}})
        await cluster.create(DEPLOYMENTS, deployment(volumes=[{"name": "v", "configMap": {"name": "conf"}}]))
        await asyncio.sleep(5)
        await cluster.delete(CONFIG_MAPS, "conf")
        await asyncio.sleep(60)
        assert await cluster.ready_pods() == 1

    tell(story)


def test_a_pod_waits_on_after_a_restart() -> None:
    async def run() -> None:
        medium = MemoryMedium()
        async with running(medium) as cluster:
            await cluster.create(DEPLOYMENTS, variable_from(secretKeyRef={"name": "key", "key": "a"}))
            await asyncio.sleep(5)
        async with running(medium) as cluster:
            await asyncio.sleep(60)
            assert waiting(await only_pod(cluster))["reason"] == "CreateContainerConfigError"
            await cluster.create(SECRETS, {"metadata": {"name": "key"}, "stringData": {"a": "1"}})
            await asyncio.sleep(1)
            assert await cluster.ready_pods() == 1

    run_virtual(run())


def test_a_pod_of_an_unknown_service_account_is_refused_until_it_is_there() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, deployment(serviceAccountName="robot"))
        await asyncio.sleep(5)
        assert await cluster.names(PODS) == []
        [replica_set] = await cluster.objects(REPLICA_SETS)
        name = replica_set["metadata"]["name"]
        why = f'pods "{name}-" is forbidden: error looking up service account default/robot: '
        why += 'serviceaccount "robot" not found'
        assert await told(cluster, "FailedCreate") == [("ReplicaSet", f"Error creating: {why}")]
        status = await cluster.status(DEPLOYMENTS, "web")
        assert condition(status, "ReplicaFailure") == condition(replica_set["status"], "ReplicaFailure")
        assert condition(status, "ReplicaFailure") == ("True", "FailedCreate")

        await cluster.create(SERVICE_ACCOUNTS, {"metadata": {"name": "robot"}})
        await asyncio.sleep(40)
        assert (await cluster.status(DEPLOYMENTS, "web"))["readyReplicas"] == 1
        assert condition(await cluster.status(DEPLOYMENTS, "web"), "ReplicaFailure") == ("", "")

    tell(story)


def test_a_stateful_set_tells_which_pod_is_refused() -> None:
    async def story(cluster: Cluster) -> None:
        template = pod_template(serviceAccountName="robot")
        await cluster.create(STATEFUL_SETS, workload("StatefulSet", template, replicas=1))
        await asyncio.sleep(1)
        [(kind, message)] = await told(cluster, "FailedCreate")
        assert kind == "StatefulSet"
        assert message.startswith('create Pod web-0 in StatefulSet web failed error: pods "web-0" is forbidden')

    tell(story)


def test_every_namespace_has_a_default_account_that_its_pods_run_as() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(CORE_NAMESPACES, {"metadata": {"name": "shop"}})
        await asyncio.sleep(1)
        accounts = {
            (a["metadata"]["namespace"], a["metadata"]["name"]) for a in await cluster.objects(SERVICE_ACCOUNTS)
        }
        namespaces = await cluster.names(CORE_NAMESPACES)
        assert accounts == {(namespace, "default") for namespace in namespaces}
        assert "shop" in namespaces

        secrets = [{"name": "registry"}]
        await cluster.patch(SERVICE_ACCOUNTS, "default", {"imagePullSecrets": secrets})
        await cluster.create(DEPLOYMENTS, deployment())
        await asyncio.sleep(5)
        spec = (await only_pod(cluster))["spec"]
        assert (spec["serviceAccountName"], spec["imagePullSecrets"]) == ("default", secrets)
        assert await cluster.ready_pods() == 1

        await cluster.delete(SERVICE_ACCOUNTS, "default")
        await asyncio.sleep(1)
        assert await cluster.get(SERVICE_ACCOUNTS, "default")

    tell(story)


def test_a_namespace_that_ends_gets_no_account_again() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(CORE_NAMESPACES, {"metadata": {"name": "shop"}})
        await asyncio.sleep(1)
        await cluster.delete(CORE_NAMESPACES, "shop")
        await asyncio.sleep(5)
        assert "shop" not in await cluster.names(CORE_NAMESPACES)
        assert all(a["metadata"]["namespace"] != "shop" for a in await cluster.objects(SERVICE_ACCOUNTS))

    tell(story)
