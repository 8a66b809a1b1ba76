"""Reports that are expected of a cluster when what is reserved in it has arrived: amounts, and nodes by grade.

A cluster with resource models reports how many nodes of each grade it has, and not what is free on each. So nodes are
taken to be as free as their grade and the cluster's sums allow, all alike as far as the requests of their Pods let
them be, and Pods to go where most is free; those that fit on none wait, and take nothing from nodes.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import gcd

import msgspec

from kubeapi.quantity import Quantity, parse_quantity
from leeward.api.cluster import AllocatableModeling, Cluster, ResourceSummary
from leeward.core.amounts import Amount
from leeward.core.cluster_health.modeling import count_grades
from leeward.operations.clusters import free_of
from leeward.planning.reservations import Reserved

MOST_NODES, MOST_PLACED = 5_000, 5_000
"""Most nodes, and most reserved replicas, that are followed one by one; beyond, grades stay as they are reported."""
NODE_PODS = Decimal(110)

Divisors = Mapping[str, Decimal]
"""Amounts, by resource, that all requests in a cluster are whole multiples of."""


def divisors_of(requests: Iterable[Mapping[str, Quantity]]) -> Divisors:
    """Raises: ValueError, ArithmeticError for a quantity that cannot be read."""
    found: dict[str, Decimal] = {}
    for request in requests:
        for name, quantity in request.items():
            found[name] = _common_divisor(found.get(name, Decimal(0)), parse_quantity(quantity))
    return found


def after_arrival(
    cluster: Cluster, reserved: Sequence[Reserved], there: Iterable[Mapping[str, Quantity]] = ()
) -> Cluster:
    """The cluster as it reports when all of this runs there, beside Pods that ask for what is `there`.

    Raises: ValueError, ArithmeticError for what is absurd.
    """
    summary = cluster.status.resource_summary
    if summary is None:
        return cluster
    allocated = dict(summary.allocated)
    for part in reserved:
        for name, quantity in {**part.resource_request, "pods": "1"}.items():
            if name in summary.allocatable or name == "pods":
                before = parse_quantity(allocated.get(name, "0"))
                allocated[name] = _quantity(before + parse_quantity(quantity) * part.replicas)
    grades = _grades(cluster, summary, reserved, there)
    changed = msgspec.structs.replace(summary, allocated=allocated, allocatable_modelings=grades)
    return msgspec.structs.replace(cluster, status=msgspec.structs.replace(cluster.status, resource_summary=changed))


def _grades(
    cluster: Cluster, summary: ResourceSummary, reserved: Sequence[Reserved], there: Iterable[Mapping[str, Quantity]]
) -> tuple[AllocatableModeling, ...]:
    placed = sum(part.replicas for part in reserved)
    counted = sum(modeling.count for modeling in summary.allocatable_modelings)
    if not cluster.spec.resource_models or not 0 < counted <= MOST_NODES or placed > MOST_PLACED:
        return summary.allocatable_modelings
    nodes = nodes_by_grade(cluster, summary, divisors_of((*there, *(part.resource_request for part in reserved))))
    for part in reserved:
        put_on_nodes(nodes, part.resource_request, part.replicas)
    offered = [{name: Amount(amount, False) for name, amount in node.items()} for node in nodes]
    return count_grades(cluster.spec.resource_models, [(amounts, {}) for amounts in offered])


def without_what_waits(cluster: Cluster, summary: ResourceSummary) -> ResourceSummary:
    """Summary of which Pods without a node take nothing, where they wait for one.

    Raises: ValueError, ArithmeticError for a quantity that cannot be read.
    """
    return msgspec.structs.replace(summary, allocating={}) if has_waiting(cluster, summary) else summary


def has_waiting(cluster: Cluster, summary: ResourceSummary) -> bool:
    """Tells whether Pods wait for a node: together they ask for more than is free, or for more than any node has.

    Raises: ValueError, ArithmeticError for a quantity that cannot be read.
    """
    if any(free_of(summary, name) < 0 for name in summary.allocatable):
        return True
    pods = int(parse_quantity(summary.allocating.get("pods", "0")))
    counted = sum(each.count for each in summary.allocatable_modelings)
    if not cluster.spec.resource_models or not 0 < counted <= MOST_NODES or not 0 < pods <= MOST_PLACED:
        return False
    each = {name: _quantity(parse_quantity(text) / pods) for name, text in summary.allocating.items() if name != "pods"}
    nodes = nodes_by_grade(cluster, msgspec.structs.replace(summary, allocating={}), {})
    return put_on_nodes(nodes, each, pods) < pods


def put_on_nodes(nodes: Sequence[dict[str, Decimal]], request: Mapping[str, Quantity], replicas: int) -> int:
    """Takes replicas from nodes, each from the one where most is free, and tells how many fit.

    Less than none go from the nodes where least is free. Raises: ValueError, ArithmeticError for a quantity that
    cannot be read.
    """
    asked = {**{name: parse_quantity(quantity) for name, quantity in request.items()}, "pods": Decimal(1)}
    for _ in range(-replicas):
        node = min(nodes, key=_free)
        for name in asked.keys() & node.keys():
            node[name] += asked[name]
    for placed in range(replicas):
        fitting = [node for node in nodes if all(node.get(name, amount) >= amount for name, amount in asked.items())]
        if not fitting:
            return placed
        node = max(fitting, key=_free)
        for name in asked.keys() & node.keys():
            node[name] -= asked[name]
    return replicas


def _free(node: Mapping[str, Decimal]) -> tuple[Decimal, Decimal]:
    return node.get("cpu", Decimal(0)), node["pods"]


def nodes_by_grade(cluster: Cluster, summary: ResourceSummary, divisors: Divisors) -> list[dict[str, Decimal]]:
    """Amounts that are free on each node, by resource of the models: the least of its grade, and a share of what is
    left that is as equal as requests allow which the divisors divide."""
    counts = {modeling.grade: modeling.count for modeling in summary.allocatable_modelings}
    nodes: list[dict[str, Decimal]] = []
    most: list[dict[str, Decimal]] = []
    for model in cluster.spec.resource_models:
        least = {each.name: parse_quantity(each.min) for each in model.ranges}
        greatest = {each.name: parse_quantity(each.max) for each in model.ranges}
        nodes += [{**least, "pods": NODE_PODS} for _ in range(counts.get(model.grade, 0))]
        most += [greatest for _ in range(counts.get(model.grade, 0))]
    for name in {name for node in nodes for name in node} - {"pods"}:
        left = max(Decimal(0), free_of(summary, name) - sum((node[name] for node in nodes), Decimal(0)))
        part = _common_divisor(left, divisors[name]) if name in divisors else None
        _share(name, left, part, nodes, most)
    return nodes


def _share(
    name: str,
    left: Decimal,
    part: Decimal | None,
    nodes: Sequence[dict[str, Decimal]],
    most: Sequence[Mapping[str, Decimal]],
) -> None:
    """Gives `left` to the nodes in equal numbers of parts, to none more than its grade has.

    A part that is left over goes where least is free, since Pods are spread: that evens out what is free."""
    in_order = sorted(range(len(nodes)), key=lambda at: (most[at][name] - nodes[at][name], -nodes[at][name]))
    for given_to, index in enumerate(in_order):
        share = left / (len(nodes) - given_to)
        if part:
            share = int(left / part) // (len(nodes) - given_to) * part
        given = min(share, most[index][name] - nodes[index][name])
        nodes[index][name] += given
        left -= given


def _common_divisor(one: Decimal, other: Decimal) -> Decimal:
    """The greatest; each divides 0."""
    first, second = Fraction(one), Fraction(other)
    common = gcd(first.numerator * second.denominator, second.numerator * first.denominator)
    return Decimal(common) / (first.denominator * second.denominator)


def _quantity(amount: Decimal) -> Quantity:
    return f"{amount.normalize():f}"
