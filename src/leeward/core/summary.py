"""What a member cluster offers and what of it is taken: from Nodes and Pods to the summaries of a Cluster's status.

Karmada: pkg/controllers/status (getClusterAllocatable, getAllocatedResource); same for nodes and pods as a whole.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from leeward.api.cluster import NodeSummary, ResourceSummary
from leeward.api.core import Container, Node, Pod
from leeward.api.quantity import Quantity, format_quantity, is_binary, parse_quantity

Amounts = dict[str, tuple[Decimal, bool]]
"""Per resource: the sum, and whether it is written with binary suffixes."""


def summarize(nodes: Sequence[Node], pods: Sequence[Pod]) -> tuple[NodeSummary, ResourceSummary]:
    """Nodes that are not Ready count, but offer nothing; finished Pods take nothing."""
    ready = [node for node in nodes if _is_ready(node)]
    usable = [node for node in ready if not node.spec.unschedulable]
    placed = [pod for pod in pods if pod.spec.node_name and pod.status.phase not in ("Succeeded", "Failed")]
    waiting = [pod for pod in pods if not pod.spec.node_name and pod.status.phase in ("", "Pending")]
    return (
        NodeSummary(total_num=len(nodes), ready_num=len(ready)),
        ResourceSummary(
            allocatable=_render(_sum(node.status.allocatable for node in usable)),
            allocating=_render(_requests(waiting)),
            allocated=_render(_requests(placed)),
        ),
    )


def _is_ready(node: Node) -> bool:
    return any(c.type == "Ready" and c.status == "True" for c in node.status.conditions)


def _requests(pods: Sequence[Pod]) -> Amounts:
    amounts = _sum(_pod_requests(pod) for pod in pods)
    if pods:
        amounts["pods"] = (Decimal(len(pods)), False)
    return amounts


def _pod_requests(pod: Pod) -> dict[str, Quantity]:
    """The sum over containers, or the greatest init container where that is more, and the overhead."""
    total = _sum(_container_requests(container) for container in pod.spec.containers)
    for container in pod.spec.init_containers:
        for name, (amount, binary) in _sum([_container_requests(container)]).items():
            if name not in total or total[name][0] < amount:
                total[name] = (amount, binary)
    return _render(_sum([_render(total), pod.spec.overhead]))


def _container_requests(container: Container) -> Mapping[str, Quantity]:
    """A request that is missing is taken from the limit, as admission in the member does."""
    return {**container.resources.limits, **container.resources.requests}


def _sum(parts: Iterable[Mapping[str, Quantity]]) -> Amounts:
    """What cannot be read as a quantity counts as nothing: a member's nonsense harms only itself (S10)."""
    total: Amounts = {}
    for part in parts:
        for name, quantity in part.items():
            try:
                amount = parse_quantity(quantity)
            except ValueError:
                continue
            before, binary = total.get(name, (Decimal(0), False))
            total[name] = (before + amount, binary or is_binary(quantity))
    return total


def _render(amounts: Amounts) -> dict[str, Quantity]:
    return {name: format_quantity(amount, binary) for name, (amount, binary) in sorted(amounts.items())}
