"""Features that a binding has already although their gate is off: they stay, and the binding says so.

A gate that is switched off, or was on in the Karmada that was here before, takes nothing from running applications.
Without its components a workload would be divided anew by replicas that it did not have. Without its groups the next
placement of others would go by other rules. Dependencies stay where they are, and follow no copy to another cluster.
New bindings are made without these features.

Karmada: differs. The binding is written without them.
"""

from collections.abc import Iterable
from enum import Enum

from leeward.api.meta import Condition
from leeward.api.names import FEATURE_HELD_CONDITION
from leeward.api.work import ResourceBindingSpec


class HeldFeature(Enum):
    """A feature gate, by its name."""

    COMPONENTS = "MultiplePodTemplatesScheduling"
    GROUPS = "WorkloadAffinity"
    DEPENDENCIES = "PropagateDeps"


def features_of(spec: ResourceBindingSpec) -> frozenset[HeldFeature]:
    """The features that the binding has by its own fields."""
    found = {
        HeldFeature.COMPONENTS: spec.components,
        HeldFeature.GROUPS: spec.workload_affinity_groups,
        HeldFeature.DEPENDENCIES: spec.propagate_deps,
    }
    return frozenset(feature for feature, value in found.items() if value)


def held_condition(held: Iterable[HeldFeature]) -> Condition | None:
    """Condition of a binding that keeps these although their gates are off; None where there are none."""
    gates = sorted(feature.value for feature in held)
    if not gates:
        return None
    switched = ",".join(f"{gate}=true" for gate in gates)
    message = f"it keeps what it has by {', '.join(gates)}, which is off: run with --feature-gates={switched}"
    return Condition(FEATURE_HELD_CONDITION, "True", "GateIsOff", message)
