"""The names that Karmada would give."""

from collections.abc import Callable

import pytest

from leeward.api.names import binding_name, cluster_of_execution_space, execution_space, safe_hash, work_name
from tests.oracle import Case, load, replay


def reference_key(namespace: str, name: str) -> str:
    return safe_hash(f"{namespace}/{name}" if namespace else name)


NAMES: dict[str, Callable[..., str]] = {
    "GenerateBindingName(kind,name)": binding_name,
    "GenerateWorkName(kind,name,namespace)": work_name,
    "GenerateExecutionSpaceName(cluster)": execution_space,
    "GenerateBindingReferenceKey(namespace,name)": reference_key,
}


@pytest.mark.parametrize("call", NAMES)
def test_names_are_those_of_karmada(call: str) -> None:
    arguments = call[call.index("(") + 1 : -1].split(",")

    def answer(case: Case) -> object:
        return NAMES[call](*(case.given[argument] for argument in arguments))

    replay(load("names"), answer, lambda case: case.expected[call], at_least=400)


def test_an_execution_space_names_its_cluster() -> None:
    def answer(case: Case) -> object:
        try:
            return cluster_of_execution_space(case.given["executionSpace"])
        except ValueError:
            return ""

    replay(load("names"), answer, lambda case: case.expected["GetClusterName(executionSpace)"]["cluster"], at_least=400)
