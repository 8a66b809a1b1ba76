"""Summary of a cluster: offered and taken resources, from Nodes and Pods to the Cluster's status.

Here one Node and one Pod are counted; `planning/usage_summary.py` keeps the sums.

Karmada: pkg/controllers/status (getClusterAllocatable, getAllocatedResource); same for nodes and pods as a whole. A
member's numbers are not believed beyond reason (`core.amounts`). Holds: S10.
"""

from dataclasses import dataclass
from typing import Literal

from leeward.api.cluster import NodeSummary, ResourceSummary
from leeward.api.counted import CountedContainer, CountedNode, CountedPod, CountedPodSpec
from leeward.core.amounts import Amounts, Doubts, greatest, read_amounts, sum_amounts

PodState = Literal["placed", "waiting", "finished"]


@dataclass(frozen=True, slots=True)
class Summary:
    """`doubts` says which of the member's numbers are absurd and were cut down; empty when none are."""

    nodes: NodeSummary
    resources: ResourceSummary
    doubts: str = ""


def is_ready_node(node: CountedNode) -> bool:
    """Tells whether it counts as ready; a node that is not offers nothing, but counts."""
    return any(c.type == "Ready" and c.status == "True" for c in node.status.conditions)


def state_of(pod: CountedPod) -> PodState:
    """A Pod takes something of its node, or waits for one; or it takes nothing any more."""
    if pod.spec.node_name:
        return "finished" if pod.status.phase in ("Succeeded", "Failed") else "placed"
    return "waiting" if pod.status.phase in ("", "Pending") else "finished"


def node_offers(node: CountedNode, doubts: Doubts) -> Amounts:
    return read_amounts(node.status.allocatable, f"Node {node.metadata.name}", doubts)


def pod_requests(spec: CountedPodSpec, whose: str, doubts: Doubts) -> Amounts:
    """The sum over containers, or the greatest init container where that is more, and the overhead."""
    total = sum_amounts(_container_requests(c, whose, doubts) for c in spec.containers)
    initial = [_container_requests(c, whose, doubts) for c in spec.init_containers]
    return sum_amounts([greatest([total, *initial]), read_amounts(spec.overhead, whose, doubts)])


def _container_requests(container: CountedContainer, whose: str, doubts: Doubts) -> Amounts:
    """A request that is missing is taken from the limit, as admission in the member does."""
    return read_amounts({**container.resources.limits, **container.resources.requests}, whose, doubts)
