"""Nodes on which a Pod may run, and the one that it goes to: the one that would be allocated least, then the first by
name.

Kubernetes: pkg/scheduler, the plug-ins NodeUnschedulable, NodeName, TaintToleration, NodeAffinity (what is required)
and NodeResourcesFit; the score also counts Pods, so that Pods without requests spread, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from kubeapi.codec import from_wire
from kubeapi.core import Node, Toleration
from kubeapi.meta import ReadOnlyManifest
from kubeapi.quantity import parse_quantity
from kubeapi.selectors import Requirement, matches
from kubeapi.toleration import untolerated_taint
from kubeapi.unstructured import list_at, mapping_at

Amounts = Mapping[str, Decimal]

DAEMON_TOLERATIONS: tuple[Mapping[str, str], ...] = (
    {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
    {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"},
    {"key": "node.kubernetes.io/disk-pressure", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/pid-pressure", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"},
)
_SCORED = ("cpu", "memory", "pods")


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """Refusal where no node fits; `message` says for each reason how many nodes have it."""

    message: str


def choose_node(pod: ReadOnlyManifest, nodes: Sequence[Node], used: Mapping[str, Amounts]) -> str | Unschedulable:
    """The name of the node for a Pod; `used` are the summed requests of each node's Pods."""
    asked = requests_of(pod)
    refusals = {node.name: _refusal(pod, node, asked, used.get(node.name, {})) for node in nodes}
    fitting = [node for node in nodes if not refusals[node.name]]
    if not fitting:
        return Unschedulable(_explain(list(refusals.values())))
    best = min(fitting, key=lambda node: (_allocated(node, asked, used.get(node.name, {})), node.name))
    return best.name


def is_node_ready(node: Node) -> bool:
    return any(condition.type == "Ready" and condition.status == "True" for condition in node.status.conditions)


def node_refusal(pod: ReadOnlyManifest, node: Node, tolerated: Sequence[Mapping[str, str]] = ()) -> str:
    """Reason for which the node is out of the question however empty it is; empty when it is not."""
    tolerations = from_wire([*list_at(pod, "spec", "tolerations"), *tolerated], tuple[Toleration, ...])
    if node.spec.unschedulable and not tolerated:
        return "node(s) were unschedulable"
    if taint := untolerated_taint(node.spec.taints, tolerations):
        value = f"{taint.key}: {taint.value}"
        return f"node(s) had untolerated taint(s) {{{value}}}"
    if not _is_selected(pod, node):
        return "node(s) didn't match Pod's node affinity/selector"
    return ""


def requests_of(pod: ReadOnlyManifest) -> dict[str, Decimal]:
    """Request of a Pod by resource: the sum over containers, or the greatest init container where that is more, and the
    overhead."""
    total = _sum([_container_requests(c) for c in list_at(pod, "spec", "containers")])
    for container in list_at(pod, "spec", "initContainers"):
        for name, amount in _sum([_container_requests(container)]).items():
            total[name] = max(amount, total.get(name, Decimal(0)))
    total = add(total, _sum([mapping_at(pod, "spec", "overhead")]))
    return {**total, "pods": Decimal(1)}


def add(one: Amounts, other: Amounts, sign: int = 1) -> dict[str, Decimal]:
    return {name: one.get(name, Decimal(0)) + sign * other.get(name, Decimal(0)) for name in {**one, **other}}


def _refusal(pod: ReadOnlyManifest, node: Node, asked: Amounts, used: Amounts) -> str:
    if not is_node_ready(node):
        return "node(s) were not ready"
    if refusal := node_refusal(pod, node):
        return refusal
    offered = _offered(node)
    short = (n for n, amount in asked.items() if amount > 0 and used.get(n, 0) + amount > offered.get(n, 0))
    lacking = next(short, "")
    return {"": "", "pods": "Too many pods"}.get(lacking, f"Insufficient {lacking}")


def _explain(refusals: Sequence[str]) -> str:
    counted = ", ".join(f"{refusals.count(refusal)} {refusal}" for refusal in sorted(set(refusals)))
    total = len(refusals)
    return f"0/{total} nodes are available: {counted}." if total else "no nodes available to schedule pods"


def _allocated(node: Node, asked: Amounts, used: Amounts) -> Decimal:
    """The mean share of the scored resources that would be taken."""
    offered = _offered(node)
    after = add(used, asked)
    shares = [after.get(name, Decimal(0)) / offered[name] for name in _SCORED if offered.get(name)]
    return sum(shares, Decimal(0)) / max(1, len(shares))


def _offered(node: Node) -> dict[str, Decimal]:
    return _sum([node.status.allocatable])


def _container_requests(container: Mapping[str, Any]) -> Mapping[str, Any]:
    """A request that is missing is taken from the limit."""
    return {**mapping_at(container, "resources", "limits"), **mapping_at(container, "resources", "requests")}


def _sum(parts: Sequence[Mapping[str, Any]]) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for part in parts:
        total = add(total, {name: _amount(quantity) for name, quantity in part.items()})
    return total


def _amount(quantity: object) -> Decimal:
    """Amount of a quantity; an unreadable one counts as nothing."""
    try:
        return parse_quantity(str(quantity))
    except ValueError:
        return Decimal(0)


def _is_selected(pod: ReadOnlyManifest, node: Node) -> bool:
    wanted = mapping_at(pod, "spec", "nodeSelector")
    if not wanted.items() <= node.metadata.labels.items():
        return False
    required = mapping_at(pod, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = list_at(required, "nodeSelectorTerms")
    return not required or any(_matches_term(term, node) for term in terms)


def _matches_term(term: Mapping[str, Any], node: Node) -> bool:
    """An empty term matches nothing."""
    expressions, fields = list_at(term, "matchExpressions"), list_at(term, "matchFields")
    matched = matches(_selector(expressions), node.metadata.labels)
    return bool(expressions or fields) and matched and matches(_selector(fields), {"metadata.name": node.name})


def _selector(expressions: Sequence[Mapping[str, Any]]) -> tuple[Requirement, ...]:
    return tuple(Requirement(e["key"], e["operator"], tuple(e.get("values") or ())) for e in expressions)
