"""Meanings of kinds of other projects where we go beyond the scripts that Karmada brings, and what is no number."""

from typing import Any

import pytest

from kubeapi.meta import Manifest
from leeward.core.interpreter import dependencies_of
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
