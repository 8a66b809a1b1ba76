"""Usage: what the replicas of a binding ask for, in all clusters to which they are assigned.

What leaves a cluster gracefully is not counted twice: it is no target any more, and its replacement is one. Where it is
taken back it was used before: it runs (Holds: S18).

Karmada: pkg/util/helper (`CalculateResourceUsage`); same, but for what is taken back, which it does not do.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal

from kubeapi.quantity import Quantity
from leeward.api.work import ComponentReplicaRequirements, ResourceBindingSpec, TargetCluster
from leeward.core.amounts import MOST, Amount, Amounts, Doubts, read_amounts, sum_amounts


def usage_of(spec: ResourceBindingSpec, *, multiple_pod_templates: bool = False) -> Amounts:
    """`multiple_pod_templates` is the gate of that name (...Scheduling): each target has one set of all components."""
    return usage_in(spec, spec.clusters, multiple_pod_templates=multiple_pod_templates)


def usage_before(
    old: ResourceBindingSpec, new: ResourceBindingSpec, *, multiple_pod_templates: bool = False
) -> Amounts:
    """Usage of a binding before it becomes `new`: in its targets, and of the copies that are evicted no more then."""
    used, wanted = ({target.name: target.replicas for target in spec.clusters} for spec in (old, new))
    evicted = {task.from_cluster for task in new.graceful_eviction_tasks}
    for task in old.graceful_eviction_tasks:
        name = task.from_cluster
        if name in wanted and name not in evicted:
            more = wanted[name] - used.get(name, 0)
            used[name] = used.get(name, 0) + max(0, min(task.replicas or 0, more))
    targets = [TargetCluster(name, replicas) for name, replicas in used.items()]
    return usage_in(old, targets, multiple_pod_templates=multiple_pod_templates)


def usage_in(
    spec: ResourceBindingSpec, clusters: Iterable[TargetCluster], *, multiple_pod_templates: bool = False
) -> Amounts:
    """Usage of the binding if it were assigned to these clusters."""
    targets = list(clusters)
    if multiple_pod_templates and spec.components:
        parts = (times(part.replica_requirements, part.replicas * len(targets)) for part in spec.components)
        return sum_amounts(parts)
    return times(spec.replica_requirements, sum(target.replicas for target in targets))


def growth(before: Amounts, after: Amounts) -> Mapping[str, Decimal]:
    """Growth of each resource; negative for what is less, and nothing for what stays."""
    names = {**before, **after}
    changes = {name: _value(after, name) - _value(before, name) for name in names}
    return {name: change for name, change in changes.items() if change}


def plus(amounts: Amounts, changes: Mapping[str, Decimal], like: Amounts) -> Amounts:
    """`amounts` with the changes, and none below 0; a resource that is new is written as it is in `like`."""
    result = dict(amounts)
    for name, change in changes.items():
        written = amounts.get(name) or like.get(name)
        value = max(Decimal(0), min(_value(amounts, name) + change, MOST))
        result[name] = Amount(value, written is not None and written.binary)
    return result


def amounts_of(quantities: Mapping[str, Quantity]) -> Amounts:
    """Amounts as they are written, with what is absurd in it cut down."""
    return read_amounts(quantities, "", Doubts())


def times(requirements: ComponentReplicaRequirements | None, replicas: int) -> Amounts:
    """Amounts that so many replicas ask for."""
    if requirements is None or replicas <= 0:
        return {}
    asked = amounts_of(requirements.resource_request)
    return {
        name: Amount(min(value * replicas, MOST), is_binary) for name, (value, is_binary) in asked.items() if value > 0
    }


def _value(amounts: Amounts, name: str) -> Decimal:
    amount = amounts.get(name)
    return amount.value if amount is not None else Decimal(0)
