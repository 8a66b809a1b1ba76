"""The room of a copied cluster: as much is free as its Cluster reports, whatever else runs there.

A Cluster says what all its nodes offer and have given, and not how that is spread. So each copied cluster has one
large node, unless it has resource models, which say how many nodes have how much, or nodes are to go down there; then
what is free is spread evenly over as many as it reports, as far as requests let it be (`divisors`: what they are whole
multiples of). What others run is one Pod on each node that asks for all that
is neither free nor ours.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from kubeapi.meta import Manifest
from kubeapi.quantity import parse_quantity
from kubeapi.unstructured import list_at, mapping_at
from kubecluster import WorkloadSettings
from kubecluster.rules.node import node_name
from kubecluster.rules.pods import is_active, node_of
from leeward.answers.expected_reports import Divisors, nodes_by_grade, without_what_waits
from leeward.api.cluster import Cluster, ResourceSummary

Amounts = Mapping[str, Decimal]
MOST_NODES = 50
OTHERS_NAMESPACE = "leeward-rehearsal"
_ALWAYS = ("cpu", "memory", "pods")
_THOUSANDTH = Decimal("0.001")


def collected_summary(cluster: Cluster) -> ResourceSummary | None:
    """Summary of its room, as it says; None where it says nothing. One whose nodes are all cordoned offers nothing.

    Pods that find no node take nothing of it.
    """
    summary, nodes = cluster.status.resource_summary, cluster.status.node_summary
    has_nodes = nodes is not None and nodes.total_num > 0
    if summary is None or not (summary.allocatable or summary.allocated or has_nodes):
        return None
    return without_what_waits(cluster, summary)


def free_amounts(summary: ResourceSummary) -> dict[str, Decimal]:
    """Amounts that are left of each resource; nothing where more was given than there is."""
    taken = defaultdict[str, Decimal](Decimal)
    for part in (summary.allocated, summary.allocating):
        for name, quantity in part.items():
            taken[name] += parse_quantity(quantity)
    return {
        name: max(Decimal(0), parse_quantity(quantity) - taken[name]) for name, quantity in summary.allocatable.items()
    }


def nodes_of(
    cluster: Cluster, settings: WorkloadSettings, ours: Amounts, divisors: Divisors, *, one_by_one: bool
) -> WorkloadSettings:
    """Settings for as many nodes as it has, each with room for all of `ours` beside what is free; as by default where
    it says nothing.

    `one_by_one`: its nodes matter, and it has as many as it reports.
    """
    summary = collected_summary(cluster)
    if summary is None:
        return settings
    free, count = free_amounts(summary), len(free_by_node(cluster, divisors, one_by_one=one_by_one))
    room = {name: free.get(name, Decimal(0)) + ours.get(name, Decimal(0)) for name in {*_ALWAYS, *free, *ours}}
    room["pods"] = (room["pods"] / count).to_integral_value(ROUND_CEILING) + 1
    named = {name: _text(amount) for name, amount in room.items()}
    return replace(
        settings,
        nodes=count,
        node_cpu=named.pop("cpu"),
        node_memory=named.pop("memory"),
        node_pods=named.pop("pods"),
        node_others=named,
    )


def free_by_node(cluster: Cluster, divisors: Divisors, *, one_by_one: bool) -> list[dict[str, Decimal]]:
    """Amounts that are to be free on each of its nodes, of which there is at least one."""
    summary, nodes = collected_summary(cluster), cluster.status.node_summary
    if summary is None:
        return [{}]
    free = free_amounts(summary)
    graded = nodes_by_grade(cluster, summary, divisors) if cluster.spec.resource_models else []
    if 0 < len(graded) <= MOST_NODES:
        return graded
    count = min(MOST_NODES, max(1, nodes.ready_num)) if nodes is not None and one_by_one else 1
    return [{name: amount / count for name, amount in free.items()} for _ in range(count)]


def other_pods(
    cluster: Cluster, settings: WorkloadSettings, pods: Sequence[Manifest], divisors: Divisors, *, one_by_one: bool
) -> list[Manifest]:
    """Pods for the other load, one for each node, beside `pods`; none where the cluster does not say what is free."""
    if collected_summary(cluster) is None:
        return []
    made: list[Manifest] = []
    for index, free in enumerate(free_by_node(cluster, divisors, one_by_one=one_by_one)):
        name = node_name(index)
        used = requested_by(pod for pod in pods if node_of(pod) == name and is_active(pod))
        rest = {
            resource: parse_quantity(quantity) - used.get(resource, Decimal(0)) - free.get(resource, Decimal(0))
            for resource, quantity in settings.node_capacity.items()
            if resource != "pods"
        }
        made.append(_other_pod(name, {resource: amount for resource, amount in rest.items() if amount > 0}))
    return made


def requested_by(pods: Iterable[Manifest]) -> dict[str, Decimal]:
    """The sum of their containers' requests."""
    total: dict[str, Decimal] = {}
    for pod in pods:
        for container in list_at(pod, "spec", "containers"):
            for name, quantity in mapping_at(container, "resources", "requests").items():
                total[name] = total.get(name, Decimal(0)) + parse_quantity(quantity)
    return total


def _other_pod(node: str, rest: Amounts) -> Manifest:
    requests = {name: _text(amount) for name, amount in rest.items()}
    container: Manifest = {"name": "main", "image": "others", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"others-{node}", "namespace": OTHERS_NAMESPACE},
        "spec": {"nodeName": node, "containers": [container]},
    }


def _text(amount: Decimal) -> str:
    return f"{amount.quantize(_THOUSANDTH, ROUND_FLOOR).normalize():f}"
