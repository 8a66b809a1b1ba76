"""Many bindings at once: all are decided on one fleet, and none is given what is reserved for another before it.

The order is by priority, then by name, so that the result does not depend on the order in which the bindings came.
For one binding on a fleet without reservations it is what that binding gets alone.
"""

from collections.abc import Callable, Mapping, Set
from typing import Protocol, TypeVar

from leeward.api.work import Binding, TargetCluster
from leeward.core.cluster_health.outage import clusters_of
from leeward.core.placement.concern import is_at_rest
from leeward.planning.fleet import Fleet


class Decided(Protocol):
    """Part of a decision that the planner has to know: where the binding is to be."""

    @property
    def clusters(self) -> tuple[TargetCluster, ...]: ...


AFTER_ALL_PRIORITIES = 2**33
"""More than two priorities can differ by: each is of 32 bits."""
K = TypeVar("K")
D = TypeVar("D", bound=Decided)


def plan(fleet: Fleet, bindings: Mapping[K, Binding], decide: Callable[[K, Binding], D]) -> dict[K, D]:
    """A decision for each binding; what they take from the fleet is reserved for them there."""
    plans: dict[K, D] = {}
    for key, binding in sorted(bindings.items(), key=lambda item: urgency(item[1])):
        owner = owner_of(binding)
        fleet.release(owner, unless_at=binding.spec.clusters)
        decision = plans[key] = decide(key, binding)
        if decision.clusters != binding.spec.clusters:
            fleet.reserve(owner, binding.spec, decision.clusters)
    return plans


def owner_of(binding: Binding) -> str:
    """The name under which a fleet keeps what is reserved for the binding."""
    return f"{binding.namespace}/{binding.name}"


def priority_of(binding: Binding) -> int:
    schedule_priority = binding.spec.schedule_priority
    return schedule_priority.priority if schedule_priority is not None else 0


def turn_of(binding: Binding, in_outage: Set[str]) -> int:
    """Turn in which it is decided, the lowest first: what rests in clusters that are well comes after all else, as when
    a process begins and looks at everything; among the others, and among these, priority counts."""
    rests = is_at_rest(binding) and in_outage.isdisjoint(clusters_of(binding.spec))
    return AFTER_ALL_PRIORITIES * rests - priority_of(binding)


def urgency(binding: Binding) -> tuple[int, str, str]:
    """Sorts the binding first that is to be placed first."""
    return (-priority_of(binding), binding.namespace, binding.name)
