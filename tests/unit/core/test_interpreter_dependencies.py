"""Objects that a template needs beside it, where Karmada's recorded cases are silent."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from leeward.core.interpreter import dependencies_of
from leeward.core.interpreter.dependencies import pod_dependencies


def names(spec: dict[str, Any], kind: str = "Deployment", version: str = "apps/v1") -> list[str]:
    template: Manifest = {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": spec,
    }
    found = dependencies_of(template)
    assert all(each.namespace == "shop" for each in found), "a template reaches its own namespace only"
    return [f"{each.kind} {each.name}" for each in found]


@pytest.mark.parametrize("source", ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"])
def test_a_volume_names_the_secret_it_is_mounted_with(source: str) -> None:
    pod = {"volumes": [{"name": "data", source: {"secretRef": {"name": "key"}}}]}
    assert names({"template": {"spec": pod}}) == ["Secret key"]


def test_containers_of_all_kinds_are_asked() -> None:
    def reading(name: str) -> list[Any]:
        return [{"name": "c", "envFrom": [{"configMapRef": {"name": name}}]}]

    pod = {"initContainers": reading("a"), "containers": reading("b"), "ephemeralContainers": reading("c")}
    assert names(pod, "Pod", "v1") == ["ConfigMap a", "ConfigMap b", "ConfigMap c"]


def test_a_workflow_is_followed_by_what_its_steps_name() -> None:
    def reading(name: str) -> dict[str, Any]:
        return {"name": "main", "envFrom": [{"configMapRef": {"name": name}}]}

    steps = [
        {"container": reading("a"), "sidecars": [reading("b")], "serviceAccountName": "builder"},
        {"script": reading("c"), "initContainers": [reading("d")], "volumes": [{"secret": {"secretName": "key"}}]},
        {"containerSet": {"containers": [reading("e")]}, "serviceAccountName": "default"},
        {"steps": [[{"template": "a"}]]},
    ]
    spec = {"entrypoint": "a", "templates": steps, "volumes": [{"configMap": {"name": "scripts"}}]}
    named = names(spec, "Workflow", "argoproj.io/v1alpha1")
    configs = [f"ConfigMap {name}" for name in ("a", "b", "c", "d", "e", "scripts")]
    assert named == [*configs, "Secret key", "ServiceAccount builder"]


def test_an_object_that_is_named_often_is_one_dependency() -> None:
    reads = {"env": [{"valueFrom": {"secretKeyRef": {"name": "key"}}}] * 3, "envFrom": [{"secretRef": {"name": "key"}}]}
    pod = {"containers": [reads, reads], "imagePullSecrets": [{"name": "key"}]}
    assert names(pod, "Pod", "v1") == ["Secret key"]


def test_an_ingress_is_followed_by_its_services() -> None:
    def to(name: str) -> dict[str, Any]:
        return {"service": {"name": name, "port": {"number": 80}}}

    spec = {
        "defaultBackend": to("home"),
        "rules": [
            {"host": "a.example", "http": {"paths": [{"path": "/", "backend": to("web")}]}},
            {"http": {"paths": [{"backend": to("web")}, {"backend": {"resource": {"kind": "Bucket", "name": "b"}}}]}},
        ],
        "tls": [{"hosts": ["a.example"]}, {"secretName": "cert"}],
    }
    found = names(spec, "Ingress", "networking.k8s.io/v1")
    assert found == ["Secret cert", "Service home", "Service web"]


def test_claims_that_a_stateful_set_makes_are_not_taken_from_the_control_plane() -> None:
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("data", "shared")]
    spec = {"template": {"spec": {"volumes": volumes}}, "volumeClaimTemplates": [{"metadata": {"name": "data"}}]}
    assert names(spec, "StatefulSet") == ["PersistentVolumeClaim shared"]


@pytest.mark.parametrize("pod", [{"volumes": "none"}, {"containers": [None, {"env": [3]}]}, {"serviceAccountName": 4}])
def test_what_cannot_be_understood_names_nothing(pod: dict[str, Any]) -> None:
    assert pod_dependencies(pod, "shop") == []
