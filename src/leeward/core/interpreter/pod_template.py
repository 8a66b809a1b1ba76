"""Requirements of one pod. Karmada: pkg/util/lifted (pod requests), helper.GenerateReplicaRequirements; same."""

from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from kubeapi.codec import from_wire
from kubeapi.core import NodeSelector, Toleration
from kubeapi.quantity import Quantity, format_quantity, milli, whole
from kubeapi.unstructured import list_at, mapping_at
from leeward.api.work import NodeClaim, ReplicaRequirements

Amounts = Mapping[str, int]
"""Resources in the unit in which they are counted: cpu in thousandths, all others in whole units."""

_COUNTED = frozenset({"cpu", "memory", "ephemeral-storage"})


def replica_requirements(pod_spec: Mapping[str, Any]) -> ReplicaRequirements | None:
    """None when the pod asks for nothing. Raises: ValueError, DecodeError."""
    request = {name: _format(name, amount) for name, amount in sorted(pod_request(pod_spec).items()) if amount > 0}
    claim = _node_claim(pod_spec)
    if not request and claim is None:
        return None
    return ReplicaRequirements(node_claim=claim, resource_request=request)


def pod_request(pod_spec: Mapping[str, Any]) -> Amounts:
    """The containers together, or the greatest init container, and the overhead."""
    together: Counter[str] = Counter()
    for container in list_at(pod_spec, "containers"):
        together.update(_container_request(container))
    for container in list_at(pod_spec, "initContainers"):
        together |= Counter(_container_request(container))
    together.update(_amounts(mapping_at(pod_spec, "overhead")))
    return together


def _container_request(container: object) -> Amounts:
    """A limit without a request is a request, too."""
    requests = mapping_at(container, "resources", "requests")
    return _amounts({**mapping_at(container, "resources", "limits"), **requests})


def _amounts(quantities: Mapping[str, Quantity]) -> dict[str, int]:
    return {
        name: milli(amount) if name == "cpu" else whole(amount)
        for name, amount in quantities.items()
        if name in _COUNTED or "/" in name or name.startswith(("hugepages-", "attachable-volumes-"))
    }


def _format(name: str, amount: int) -> str:
    if name == "cpu":
        return format_quantity(Decimal(amount).scaleb(-3))
    return format_quantity(Decimal(amount), binary=name in _COUNTED or name.startswith("hugepages-"))


def _node_claim(pod_spec: Mapping[str, Any]) -> NodeClaim | None:
    """Claim of what is required of a node, not what is preferred."""
    affinity = mapping_at(pod_spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    selector: Mapping[str, str] = mapping_at(pod_spec, "nodeSelector")
    tolerations = list_at(pod_spec, "tolerations")
    if not affinity and not selector and not tolerations:
        return None
    return NodeClaim(
        hard_node_affinity=from_wire(affinity, NodeSelector) if affinity else None,
        node_selector=selector,
        tolerations=tuple(from_wire(toleration, Toleration) for toleration in tolerations),
    )
