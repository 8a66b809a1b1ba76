"""Built-in kinds: what the server adds to them, what it refuses, and how it prints ages."""

import json
from pathlib import Path
from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeserver.kinds.columns import duration
from kubeserver.names import dns_1035_label, dns_label, dns_subdomain, label_value, qualified_name
from tests.kubeserver.api_world import DEPLOYMENTS, PODS, ApiWorld, deployment, pod, tell

DATA = Path(__file__).parents[1] / "data"
SERVICES = "/api/v1/namespaces/default/services"
SECRETS = "/api/v1/namespaces/default/secrets"


def _service(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


def test_a_deployment_is_completed_as_a_kube_apiserver_does_it():
    recorded = json.loads((DATA / "recorded-deployment.json").read_text())

    async def story(world: ApiWorld) -> None:
        requests = {"cpu": "100m", "memory": "64Mi"}
        template = {
            "metadata": {"labels": {"app": "nginx"}},
            "spec": {"containers": [{"name": "nginx", "image": "nginx", "resources": {"requests": requests}}]},
        }
        spec = {"replicas": 3, "selector": {"matchLabels": {"app": "nginx"}}, "template": template}
        stored = (await world.create(DEPLOYMENTS, {"metadata": {"name": "nginx"}, "spec": spec})).body
        assert stored["spec"] == recorded["spec"]

    tell(story)


def test_a_pod_is_completed_and_its_quantities_are_canonical():
    async def story(world: ApiWorld) -> None:
        resources = {"limits": {"cpu": "1000m", "memory": "1024Mi"}}
        container = {"name": "main", "image": "image", "resources": resources}
        stored = (await world.create(PODS, pod("a", containers=[container]))).body
        assert stored["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
        assert stored["spec"]["containers"][0]["imagePullPolicy"] == "Always"
        assert stored["status"] == {"phase": "Pending", "qosClass": "Guaranteed"}

    tell(story)


def test_each_service_gets_an_address_and_gives_it_back():
    async def story(world: ApiWorld) -> None:
        first = (await world.create(SERVICES, _service("a"))).body["spec"]
        second = (await world.create(SERVICES, _service("b"))).body["spec"]
        assert (first["clusterIP"], second["clusterIP"]) == ("10.96.0.1", "10.96.0.2")
        taken = await world.create(SERVICES, _service("c", clusterIP="10.96.0.1"))
        assert (taken.code, "already allocated" in taken.body["message"]) == (422, True)
        await world.delete(f"{SERVICES}/a")
        assert (await world.create(SERVICES, _service("c", clusterIP="10.96.0.1"))).code == 201

    tell(story)


def test_a_refused_or_dry_service_takes_no_address():
    async def story(world: ApiWorld) -> None:
        await world.create(SERVICES, _service("bad", type="Odd"))
        await world.create(SERVICES, _service("dry", clusterIP="10.96.7.7"), dryRun="All")
        assert (await world.create(SERVICES, _service("b", clusterIP="10.96.7.7"))).code == 201

    tell(story)


def test_headless_and_external_services_have_no_address():
    async def story(world: ApiWorld) -> None:
        assert (await world.create(SERVICES, _service("a", clusterIP="None"))).body["spec"]["clusterIPs"] == ["None"]
        named = await world.create(SERVICES, _service("b", type="ExternalName", externalName="x.example.com"))
        assert "clusterIP" not in named.body["spec"]

    tell(story)


def test_an_updated_service_keeps_its_address():
    async def story(world: ApiWorld) -> None:
        address = (await world.create(SERVICES, _service("a"))).body["spec"]["clusterIP"]
        assert (await world.update(f"{SERVICES}/a", _service("a", selector={"x": "y"}))).body["spec"][
            "clusterIP"
        ] == address
        moved = await world.patch(f"{SERVICES}/a", {"spec": {"clusterIP": "10.96.9.9", "clusterIPs": ["10.96.9.9"]}})
        assert (moved.code, "may not change once set" in moved.body["message"]) == (422, True)

    tell(story)


def test_string_data_becomes_data():
    async def story(world: ApiWorld) -> None:
        secret = {"metadata": {"name": "a"}, "data": {"x": "eA=="}, "stringData": {"y": "text"}}
        stored = (await world.create(SECRETS, secret)).body
        assert (stored["type"], stored["data"]) == ("Opaque", {"x": "eA==", "y": "dGV4dA=="})
        assert "stringData" not in stored
        assert (await world.create(SECRETS, {"metadata": {"name": "b"}, "data": {"x": "***"}})).code == 400

    tell(story)


def test_a_namespace_carries_its_name_as_a_label():
    async def story(world: ApiWorld) -> None:
        stored = (await world.create("/api/v1/namespaces", {"metadata": {"name": "team"}})).body
        assert stored["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}
        assert (stored["spec"], stored["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Active"})

    tell(story)


@pytest.mark.parametrize("kind", ["replicasets", "statefulsets", "daemonsets"])
def test_other_workloads_are_completed_and_checked_too(kind: str):
    async def story(world: ApiWorld) -> None:
        path = f"/apis/apps/v1/namespaces/default/{kind}"
        body: Manifest = deployment("a") | {"kind": {"r": "ReplicaSet", "s": "StatefulSet", "d": "DaemonSet"}[kind[0]]}
        assert (await world.create(path, body)).body["spec"]["template"]["spec"]["restartPolicy"] == "Always"
        body["spec"]["selector"] = {"matchLabels": {"other": "x"}}
        refused = await world.create(path, body | {"metadata": {"name": "b"}})
        assert "`selector` does not match template `labels`" in refused.body["message"]

    tell(story)


def test_a_job_selects_its_own_pods():
    async def story(world: ApiWorld) -> None:
        template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "b"}]}}
        path = "/apis/batch/v1/namespaces/default/jobs"
        stored = (await world.create(path, {"metadata": {"name": "j"}, "spec": {"template": template}})).body
        own = {"batch.kubernetes.io/controller-uid": stored["metadata"]["uid"]}
        assert stored["spec"]["selector"] == {"matchLabels": own}
        assert own.items() <= stored["spec"]["template"]["metadata"]["labels"].items()
        assert (stored["spec"]["completions"], stored["spec"]["backoffLimit"]) == (1, 6)

    tell(story)


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        (dns_subdomain, "a.b-c.9", "A"),
        (dns_subdomain, "x" * 253, "x" * 254),
        (dns_label, "a-1", "a.b"),
        (dns_1035_label, "a1", "1a"),
        (label_value, "", "-a"),
        (qualified_name, "example.com/My.Name", "a b"),
        (qualified_name, "plain", "/x"),
    ],
)
def test_names_follow_their_rules(rule: Any, good: str, bad: str):
    assert rule(good) == []
    assert rule(bad) != []


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (600, "10m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 60, "3h1m"),
        (48 * 3600, "2d"),
        (49 * 3600, "2d1h"),
        (9 * 86400, "9d"),
        (800 * 86400, "2y70d"),
        (-5, "<invalid>"),
    ],
)
def test_durations_grow_coarser(seconds: int, shown: str):
    assert duration(seconds) == shown


def test_an_event_has_two_forms():
    async def story(world: ApiWorld) -> None:
        new, core = "/apis/events.k8s.io/v1/namespaces/default/events", "/api/v1/namespaces/default/events"
        regarding = {"kind": "Pod", "name": "a", "namespace": "default", "apiVersion": "v1"}
        event = {
            "metadata": {"name": "a.1"},
            "regarding": regarding,
            "reason": "Started",
            "note": "it started",
            "type": "Normal",
            "action": "Start",
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "example.com/kubelet",
            "reportingInstance": "node1",
        }
        assert (await world.create(new, event)).body["note"] == "it started"
        shown = (await world.get(f"{core}/a.1")).body
        assert (shown["apiVersion"], shown["involvedObject"], shown["message"]) == ("v1", regarding, "it started")
        assert (await world.get(new, fieldSelector="regarding.name=a")).body["items"][0]["regarding"] == regarding
        assert (await world.get(core, fieldSelector="involvedObject.name=b")).names == []

    tell(story)


def test_an_autoscaler_has_two_versions():
    async def story(world: ApiWorld) -> None:
        first, second = (f"/apis/autoscaling/{v}/namespaces/default/horizontalpodautoscalers" for v in ("v1", "v2"))
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        spec = {"scaleTargetRef": target, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50}
        assert (await world.create(first, {"metadata": {"name": "a"}, "spec": spec})).code == 201
        (metric,) = (await world.get(f"{second}/a")).body["spec"]["metrics"]
        assert metric["resource"]["target"]["averageUtilization"] == 50
        assert (await world.get(f"{first}/a")).body["spec"]["targetCPUUtilizationPercentage"] == 50

    tell(story)
