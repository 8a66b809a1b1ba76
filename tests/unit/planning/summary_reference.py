"""The reference of the summary of a member: all its Nodes and Pods, added up anew.

What the tables of `leeward.planning` keep up by differences has to be equal to this after every change.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal

from leeward.api.cluster import AllocatableModeling, NodeSummary, ResourceModel, ResourceSummary
from leeward.api.counted import CountedContainer, CountedNode, CountedPod
from leeward.core.amounts import Amount, Amounts, Doubts, greatest, read_amounts, render_amounts, sum_amounts
from leeward.core.cluster_health.modeling import count_grades
from leeward.core.cluster_health.summary import Summary


def summarize(
    nodes: Sequence[CountedNode], pods: Sequence[CountedPod], models: Sequence[ResourceModel] = ()
) -> Summary:
    """Nodes that are not Ready count, but offer nothing; finished Pods take nothing."""
    doubts = Doubts()
    ready = [node for node in nodes if _is_ready(node)]
    offered = {
        n.metadata.name: read_amounts(n.status.allocatable, f"Node {n.metadata.name}", doubts)
        for n in ready
        if _is_open(n)
    }
    placed = [pod for pod in pods if pod.spec.node_name and pod.status.phase not in ("Succeeded", "Failed")]
    waiting = [pod for pod in pods if not pod.spec.node_name and pod.status.phase in ("", "Pending")]
    taken = _requests_by_node(placed, doubts)
    resources = ResourceSummary(
        allocatable=render_amounts(sum_amounts(offered.values())),
        allocating=render_amounts(_requests(waiting, doubts)),
        allocated=render_amounts(sum_amounts(taken.values())),
        allocatable_modelings=_grades(models, offered, taken),
    )
    return Summary(NodeSummary(total_num=len(nodes), ready_num=len(ready)), resources, str(doubts))


def _grades(
    models: Sequence[ResourceModel], offered: Mapping[str, Amounts], taken: Mapping[str, Amounts]
) -> tuple[AllocatableModeling, ...]:
    return count_grades(models, [(amounts, taken.get(name, {})) for name, amounts in offered.items()])


def _is_ready(node: CountedNode) -> bool:
    return any(c.type == "Ready" and c.status == "True" for c in node.status.conditions)


def _is_open(node: CountedNode) -> bool:
    return not node.spec.unschedulable


def _requests_by_node(pods: Sequence[CountedPod], doubts: Doubts) -> dict[str, Amounts]:
    by_node: defaultdict[str, list[CountedPod]] = defaultdict(list)
    for pod in pods:
        by_node[pod.spec.node_name].append(pod)
    return {node: _requests(on_node, doubts) for node, on_node in by_node.items()}


def _requests(pods: Sequence[CountedPod], doubts: Doubts) -> Amounts:
    amounts = sum_amounts(_pod_requests(pod, doubts) for pod in pods)
    if pods:
        amounts["pods"] = Amount(Decimal(len(pods)), False)
    return amounts


def _pod_requests(pod: CountedPod, doubts: Doubts) -> Amounts:
    """The sum over containers, or the greatest init container where that is more, and the overhead."""
    whose = f"Pod {pod.metadata.namespace}/{pod.metadata.name}"
    total = sum_amounts(_container_requests(c, whose, doubts) for c in pod.spec.containers)
    initial = [_container_requests(c, whose, doubts) for c in pod.spec.init_containers]
    return sum_amounts([greatest([total, *initial]), read_amounts(pod.spec.overhead, whose, doubts)])


def _container_requests(container: CountedContainer, whose: str, doubts: Doubts) -> Amounts:
    """A request that is missing is taken from the limit, as admission in the member does."""
    return read_amounts({**container.resources.limits, **container.resources.requests}, whose, doubts)
