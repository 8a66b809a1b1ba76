"""Features that a binding has, and what it says where their gates are off."""

from typing import Any

import pytest

from kubeapi.codec import from_wire
from leeward.api.work import ResourceBindingSpec
from leeward.core.propagation.held_features import HeldFeature, features_of, held_condition


@pytest.mark.parametrize(
    ("spec", "features"),
    [
        ({}, set[HeldFeature]()),
        ({"components": [{"name": "a", "replicas": 1}]}, {HeldFeature.COMPONENTS}),
        ({"workloadAffinityGroups": {"affinityGroup": "g"}, "propagateDeps": False}, {HeldFeature.GROUPS}),
        ({"propagateDeps": True}, {HeldFeature.DEPENDENCIES}),
    ],
)
def test_a_binding_has_a_feature_by_what_is_written_in_it(spec: dict[str, Any], features: set[HeldFeature]) -> None:
    resource = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}
    assert features_of(from_wire({"resource": resource, **spec}, ResourceBindingSpec)) == features


def test_the_condition_names_the_gates_in_order_and_the_flag() -> None:
    assert held_condition([]) is None
    condition = held_condition([HeldFeature.GROUPS, HeldFeature.COMPONENTS])
    assert condition is not None
    assert (condition.type, condition.status, condition.reason) == ("leeward.dev/FeatureHeld", "True", "GateIsOff")
    assert condition.message == (
        "it keeps what it has by MultiplePodTemplatesScheduling, WorkloadAffinity, which is off: run with "
        "--feature-gates=MultiplePodTemplatesScheduling=true,WorkloadAffinity=true"
    )
