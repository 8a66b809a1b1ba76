"""Room on the nodes of one cluster: what each has free, kept up to date one Pod at a time, and what fits there.

A Pod that comes or goes costs what it asks for, however many there are; a question costs one look at each node. What a
node or a Pod says that cannot be read counts as nothing. CPU is counted in milli, everything else in whole units, and
fractions are rounded up, as in Karmada. Karmada: pkg/estimator/server, pkg/util/resource.go; same, first fit for sets.
Karmada: a node takes a Pod by kube-scheduler's own rules; same, except that one which is not Ready takes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from controller_runtime import Key, key_of
from kubeapi.core import Container, Node, Taint, Toleration
from kubeapi.meta import LabelSelectorRequirement
from kubeapi.quantity import Quantity
from kubeapi.selectors import Requirement, Selector, matches
from kubeapi.toleration import tolerates, untolerated_taint
from leeward.api.work import Component, ComponentReplicaRequirements
from leeward.core.scheduling.model import MAX_REPLICAS
from leeward.estimator.objects import PlacedPod
from leeward.planning.capacity import Demand, request_of
from leeward.planning.nodes import is_counted

_UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
_Term = tuple[Selector, Selector]
"""Selectors of labels and of fields; all of both must match."""


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """`terms`: one of them must match; None is no affinity, and an empty tuple one that nothing matches."""

    labels: Mapping[str, str]
    tolerations: Sequence[Toleration]
    terms: tuple[_Term, ...] | None

    @staticmethod
    def of(requirements: ComponentReplicaRequirements | None) -> "NodeFilter":
        claim = None if requirements is None else requirements.node_claim
        if claim is None:
            return NodeFilter({}, (), None)
        affinity = claim.hard_node_affinity
        asked = () if affinity is None else affinity.node_selector_terms
        read = tuple((_selector(term.match_expressions), _selector(term.match_fields)) for term in asked)
        return NodeFilter(claim.node_selector, claim.tolerations, None if affinity is None else read)

    def takes(self, node: Node) -> bool:
        return (
            is_ready(node)
            and self._tolerates(node)
            and self.labels.items() <= node.metadata.labels.items()
            and (self.terms is None or any(_matches(term, node) for term in self.terms))
        )

    def _tolerates(self, node: Node) -> bool:
        if node.spec.unschedulable and not any(tolerates(each, _UNSCHEDULABLE) for each in self.tolerations):
            return False
        return untolerated_taint(node.spec.taints, self.tolerations) is None


def is_ready(node: Node) -> bool:
    return any(c.type == "Ready" and c.status == "True" for c in node.status.conditions)


def _selector(requirements: Sequence[LabelSelectorRequirement]) -> Selector:
    return tuple(Requirement(each.key, each.operator, each.values) for each in requirements)


def _matches(term: _Term, node: Node) -> bool:
    """An empty term matches nothing."""
    labels, fields = term
    if not labels and not fields:
        return False
    return matches(labels, node.metadata.labels) and matches(fields, {"metadata.name": node.name})


MAX_SETS = 10_000
"""Most sets that are counted."""
Sizes = Mapping[str, int]
_POD: Sizes = {"pods": 1}


@dataclass(slots=True)
class _Free:
    """Amounts that a node has free while a question is answered."""

    node: Node
    amounts: dict[str, int]

    def fit(self, asked: Sizes) -> int:
        return max(0, min([self.amounts.get(name, 0) // size for name, size in asked.items()]))

    def take(self, asked: Sizes, replicas: int) -> None:
        for name, size in asked.items():
            self.amounts[name] = self.amounts.get(name, 0) - size * replicas


@dataclass(slots=True)
class _Asked:
    """Replicas that ask for the same. Nodes only get fuller: those before `first` have no room for one more."""

    sizes: Sizes
    filter: NodeFilter
    replicas: int = 1
    first: int = field(default=0)

    @staticmethod
    def of(requirements: ComponentReplicaRequirements | None, replicas: int = 1) -> "_Asked":
        """Raises: ValueError, ArithmeticError for a quantity that cannot be read."""
        demand = Demand.of(request_of(requirements))
        counted = {name: size for name, size in demand.sizes if is_counted(name)}
        return _Asked({**counted, **_POD}, NodeFilter.of(requirements), replicas)

    def place(self, nodes: Sequence[_Free]) -> bool:
        """Tells whether all replicas found a place; each takes it from the first node that has room."""
        left = self.replicas
        while left and self.first < len(nodes):
            node = nodes[self.first]
            fitting = node.fit(self.sizes) if self.filter.takes(node.node) else 0
            node.take(self.sizes, min(left, fitting))
            left -= min(left, fitting)
            if left:
                self.first += 1
        return not left


class NodeRoom:
    """`see_node` and `see_pod` are told of every change, with None for an absence."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._offered: dict[str, Sizes] = {}
        self._taken: dict[str, dict[str, int]] = {}
        self._pods: dict[Key, tuple[str, Sizes]] = {}

    def see_node(self, old: Node | None, new: Node | None) -> None:
        if new is not None:
            self._nodes[new.name], self._offered[new.name] = new, _sizes(new.status.allocatable)
        elif old is not None:
            del self._nodes[old.name], self._offered[old.name]

    def see_pod(self, old: PlacedPod | None, new: PlacedPod | None) -> None:
        pod = new or old
        if pod is None:
            return
        node, sizes = self._pods.pop(key_of(pod), ("", {}))
        self._count(node, sizes, -1)
        if new is not None and new.takes_room:
            node, sizes = self._pods[key_of(pod)] = new.spec.node_name, pod_sizes(new)
            self._count(node, sizes, 1)

    def replicas(self, requirements: ComponentReplicaRequirements | None, assumed: Sequence[Component] = ()) -> int:
        """Number of replicas that still fit beside those that are `assumed` to be on their way. Raises: ValueError,
        ArithmeticError."""
        asked = _Asked.of(requirements)
        nodes = self._free(assumed)
        total = sum(node.fit(asked.sizes) for node in nodes if asked.filter.takes(node.node))
        return min(total, MAX_REPLICAS)

    def sets(self, components: Sequence[Component], assumed: Sequence[Component] = ()) -> int:
        """Number of whole sets that fit, each of all components. Raises: ValueError, ArithmeticError."""
        asked = [_Asked.of(c.replica_requirements, c.replicas) for c in components if c.replicas > 0]
        if not asked:
            return MAX_REPLICAS
        nodes, found = self._free(assumed), 0
        while found < MAX_SETS and all(each.place(nodes) for each in asked):
            found += 1
        return found

    def _free(self, assumed: Sequence[Component]) -> list[_Free]:
        """Free amounts by node. What is assumed takes the first room there is; what finds none takes nothing."""
        nodes = [_Free(node, self._free_on(name)) for name, node in self._nodes.items()]
        for component in assumed:
            _Asked.of(component.replica_requirements, component.replicas).place(nodes)
        return nodes

    def _free_on(self, name: str) -> dict[str, int]:
        taken = self._taken.get(name, {})
        return {resource: size - taken.get(resource, 0) for resource, size in self._offered[name].items()}

    def _count(self, node: str, sizes: Sizes, sign: int) -> None:
        """A node without any Pod is forgotten: Pods may come before their node, and go after it."""
        taken = self._taken.setdefault(node, {})
        for name, size in sizes.items():
            taken[name] = taken.get(name, 0) + sign * size
        if not taken.get("pods"):
            del self._taken[node]


def pod_sizes(pod: PlacedPod) -> Sizes:
    """The sum over containers and sidecars, or what an init container needs beside the sidecars before it where that is
    more, and the overhead.

    Kubernetes: component-helpers' `resource.PodRequests`; same, with a request that is missing taken from the limit.
    """
    sidecars: dict[str, int] = {}
    starting: dict[str, int] = {}
    for container in pod.spec.init_containers:
        beside = _sum(sidecars, _container_sizes(container))
        if container.restart_policy == "Always":
            sidecars = beside
        starting = _greatest(starting, beside)
    running = sidecars
    for container in pod.spec.containers:
        running = _sum(running, _container_sizes(container))
    return {**_sum(_greatest(running, starting), _sizes(pod.spec.overhead)), **_POD}


def _container_sizes(container: Container) -> Sizes:
    return _sizes({**container.resources.limits, **container.resources.requests})


def _sizes(quantities: Mapping[str, Quantity]) -> Sizes:
    """Sizes without unreadable ones."""
    found: dict[str, int] = {}
    for name, quantity in quantities.items():
        try:
            found.update(Demand.of({name: quantity}).sizes)
        except (ValueError, ArithmeticError):
            continue
    return found


def _sum(one: Sizes, other: Sizes) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


def _greatest(one: Sizes, other: Sizes) -> dict[str, int]:
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}
