"""Rules of FederatedResourceQuota. Karmada: pkg/webhook/federatedresourcequota; which names and amounts a quota may
have is Kubernetes' own rule for ResourceQuota.
"""

from collections import defaultdict
from decimal import Decimal

from kubeapi.field import Node, Problems
from leeward.api.rules.texts import cluster_name_fault, qualified_name_fault

_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_COUNTED = frozenset(
    {
        "pods",
        "services",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_SUMMED = {f"{prefix}{name}" for prefix in ("", "requests.", "limits.") for name in _COMPUTE}
_LIMITABLE = _COUNTED | _SUMMED | {"requests.storage"}


def quota_problems(quota: Node) -> Problems:
    spec, status, name = quota["spec"], quota["status"], quota["metadata"]["name"]
    if len(name.text) > 63:
        yield name.invalid("must be no more than 63 characters")
    yield from _amounts_problems(spec["overall"])
    yield from _assignments_problems(spec)
    yield from _amounts_problems(status["overall"])
    yield from _amounts_problems(status["overallUsed"])
    for item in status["aggregatedStatus"].items():
        yield from _amounts_problems(item["hard"])
        yield from _amounts_problems(item["used"])


def _assignments_problems(spec: Node) -> Problems:
    assigned: dict[str, Decimal] = defaultdict(Decimal)
    for assignment in spec["staticAssignments"].items():
        name = assignment["clusterName"]
        if fault := cluster_name_fault(name.text):
            yield name.invalid(fault if name.text else "must not be empty", value=name.text)
        yield from _amounts_problems(assignment["hard"])
        for resource, amount in assignment["hard"].entries():
            if resource not in spec["overall"].mapping:
                yield amount.invalid("must be limited by spec.overall, too", value=resource)
            assigned[resource] += amount.quantity or 0
    for resource, overall in spec["overall"].entries():
        total = overall.quantity
        if total is not None and total < assigned[resource]:
            yield overall.invalid(f"must not be less than what the static assignments add up to: {assigned[resource]}")


def _amounts_problems(amounts: Node) -> Problems:
    for resource, amount in amounts.entries():
        yield from _resource_name_problems(resource, amount)
        value = amount.quantity
        if value is None:
            yield amount.invalid("must be a quantity, such as 500m, 4 or 16Gi")
        elif value < 0:
            yield amount.invalid("must be 0 or more")
        elif resource in _COUNTED and value != value.to_integral_value():
            yield amount.invalid("must be a whole number")


def _resource_name_problems(resource: str, amount: Node) -> Problems:
    if fault := qualified_name_fault(resource):
        yield amount.invalid(f"the resource's name {fault}", value=resource)
    elif "/" not in resource and resource not in _LIMITABLE and "hugepages-" not in resource:
        yield amount.invalid("must be one that a quota can limit, such as cpu or requests.storage", value=resource)
