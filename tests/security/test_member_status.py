"""Statuses and annotations that a member writes into its objects cost nobody else their status (S10).

The attacker has one member, and writes what no API server would let pass; the other members' reports still add up.
"""

from typing import Any

import pytest

from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter import aggregate_status, retain
from leeward.core.interpreter.workloads import template_generation

POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": []}}
WELL: dict[str, Any] = {"phase": "Running", "containerStatuses": [{"ready": True, "state": {"running": {}}}]}


@pytest.mark.parametrize("field", ["containerStatuses", "initContainerStatuses"])
@pytest.mark.parametrize("item", [3, None, "x", [], True])
def test_a_container_status_that_is_none_hides_no_other(field: str, item: object) -> None:
    items = (
        AggregatedStatusItem(cluster_name="honest", status=WELL),
        AggregatedStatusItem(cluster_name="liar", status={"phase": "Running", field: [item]}),
    )
    status = aggregate_status(POD, items)
    assert status is not None
    assert status["status"]["containerStatuses"] == [{"ready": True, "state": {"running": {}}}]


@pytest.mark.parametrize("text", ["9" * 5_000, "9" * 20, "-1", "1e9", "٣" * 30])
def test_a_generation_that_is_no_int64_is_none(text: str) -> None:
    marked = {"metadata": {"annotations": {"resourcetemplate.karmada.io/generation": text}}}
    assert template_generation(marked) == 0


@pytest.mark.parametrize("containers", [["x"], [None], "x", {"a": 1}])
def test_containers_that_are_none_are_not_asked_for_their_mounts(containers: object) -> None:
    observed = {**POD, "spec": {"containers": containers}}
    assert retain(dict(POD), observed)["kind"] == "Pod"
