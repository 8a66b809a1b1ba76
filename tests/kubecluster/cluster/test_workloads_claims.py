"""Claims, their volumes and the Pods that wait for them, in a whole cluster on virtual time."""

import asyncio
from typing import Any

from kubeapi.meta import Manifest
from kubecluster.kinds import CLAIMS, DAEMON_SETS, DEPLOYMENTS, PODS, STATEFUL_SETS, STORAGE_CLASSES, VOLUMES
from tests.kubecluster.cluster.simulated_cluster import Cluster, condition, pod_template, tell, workload
from tests.kubecluster.cluster.test_workloads_references import told


def claim(name: str, storage: str = "1Gi", **spec: Any) -> Manifest:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}, **spec}
    return {"metadata": {"name": name}, "spec": wanted}


def volume(name: str, storage: str, **spec: Any) -> Manifest:
    has = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": storage}, "hostPath": {"path": "/data"}}
    return {"metadata": {"name": name}, "spec": {**has, "storageClassName": "own", **spec}}


def storage_class(name: str, provisioner: str = "leeward.dev/simulated", **fields: str) -> Manifest:
    return {"metadata": {"name": name}, "provisioner": provisioner, **fields}


def mounting(*claims: str) -> Manifest:
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    return pod_template(volumes=volumes)


async def phases(cluster: Cluster) -> dict[str, str]:
    found = [*await cluster.objects(CLAIMS), *await cluster.objects(VOLUMES)]
    return {obj["metadata"]["name"]: obj["status"]["phase"] for obj in found}


def test_a_claim_without_a_class_is_bound_to_a_volume_of_the_default_one() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(CLAIMS, claim("data", "5Gi"))
        await asyncio.sleep(1)
        found = await cluster.get(CLAIMS, "data")
        [made] = await cluster.objects(VOLUMES)
        assert found["spec"]["storageClassName"] == made["spec"]["storageClassName"] == "standard"
        assert found["spec"]["volumeName"] == made["metadata"]["name"]
        assert made["spec"]["claimRef"]["uid"] == found["metadata"]["uid"]
        assert (found["status"]["phase"], made["status"]["phase"]) == ("Bound", "Bound")
        assert found["status"]["capacity"] == {"storage": "5Gi"}
        revision = cluster.store.revision
        await asyncio.sleep(600)
        assert cluster.store.revision == revision

        await cluster.delete(CLAIMS, "data")
        await asyncio.sleep(1)
        assert await cluster.objects(VOLUMES) == []

    tell(story)


def test_a_volume_that_is_to_be_retained_outlives_its_claim() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(STORAGE_CLASSES, storage_class("kept", reclaimPolicy="Retain"))
        await cluster.create(CLAIMS, claim("data", storageClassName="kept"))
        await asyncio.sleep(1)
        await cluster.delete(CLAIMS, "data")
        await asyncio.sleep(1)
        assert list((await phases(cluster)).values()) == ["Released"]
        await cluster.create(CLAIMS, claim("data", storageClassName="kept"))
        await asyncio.sleep(1)
        assert sorted((await phases(cluster)).values()) == ["Bound", "Bound", "Released"]

    tell(story)


def test_a_claim_takes_the_smallest_volume_that_fits() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(CLAIMS, claim("data", "2Gi", storageClassName="own"))
        await asyncio.sleep(1)
        assert await phases(cluster) == {"data": "Pending"}
        why = 'storageclass.storage.k8s.io "own" not found'
        assert await told(cluster, "ProvisioningFailed") == [("PersistentVolumeClaim", why)]

        await cluster.create(VOLUMES, volume("small", "1Gi"))
        await cluster.create(VOLUMES, volume("other", "3Gi", storageClassName="another"))
        await asyncio.sleep(1)
        assert await phases(cluster) == {"data": "Pending", "small": "Available", "other": "Available"}
        for name, storage in (("huge", "1Ti"), ("large", "8Gi")):
            await cluster.create(VOLUMES, volume(name, storage, claimRef={"namespace": "default", "name": "else"}))
        await cluster.create(VOLUMES, volume("fitting", "4Gi"))
        await asyncio.sleep(1)
        found = await phases(cluster)
        assert (found["data"], found["fitting"], found["large"]) == ("Bound", "Bound", "Available")
        assert (await cluster.get(CLAIMS, "data"))["status"]["capacity"] == {"storage": "4Gi"}

        await cluster.delete(VOLUMES, "fitting")
        await asyncio.sleep(1)
        assert (await phases(cluster))["data"] == "Lost"

    tell(story)


def test_a_pod_without_its_claim_is_not_scheduled_until_it_is_bound() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", mounting("data"), replicas=1))
        await asyncio.sleep(5)
        [pod] = await cluster.objects(PODS)
        assert condition(pod["status"], "PodScheduled") == ("False", "Unschedulable")
        why = '0/2 nodes are available: persistentvolumeclaim "data" not found.'
        assert await told(cluster, "FailedScheduling") == [("Pod", why)]

        await cluster.create(CLAIMS, claim("data", storageClassName="foreign"))
        await asyncio.sleep(5)
        [pod] = await cluster.objects(PODS)
        messages = [c["message"] for c in pod["status"]["conditions"] if c["type"] == "PodScheduled"]
        assert messages == ["0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims."]

        await cluster.create(STORAGE_CLASSES, storage_class("foreign", "example.com/disks"))
        await asyncio.sleep(5)
        assert [kind for kind, _ in await told(cluster, "ExternalProvisioning")] == ["PersistentVolumeClaim"]
        await cluster.create(VOLUMES, volume("by-hand", "1Gi", storageClassName="foreign"))
        await asyncio.sleep(5)
        assert await cluster.ready_pods() == 1

    tell(story)


def test_a_claim_may_wait_for_its_first_consumer() -> None:
    async def story(cluster: Cluster) -> None:
        late = storage_class("late", volumeBindingMode="WaitForFirstConsumer")
        await cluster.create(STORAGE_CLASSES, late)
        await cluster.create(CLAIMS, claim("data", storageClassName="late"))
        await asyncio.sleep(5)
        assert await phases(cluster) == {"data": "Pending"}
        await cluster.create(DEPLOYMENTS, workload("Deployment", mounting("data"), replicas=1))
        await asyncio.sleep(5)
        [pod] = await cluster.objects(PODS)
        found = await cluster.get(CLAIMS, "data")
        selected = found["metadata"]["annotations"]["volume.kubernetes.io/selected-node"]
        assert (found["status"]["phase"], selected) == ("Bound", pod["spec"]["nodeName"])
        assert await cluster.ready_pods() == 1

    tell(story)


def test_a_pod_that_skips_the_scheduler_waits_on_its_node_for_its_claim() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DAEMON_SETS, workload("DaemonSet", mounting("data")))
        await asyncio.sleep(5)
        assert await cluster.ready_pods() == 0
        why = 'failed to fetch PVC from API server: persistentvolumeclaims "data" not found'
        message = f"Unable to attach or mount volumes: error processing PVC default/data: {why}"
        assert await told(cluster, "FailedMount") == [("Pod", message), ("Pod", message)]
        await cluster.create(CLAIMS, claim("data"))
        await asyncio.sleep(1)
        assert await cluster.ready_pods() == 2

    tell(story)


def stateful_set(**spec: Any) -> Manifest:
    templates = [claim("data", "2Gi")]
    return workload("StatefulSet", replicas=2, serviceName="web", volumeClaimTemplates=templates, **spec)


def test_each_ordinal_of_a_stateful_set_has_its_own_claim_and_keeps_it() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(STATEFUL_SETS, stateful_set())
        await asyncio.sleep(10)
        assert await cluster.ready_pods() == 2
        before = {c["metadata"]["name"]: c["metadata"]["uid"] for c in await cluster.objects(CLAIMS)}
        assert list(before) == ["data-web-0", "data-web-1"]
        pod = await cluster.get(PODS, "web-1")
        assert pod["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-web-1"}}]
        assert (await cluster.get(CLAIMS, "data-web-1"))["metadata"]["labels"] == {"app": "web"}

        await cluster.patch(STATEFUL_SETS, "web", {"spec": {"replicas": 1}})
        await asyncio.sleep(5)
        assert await cluster.names(CLAIMS) == list(before)
        await cluster.patch(STATEFUL_SETS, "web", {"spec": {"replicas": 2}})
        await asyncio.sleep(10)
        assert await cluster.ready_pods() == 2
        await cluster.delete(STATEFUL_SETS, "web")
        await asyncio.sleep(5)
        assert {c["metadata"]["name"]: c["metadata"]["uid"] for c in await cluster.objects(CLAIMS)} == before

    tell(story)


def test_claims_go_with_their_ordinal_and_with_their_set_where_the_policy_says_so() -> None:
    async def story(cluster: Cluster) -> None:
        policy = {"whenDeleted": "Delete", "whenScaled": "Delete"}
        await cluster.create(STATEFUL_SETS, stateful_set(persistentVolumeClaimRetentionPolicy=policy))
        await cluster.create(CLAIMS, claim("data-web-old-1"))
        await asyncio.sleep(10)
        await cluster.patch(STATEFUL_SETS, "web", {"spec": {"replicas": 1}})
        await asyncio.sleep(5)
        assert await cluster.names(CLAIMS) == ["data-web-0", "data-web-old-1"]
        await cluster.delete(STATEFUL_SETS, "web")
        await asyncio.sleep(5)
        assert await cluster.names(CLAIMS) == ["data-web-old-1"]

    tell(story)
