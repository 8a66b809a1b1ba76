"""Meanings of kinds of other projects where we go beyond the scripts that Karmada brings, and what is no number."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from leeward.core.interpreter import dependencies_of, health_of
from leeward.core.interpreter.rules import InterpretationError
from leeward.core.interpreter.thirdparty.aggregation import count, number, observed_generation

WORKFLOW: Manifest = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Workflow",
    "metadata": {"name": "build", "namespace": "ci"},
}


def reads(name: str) -> dict[str, Any]:
    return {"envFrom": [{"configMapRef": {"name": name}}]}


@pytest.mark.parametrize(
    ("template", "named"),
    [
        ({"container": reads("a")}, [("ConfigMap", "a")]),
        ({"script": reads("a")}, [("ConfigMap", "a")]),
        ({"sidecars": [reads("a"), reads("b")]}, [("ConfigMap", "a"), ("ConfigMap", "b")]),
        ({"containerSet": {"containers": [reads("a")]}}, [("ConfigMap", "a")]),
        ({"initContainers": [reads("a")]}, [("ConfigMap", "a")]),
        ({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}, [("Secret", "s")]),
        ({"serviceAccountName": "runner"}, [("ServiceAccount", "runner")]),
        ({"suspend": {}}, []),
    ],
)
def test_each_step_of_a_workflow_takes_along_what_its_pod_reads(
    template: dict[str, Any], named: list[tuple[str, str]]
) -> None:
    """Karmada leaves them out, so that these steps fail in the cluster that takes over."""
    found = dependencies_of({**WORKFLOW, "spec": {"templates": [template, {"name": "other"}]}})
    assert [(each.kind, each.name) for each in found] == named
    assert {each.namespace for each in found} <= {"ci"}


@pytest.mark.parametrize(
    ("value", "expected"), [(3, 3), (2.5, 2.5), ("4", 4), ("4.0", 4), ("2.5", 2.5), (-1, -1), ("-2147483648", -(2**31))]
)
def test_numbers_are_read_from_texts_too(value: object, expected: float) -> None:
    assert number(value) == expected
    assert count(value) == int(expected)


@pytest.mark.parametrize("value", [True, False, None, "many", "nan", [], {}])
def test_what_is_no_number_is_told(value: object) -> None:
    with pytest.raises(InterpretationError, match="is no number"):
        number(value)


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, "3000000000"])
def test_no_number_of_replicas_is_larger_than_kubernetes_takes(value: object) -> None:
    with pytest.raises(InterpretationError, match="is no number of 32 bits"):
        count(value)
    assert count(2**31 - 1) == 2**31 - 1


def test_a_template_without_metadata_has_no_generation_to_observe() -> None:
    with pytest.raises(InterpretationError, match=r"^metadata is missing$"):
        observed_generation({"status": {}}, [])


@pytest.mark.parametrize(
    ("state", "health"),
    [
        ({"running": {}}, "Healthy"),
        ({"waiting": {"reason": "ContainerCreating"}}, "Healthy"),
        ({"waiting": {"reason": "CreateContainerConfigError"}}, "Unhealthy"),
        ({"waiting": {}}, "Unhealthy"),
        ({"terminated": {"reason": "Completed", "exitCode": 0}}, "Healthy"),
        ({"terminated": {"exitCode": 0}}, "Healthy"),
        ({"terminated": {"reason": "Completed", "exitCode": 1}}, "Unhealthy"),
        ({"terminated": {"reason": "OOMKilled"}}, "Unhealthy"),
        ({}, "Unhealthy"),
    ],
)
def test_a_notebook_is_as_healthy_as_its_container(state: dict[str, Any], health: str) -> None:
    """The script of Karmada 1.16 for Notebook: a container that waits for anything but its making is not healthy."""
    notebook = {"apiVersion": "kubeflow.org/v1", "kind": "Notebook", "metadata": {"name": "n"}}
    assert health_of({**notebook, "status": {"containerState": state}}) == health


@pytest.mark.parametrize(
    ("counts", "health"),
    [
        ({"updatedReplicas": 2, "availableReplicas": 2}, "Healthy"),
        ({"updatedReplicas": 2, "availableReplicas": 1}, "Unhealthy"),
        ({"updatedReplicas": 1}, "Unhealthy"),
        ({"updatedReplicas": 2}, "Unknown"),
        ({"availableReplicas": 2}, "Unknown"),
    ],
)
def test_health_that_a_status_does_not_tell_is_unknown(counts: dict[str, int], health: str) -> None:
    """The scripts of Karmada 1.16 for kinds of OpenKruise compare counts, and fail where one is missing."""
    united = {
        "apiVersion": "apps.kruise.io/v1alpha1",
        "kind": "UnitedDeployment",
        "metadata": {"name": "u", "generation": 1},
        "spec": {"replicas": 2},
        "status": {"observedGeneration": 1, **counts},
    }
    assert health_of(united) == health


def test_a_ray_service_takes_along_what_its_workers_need_whatever_its_head_lacks() -> None:
    """The script of Karmada 1.16 for RayService passes over a head without a spec of a pod."""
    templates: list[dict[str, Any]] = [{}, {"spec": {}}, {"metadata": {"labels": {"a": "b"}}}]
    for head in ({"template": template} for template in templates):
        workers = [{"template": {"spec": {"containers": [reads("a")]}}}]
        config = {"headGroupSpec": head, "workerGroupSpecs": workers}
        service = {"apiVersion": "ray.io/v1", "kind": "RayService", "metadata": {"name": "r", "namespace": "ml"}}
        found = dependencies_of({**service, "spec": {"rayClusterConfig": config}})
        assert [(each.kind, each.name) for each in found] == [("ConfigMap", "a")]
