"""The column TARGETS of autoscalers."""

from typing import Any

import pytest

from kubeserver.kinds.autoscaler_targets import targets


def resource(name: str, **target: Any) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": name, "target": target}}


def now(name: str, **current: Any) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": name, "current": current}}


CPU, MEMORY = resource("cpu", averageUtilization=80), resource("memory", averageValue="1Gi")
EXTERNAL = {"type": "External", "external": {"metric": {"name": "q"}, "target": {"averageValue": "30"}}}


@pytest.mark.parametrize(
    ("spec", "status", "shown"),
    [
        ({}, {}, "<none>"),
        ({"metrics": [CPU]}, {}, "cpu: <unknown>/80%"),
        ({"metrics": [CPU]}, {"currentMetrics": [now("cpu", averageUtilization=40)]}, "cpu: 40%/80%"),
        ({"metrics": [MEMORY]}, {"currentMetrics": [now("memory", averageValue="1M")]}, "memory: 1M/1Gi"),
        ({"metrics": [EXTERNAL]}, {}, "<unknown>/30 (avg)"),
        ({"metrics": [{"type": "Pods", "pods": {"target": {"averageValue": "5"}}}]}, {}, "<unknown>/5"),
        ({"metrics": [CPU, MEMORY, CPU]}, {}, "cpu: <unknown>/80%, memory: <unknown>/1Gi + 1 more..."),
        ({"targetCPUUtilizationPercentage": 50}, {"currentCPUUtilizationPercentage": 10}, "cpu: 10%/50%"),
        ({"metrics": [{"type": "Odd"}]}, {}, "<unknown type>"),
    ],
)
def test_each_metric_is_shown_with_its_target(spec: dict[str, Any], status: dict[str, Any], shown: str):
    assert targets({"spec": spec, "status": status}) == shown
