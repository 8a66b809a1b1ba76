"""Settled Works: those of which nothing is left to say, and what makes one be looked at with the others."""

from typing import Any

import pytest
from msgspec.structs import replace

from kubeapi.codec import from_wire
from leeward.api.names import REFLECTED_CONDITION
from leeward.api.work import ResourceBinding, Work
from leeward.core.execution.settled import is_carried_out, is_reported
from leeward.core.placement.concern import is_propagated
from tests.builders import at, work

WELL = work("member1", 2)


def without(condition_type: str) -> Work:
    conditions = tuple(each for each in WELL.status.conditions if each.type != condition_type)
    return replace(WELL, status=replace(WELL.status, conditions=conditions))


@pytest.mark.parametrize(
    ("found", "carried_out", "reported"),
    [
        (WELL, True, True),
        (work("member1", None), True, False),
        (work("member1", 2, carried=0), True, False),
        (work("member1", 2, applied=0), False, False),
        (without("Applied"), False, False),
        (without(REFLECTED_CONDITION), True, False),
        (replace(WELL, status=replace(WELL.status, manifest_statuses=())), True, False),
        (replace(WELL, metadata=replace(WELL.metadata, generation=2)), False, False),
        (replace(WELL, metadata=replace(WELL.metadata, deletion_timestamp=at(0))), False, False),
        (replace(WELL, spec=replace(WELL.spec, suspend_dispatching=True)), False, False),
    ],
)
def test_a_work_is_settled_as_far_as_it_says_so_of_its_present_generation(
    found: Work, carried_out: bool, reported: bool
) -> None:
    assert (is_carried_out(found), is_reported(found)) == (carried_out, reported)


def spread(status: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None, **spec: Any) -> bool:
    applied = {"type": "FullyApplied", "status": "True", "reason": "R", "observedGeneration": 3}
    wire = {
        "metadata": {"name": "web-deployment", "namespace": "default", "generation": 3, **(metadata or {})},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "clusters": [{"name": "m1"}],
            **spec,
        },
        "status": {"schedulerObservedGeneration": 3, "conditions": [applied], **(status or {})},
    }
    return is_propagated(from_wire(wire, ResourceBinding))


def test_a_binding_is_propagated_when_it_rests_and_its_works_are_applied_as_its_present_generation_asks() -> None:
    said = {"type": "FullyApplied", "status": "True", "reason": "R", "observedGeneration": 2}
    assert spread()
    assert not spread({"conditions": [said]})
    assert not spread({"conditions": [{**said, "status": "False", "observedGeneration": 3}]})
    assert not spread({"conditions": []})
    assert not spread({"schedulerObservedGeneration": 2})
    assert not spread(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    assert not spread(clusters=[])
    assert not spread(gracefulEvictionTasks=[{"fromCluster": "m2", "reason": "TaintUntolerated", "producer": "P"}])
