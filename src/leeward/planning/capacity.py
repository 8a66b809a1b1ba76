"""Capacity that a cluster has left, as it reports it, less what is assumed to be on its way there.

A `Capacity` is parsed once from a Cluster, and `take` accounts for replicas that were placed but are not reported yet:
reservations of a batch, or Karmada's assumed workloads (gate SchedulingOvercommitProtection; same rules).

With resource models the cluster is nodes of known grades (`nodes.py`); without, or with counts that make no sense, it
is one big pool. Karmada: pkg/estimator/client/general.go; same, except that amounts are never truncated to 32 bits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from kubeapi.quantity import LONGEST_REMEMBERED, Quantity, is_binary, parse_quantity
from leeward.api.cluster import Cluster, ResourceSummary
from leeward.api.work import Component, ComponentReplicaRequirements
from leeward.core.scheduling.model import MAX_REPLICAS
from leeward.planning.nodes import Nodes, is_small

_NANO = 10**9
_MICRO = 10**6


def nanos(quantity: Quantity) -> int:
    """The exact amount in thousand-millionths. Raises: ValueError, ArithmeticError."""
    is_short = not isinstance(quantity, str) or len(quantity) <= LONGEST_REMEMBERED
    return _remembered_nanos(quantity) if is_short else _nanos(quantity)


def _nanos(quantity: Quantity) -> int:
    return int(parse_quantity(quantity).scaleb(9))


_remembered_nanos = lru_cache(maxsize=65_536)(_nanos)


@dataclass(frozen=True, slots=True)
class Demand:
    """Demand of one replica: `amounts` in nano units, `sizes` as they are compared (CPU in milli, the rest whole).

    Amounts that round to nothing have no size.
    """

    amounts: tuple[tuple[str, int], ...]
    sizes: tuple[tuple[str, int], ...]

    @staticmethod
    def of(request: Mapping[str, Quantity]) -> "Demand":
        """Raises: ValueError, ArithmeticError for a quantity that cannot be read, or is absurd."""
        items = tuple(request.items())
        return _remembered_demand(items) if is_small(items) else _demand_of(items)


def _demand_of(request: tuple[tuple[str, Quantity], ...]) -> Demand:
    amounts = tuple((name, nanos(quantity)) for name, quantity in request)
    return Demand(amounts, tuple((name, _round_up(amount, _unit(name))) for name, amount in amounts if amount > 0))


_remembered_demand = lru_cache(maxsize=4_096)(_demand_of)


@dataclass(slots=True)
class Capacity:
    """`free` in nano units per resource of `allocatable`, pods included; `nodes` is None without usable models."""

    summary: ResourceSummary
    free: dict[str, int]
    nodes: Nodes | None
    taken: list[tuple[Mapping[str, Quantity], int]] = field(default_factory=list[tuple[Mapping[str, Quantity], int]])

    @staticmethod
    def of(cluster: Cluster) -> "Capacity | None":
        """None without a report. Raises: ValueError, ArithmeticError for a report that cannot be read."""
        summary = cluster.status.resource_summary
        if summary is None:
            return None
        free = {name: _free(summary, name) for name in {**summary.allocatable, "pods": 0}}
        counts = {modeling.grade: modeling.count for modeling in summary.allocatable_modelings}
        return Capacity(summary, free, Nodes.of(cluster.spec.resource_models, counts))

    @property
    def pods(self) -> int:
        return max(0, min(_round_up(self.free["pods"], _NANO), MAX_REPLICAS))

    def replicas(self, demand: Demand | None) -> int:
        """Number of replicas that still fit, each with this demand; None asks for nothing but a pod."""
        pods = self.pods
        if demand is None or pods == 0:
            return pods
        if self.nodes is not None:
            return min(pods, self.nodes.fit(demand.sizes))
        return min([pods, *(self._fit(name, size) for name, size in demand.sizes)])

    def sets(self, components: Sequence[Component]) -> int:
        """Number of whole sets that fit, each of all components with all their replicas."""
        pods, per_set = self.pods, sum(component.replicas for component in components)
        if pods == 0 or per_set == 0:
            return pods
        most = min([pods // per_set, *self._sets_by_resource(components)])
        if self.nodes is None or most <= 0:
            return max(0, most)
        return self.nodes.fit_sets(
            [(Demand.of(request_of(c.replica_requirements)).sizes, c.replicas) for c in components], most
        )

    def take(self, request: Mapping[str, Quantity], replicas: int) -> None:
        """Counts `replicas` with this request as placed here."""
        demand = Demand.of(request)
        for name, amount in (*demand.amounts, ("pods", _NANO)):
            if name in self.free:
                self.free[name] -= amount * replicas
        if self.nodes is not None:
            self.nodes.take(demand.sizes, replicas)
        self.taken.append((request, replicas))

    def _fit(self, name: str, size: int) -> int:
        free = self.free.get(name, 0)
        return _round_up(free, _unit(name)) // size if free > 0 else 0

    def _sets_by_resource(self, components: Sequence[Component]) -> list[int]:
        """Karmada compares binary quantities by units and decimal ones by thousandths, each side in its own way."""
        asked: dict[str, int] = {}
        for component in components:
            for name, quantity in request_of(component.replica_requirements).items():
                asked[name] = asked.get(name, 0) + _by_format(quantity) * component.replicas
        return [max(0, self._amount_by_format(name)) // amount for name, amount in asked.items() if amount > 0]

    def _amount_by_format(self, name: str) -> int:
        if name not in self.summary.allocatable:
            return 0
        parts = (self.summary.allocatable, self.summary.allocated, self.summary.allocating)
        amount, binary = 0, False
        for sign, quantity in zip((1, -1, -1), (part.get(name) for part in parts), strict=True):
            if quantity is not None:
                binary = binary if amount else is_binary(quantity)
                amount += sign * nanos(quantity)
        taken = sum(_by_format(request[name]) * count for request, count in self.taken if name in request)
        return _round_up(amount, _NANO if binary else _MICRO) - taken


def request_of(requirements: ComponentReplicaRequirements | None) -> Mapping[str, Quantity]:
    """Resources that one replica asks for; none where nothing is said."""
    return {} if requirements is None else requirements.resource_request


def _by_format(quantity: Quantity) -> int:
    return _round_up(nanos(quantity), _NANO if is_binary(quantity) else _MICRO)


def _free(summary: ResourceSummary, name: str) -> int:
    allocatable, allocated, allocating = (
        nanos(part.get(name, 0)) for part in (summary.allocatable, summary.allocated, summary.allocating)
    )
    return allocatable - allocated - allocating


def _unit(name: str) -> int:
    return _MICRO if name == "cpu" else _NANO


def _round_up(amount: int, unit: int) -> int:
    return -(-amount // unit)
