"""Requests of a template with several pod templates: components behind their gate, replicas or nothing otherwise."""

from typing import Any

import pytest

from kubeapi.codec import from_wire
from leeward.api.policy import PropagationPolicy
from leeward.core.interpreter import components_of, health_of, replica_interpretation
from leeward.core.interpreter.rules import InterpretationError
from leeward.core.propagation.binding import build_binding

POLICY = from_wire(
    {
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"resourceSelectors": [{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob"}], "placement": {}},
    },
    PropagationPolicy,
)
FLINK = ("flink.apache.org/v1beta1", "FlinkDeployment")
SPARK = ("sparkoperator.k8s.io/v1beta2", "SparkApplication")
POD = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "500m"}}}]}}
JOB = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "train", "namespace": "default"},
    "spec": {
        "pytorchReplicaSpecs": {"Master": {"replicas": 1, "template": POD}, "Worker": {"replicas": 3, "template": POD}}
    },
}


def test_components_are_named_behind_their_gate() -> None:
    found = replica_interpretation(JOB, multiple_pod_templates=True)
    assert [(each.name, each.replicas) for each in found.components] == [("master", 1), ("worker", 3)]
    assert found.replicas == 0


def test_without_the_gate_there_are_none() -> None:
    assert replica_interpretation(JOB).components == ()


def test_a_binding_carries_them() -> None:
    spec = build_binding(JOB, POLICY, interpretation=replica_interpretation(JOB, True))["spec"]
    request = {"resourceRequest": {"cpu": "500m"}}
    assert spec["components"] == [
        {"name": "master", "replicas": 1, "replicaRequirements": request},
        {"name": "worker", "replicas": 3, "replicaRequirements": request},
    ]


def test_a_template_that_is_no_pod_template_is_refused_by_name() -> None:
    broken = {**JOB, "spec": {"pytorchReplicaSpecs": {"Master": {"template": {"spec": {"containers": "none"}}}}}}
    with pytest.raises(InterpretationError, match=r"template\.spec\.containers must be a list"):
        replica_interpretation(broken, multiple_pod_templates=True)


def test_what_cannot_be_understood_is_neither_healthy_nor_ill() -> None:
    assert health_of({"apiVersion": "apps.kruise.io/v1alpha1", "kind": "CloneSet", "metadata": {}}) == "Unknown"


def test_components_of_other_projects_ask_as_kubernetes_writes_it() -> None:
    size = {"resource": {"cpu": 0.05, "memory": "2048m"}}
    flink = {"jobManager": size, "taskManager": {"resource": {"cpu": "0.5", "memory": "1Gi"}}}
    spark = {"driver": {"cores": 0.1, "gpu": {"name": "example.com/gpu", "quantity": 2}}, "executor": {"cores": 1.0}}
    found = [_asked(*FLINK, flink, "cpu"), _asked(*SPARK, spark, "cpu"), _asked(*SPARK, spark, "example.com/gpu")]
    assert found == [["50m", "500m"], ["100m", "1"], ["2", None]]


def _asked(api_version: str, kind: str, spec: Any, name: str) -> list[Any]:
    parts = components_of({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": spec})
    assert parts is not None
    needs = [each.replica_requirements for each in parts]
    return [each.resource_request.get(name) if each is not None else None for each in needs]
