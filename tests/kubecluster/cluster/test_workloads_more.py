"""ReplicationControllers, load balancers and autoscalers in a whole cluster on virtual time."""

import asyncio
from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubecluster import WorkloadSettings
from kubecluster.kinds import AUTOSCALERS, DEPLOYMENTS, INGRESSES, PODS, REPLICATION_CONTROLLERS, SERVICES
from kubecluster.rules.load_balancer import load_balancer_range
from kubecluster.rules.usage import CPU_ANNOTATION, MEMORY_ANNOTATION
from tests.kubecluster.cluster.simulated_cluster import Cluster, condition, pod_template, tell, workload
from tests.kubecluster.cluster.test_workloads_references import told


def test_a_replication_controller_has_pods() -> None:
    async def story(cluster: Cluster) -> None:
        spec = {"replicas": 2, "selector": {"app": "web"}, "template": pod_template()}
        await cluster.create(REPLICATION_CONTROLLERS, {"metadata": {"name": "web"}, "spec": spec})
        await asyncio.sleep(5)
        status = await cluster.status(REPLICATION_CONTROLLERS, "web")
        counts = {key: status[key] for key in ("replicas", "readyReplicas", "availableReplicas")}
        assert counts == {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2}
        [pod, _] = await cluster.objects(PODS)
        assert pod["metadata"]["ownerReferences"][0]["kind"] == "ReplicationController"
        await cluster.patch(REPLICATION_CONTROLLERS, "web", {"spec": {"replicas": 1}})
        await asyncio.sleep(5)
        assert await cluster.ready_pods() == 1

    tell(story)


def service(name: str, kind: str = "LoadBalancer") -> Manifest:
    return {"metadata": {"name": name}, "spec": {"type": kind, "ports": [{"port": 80}]}}


async def addresses(cluster: Cluster) -> dict[str, list[Any]]:
    found = [*await cluster.objects(SERVICES), *await cluster.objects(INGRESSES)]
    return {o["metadata"]["name"]: o["status"]["loadBalancer"].get("ingress", []) for o in found}


def test_load_balancers_have_addresses_of_the_range_as_long_as_they_are_ones() -> None:
    async def story(cluster: Cluster) -> None:
        for name, kind in (("a", "LoadBalancer"), ("b", "ClusterIP"), ("c", "LoadBalancer")):
            await cluster.create(SERVICES, service(name, kind))
            await asyncio.sleep(1)
        only = [{"ip": "172.30.9.2", "ipMode": "VIP"}]
        assert await addresses(cluster) == {"a": only, "b": [], "c": []}
        why = "Error syncing load balancer: 172.30.9.0/30: no free address"
        assert await told(cluster, "SyncLoadBalancerFailed") == [("Service", why)]

        await cluster.patch(SERVICES, "a", {"spec": {"type": "ClusterIP"}})
        await asyncio.sleep(90)
        assert await addresses(cluster) == {"a": [], "b": [], "c": only}

    tell(story, WorkloadSettings(load_balancer_cidr="172.30.9.0/30"))


def test_all_ingresses_have_the_address_of_their_controller() -> None:
    async def story(cluster: Cluster) -> None:
        backend = {"service": {"name": "web", "port": {"number": 80}}}
        for name in ("one", "two"):
            await cluster.create(INGRESSES, {"metadata": {"name": name}, "spec": {"defaultBackend": backend}})
        await asyncio.sleep(1)
        assert await addresses(cluster) == {"one": [{"ip": "172.24.0.1"}], "two": [{"ip": "172.24.0.1"}]}

    tell(story)


def test_an_address_that_somebody_else_gave_stays() -> None:
    async def story(cluster: Cluster) -> None:
        backend = {"service": {"name": "web", "port": {"number": 80}}}
        await cluster.create(INGRESSES, {"metadata": {"name": "one"}, "spec": {"defaultBackend": backend}})
        await asyncio.sleep(1)
        given = {"loadBalancer": {"ingress": [{"ip": "172.19.2.6"}]}}
        await cluster.client.patch(INGRESSES, "one", {"status": given}, "default", subresource="status")
        await asyncio.sleep(60)
        assert await addresses(cluster) == {"one": [{"ip": "172.19.2.6"}]}

    tell(story)


def test_a_cluster_without_load_balancers_gives_no_addresses() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(SERVICES, service("a"))
        await asyncio.sleep(60)
        assert await addresses(cluster) == {"a": []}

    tell(story, WorkloadSettings(load_balancers=False))


def test_each_cluster_has_a_range_of_its_own() -> None:
    names = [f"member{index}" for index in range(1, 10)]
    assert len({load_balancer_range(name) for name in names}) == len(names)
    assert load_balancer_range("member1") == load_balancer_range("member1")
    with pytest.raises(ValueError, match="load_balancer_cidr: "):
        WorkloadSettings(load_balancer_cidr="everywhere")


def autoscaler(most: int = 10, **spec: Any) -> Manifest:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    metric = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
    }
    wanted = {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": most, "metrics": [metric], **spec}
    return {"metadata": {"name": "web"}, "spec": wanted}


async def set_load(cluster: Cluster, **load: str | None) -> None:
    names = {"cpu": CPU_ANNOTATION, "memory": MEMORY_ANNOTATION}
    annotations = {names[key]: value for key, value in load.items()}
    await cluster.patch(DEPLOYMENTS, "web", {"metadata": {"annotations": annotations}})


async def replicas(cluster: Cluster) -> int:
    return (await cluster.get(DEPLOYMENTS, "web"))["spec"]["replicas"]


def test_an_autoscaler_follows_the_load_up_at_once_and_down_after_five_minutes() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=2))
        await cluster.create(AUTOSCALERS, autoscaler())
        await asyncio.sleep(60)
        assert await replicas(cluster) == 2

        await set_load(cluster, cpu="300m")
        await asyncio.sleep(60)
        assert await replicas(cluster) == 6
        assert await cluster.ready_pods() == 6
        status = await cluster.status(AUTOSCALERS, "web")
        [metric] = status["currentMetrics"]
        assert metric["resource"]["current"] == {"averageUtilization": 50, "averageValue": "50m"}
        assert (status["currentReplicas"], status["desiredReplicas"]) == (6, 6)
        assert condition(status, "ScalingActive") == ("True", "ValidMetricFound")

        revision = cluster.store.revision
        await set_load(cluster, cpu="310m")
        await asyncio.sleep(600)
        assert await replicas(cluster) == 6
        assert cluster.store.revision - revision <= 4

        await set_load(cluster, cpu="100m")
        await asyncio.sleep(240)
        assert await replicas(cluster) == 6
        await asyncio.sleep(90)
        assert await replicas(cluster) == 2
        assert len(await told(cluster, "SuccessfulRescale")) == 3

    tell(story)


def test_an_autoscaler_keeps_to_its_bounds_and_says_so() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=1))
        await cluster.create(AUTOSCALERS, autoscaler(most=3))
        await asyncio.sleep(30)
        assert await replicas(cluster) == 2
        await set_load(cluster, cpu="5")
        await asyncio.sleep(60)
        assert await replicas(cluster) == 3
        assert condition(await cluster.status(AUTOSCALERS, "web"), "ScalingLimited") == ("True", "TooManyReplicas")

    tell(story)


def test_an_autoscaler_takes_the_greatest_of_its_metrics() -> None:
    async def story(cluster: Cluster) -> None:
        memory = {"name": "memory", "target": {"type": "AverageValue", "averageValue": "64Mi"}}
        metrics = [*autoscaler()["spec"]["metrics"], {"type": "Resource", "resource": memory}]
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=2))
        await set_load(cluster, cpu="100m", memory="256Mi")
        await cluster.create(AUTOSCALERS, autoscaler(metrics=metrics))
        await asyncio.sleep(60)
        assert await replicas(cluster) == 4

    tell(story)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ({"type": "Pods", "pods": {"metric": {"name": "qps"}, "target": {"type": "AverageValue", "averageValue": "1"}}},
         "unable to get metrics of type Pods"),
        ({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 5}}},
         "missing request for cpu"),
    ],
)  # fmt: skip
def test_an_autoscaler_without_its_metric_changes_nothing_and_says_why(metric: Manifest, message: str) -> None:
    async def story(cluster: Cluster) -> None:
        template = pod_template()
        template["spec"]["containers"][0].pop("resources")
        await cluster.create(DEPLOYMENTS, workload("Deployment", template, replicas=3))
        await set_load(cluster, cpu="5")
        await cluster.create(AUTOSCALERS, autoscaler(metrics=[metric]))
        await asyncio.sleep(60)
        assert await replicas(cluster) == 3
        status = await cluster.status(AUTOSCALERS, "web")
        assert condition(status, "ScalingActive") == ("False", "FailedGetResourceMetric")
        assert message in next(c["message"] for c in status["conditions"] if c["type"] == "ScalingActive")

    tell(story)
