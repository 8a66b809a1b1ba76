"""Reservations: what clusters have left, less what was given to bindings and is not reported yet.

A reservation is kept until its cluster reports anew, its binding turns out to be elsewhere, or the binding is gone; so
no two bindings of a batch, nor of the batches that follow it, are given the same capacity. It counts for the pool that
it was taken from: the nodes of a cluster are everybody's, a ResourceQuota is its namespace's (gate
ResourceQuotaEstimate).
"""

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from kubeapi.meta import Object
from kubeapi.quantity import Quantity
from leeward.api.cluster import Cluster
from leeward.api.work import Component, ComponentReplicaRequirements, ResourceBindingSpec, TargetCluster
from leeward.core.quota.quota_room import (
    QuotasByCluster,
    ReadQuotas,
    ReportedQuota,
    no_quotas,
    room_in_quotas,
    with_reserved,
)
from leeward.core.scheduling.model import MAX_REPLICAS, Request
from leeward.planning.capacity import Capacity, Demand, request_of

NOBODY: Set[str] = frozenset()


class Reserved(Object, frozen=True):
    """Reservation for another binding, its `owner`, in a cluster: so many replicas, each with these requests."""

    replicas: int
    resource_request: Mapping[str, Quantity] = {}
    owner: str = ""


class Part(NamedTuple):
    """Replicas with the same requirements; the namespace is empty where that is not known."""

    requirements: ComponentReplicaRequirements | None
    replicas: int
    namespace: str = ""


Parts = tuple[Part, ...]
Targets = tuple[TargetCluster, ...]


@dataclass(slots=True)
class _Account:
    """`capacity` is None while nothing usable is reported: no replica fits then (S10).

    What is `due` is taken from it when someone asks for room: under static weights nobody does. `quotas` are those of
    each namespace, as they were when the first of it was reserved.
    """

    cluster: Cluster
    capacity: Capacity | None
    reserved: dict[str, Parts] = field(default_factory=dict[str, Parts])
    due: list[Parts] = field(default_factory=list[Parts])
    quotas: dict[str, tuple[ReportedQuota, ...]] = field(default_factory=dict[str, tuple[ReportedQuota, ...]])
    namespaces: Counter[str] = field(default_factory=Counter[str])
    """Number of parts that are reserved for each namespace."""

    def reserve(self, key: str, parts: Parts) -> None:
        self.reserved[key] = self.reserved.get(key, ()) + parts
        self.due.append(parts)
        self.namespaces.update(part.namespace for part in parts)

    def release(self, key: str) -> bool:
        """Tells whether there was anything."""
        released = self.reserved.pop(key, None)
        if released is None:
            return False
        self.capacity, self.due = _capacity_of(self.cluster), list(self.reserved.values())
        for part in released:
            self.namespaces[part.namespace] -= 1
            if not self.namespaces[part.namespace]:
                self.quotas.pop(part.namespace, None)
        return True

    def copy(self) -> "_Account":
        reserved, quotas, namespaces = dict(self.reserved), dict(self.quotas), Counter(self.namespaces)
        return _Account(self.cluster, _capacity_of(self.cluster), reserved, list(reserved.values()), quotas, namespaces)

    def left(self) -> Capacity | None:
        due, self.due = self.due, []
        for part in (part for parts in due for part in parts):
            _take(self.capacity, request_of(part.requirements), part.replicas)
        return self.capacity

    def left_in(self, namespace: str, quotas: Sequence[ReportedQuota]) -> tuple[ReportedQuota, ...]:
        """The quotas of the namespace, with what is reserved in it counted as used."""
        reserved = [part for parts in self.reserved.values() for part in parts if part.namespace == namespace]
        before = self.quotas.get(namespace, ())
        asked = [(part.requirements, part.replicas) for part in reserved]
        return tuple(with_reserved(quota, before, asked) for quota in quotas)


class Reservations:
    """Capacity per cluster, and the `targets` that room is reserved for. Changes name the clusters concerned."""

    def __init__(self, read_quotas: ReadQuotas = no_quotas) -> None:
        self._read_quotas = read_quotas
        self._accounts: dict[str, _Account] = {}
        self.targets: dict[str, Targets] = {}
        self._copied: list[str] | None = None

    @contextmanager
    def tentatively(self, note: Callable[[Sequence[str]], None]) -> Generator[None]:
        """Takes back what is reserved and released within. `note` is told the clusters of that."""
        before, self._copied = (self._accounts, self.targets), list[str]()
        self._accounts, self.targets = dict(self._accounts), dict(self.targets)
        try:
            yield
        finally:
            note(self._copied)
            self._copied, (self._accounts, self.targets) = None, before

    def report(self, cluster: Cluster) -> bool:
        """Takes in what a cluster says of itself; whether its capacity changed. Its reservations are then fulfilled."""
        known = self._accounts.get(cluster.name)
        if known is not None and _same_resources(known.cluster, cluster):
            return False
        self._accounts[cluster.name] = _Account(cluster, _capacity_of(cluster))
        return True

    def forget(self, name: str) -> None:
        self._accounts.pop(name, None)

    def available(self, name: str, demand: Demand | None) -> int:
        account = self._accounts.get(name)
        capacity = None if account is None else account.left()
        return 0 if capacity is None else capacity.replicas(demand)

    def sets(self, name: str, components: Sequence[Component]) -> int:
        """Whole sets of components that fit. Holds: S10."""
        account = self._accounts.get(name)
        capacity = None if account is None else account.left()
        if capacity is None:
            return 0
        try:
            return capacity.sets(components)
        except (ValueError, ArithmeticError):
            return 0

    def quotas(self, namespace: str) -> QuotasByCluster:
        """Quotas of the namespace by cluster, with what is reserved in it counted as used."""
        found = self._quotas_of(namespace)
        return {name: self._accounts[name].left_in(namespace, found[name]) for name in found if name in self._accounts}

    def room_in_quotas(self, request: Request) -> Callable[[Cluster], int] | None:
        """An `Estimator`: room by the quotas of the request's namespace."""
        spec = request.spec
        namespace = spec.resource.namespace
        found = self._quotas_of(namespace)
        one = ((spec.replica_requirements, 1),)
        asked = tuple((c.replica_requirements, c.replicas) for c in spec.components) if request.is_set else one

        def room(cluster: Cluster) -> int:
            account, quotas = self._accounts.get(cluster.name), found.get(cluster.name, ())
            quotas = quotas if account is None else account.left_in(namespace, quotas)
            left = room_in_quotas(asked, quotas)
            return MAX_REPLICAS if left is None else left

        return room if found else None

    def all(self, without: Set[str] = NOBODY) -> Mapping[str, tuple[Reserved, ...]]:
        """Reservations in each cluster, in the order in which they were made; clusters without any are left out, and
        `without` names bindings whose reservations are."""
        found: dict[str, tuple[Reserved, ...]] = {}
        for name, account in self._accounts.items():
            parts = [(key, part) for key, parts in account.reserved.items() if key not in without for part in parts]
            if parts and account.capacity is not None:
                found[name] = tuple(Reserved(part.replicas, request_of(part.requirements), key) for key, part in parts)
        return found

    def restore(self, name: str, reserved: Sequence[Reserved]) -> None:
        """Reserves what `reserved` told, for its owners, or nobody in particular."""
        account = self._accounts.get(name)
        if account is not None and account.capacity is not None:
            for number, each in enumerate(reserved):
                requirements = ComponentReplicaRequirements(resource_request=each.resource_request)
                account.reserve(each.owner or f"#{number}", (Part(requirements, each.replicas),))

    def displaced(self, name: str, request: Request) -> int:
        """Number of what the request asks for, at most, that the reserved replicas take the place of."""
        account = self._accounts.get(name)
        if account is None or not account.reserved:
            return 0
        spec = request.spec
        asked = [c.replica_requirements for c in spec.components] if request.is_set else [spec.replica_requirements]
        smallest, total = _smallest([_demand(request_of(each)) for each in asked]), sum if len(asked) > 1 else max
        parts = (part for parts in account.reserved.values() for part in parts)
        demands = ((part.replicas, _demand(request_of(part.requirements))) for part in parts)
        return sum(count * max(1, total(_displaced(demand, smallest))) for count, demand in demands)

    def reserve(self, key: str, spec: ResourceBindingSpec, targets: Targets) -> list[str]:
        """Reserves for the binding what it gets beyond what it has. Returns the clusters that have less now."""
        before = {target.name: target.replicas for target in spec.clusters}
        changed = [target.name for target in targets if self._reserve(key, spec, before, target)]
        self.targets[key] = targets
        return changed

    def release(self, key: str, unless_at: Targets | None = None) -> list[str]:
        """Gives back what was reserved, unless the binding went just there. Returns the clusters that have more now."""
        reserved = self.targets.get(key)
        if reserved is None or reserved == unless_at:
            return []
        del self.targets[key]
        accounts = ((target.name, self._changing(target.name)) for target in reserved)
        return [name for name, account in accounts if account is not None and account.release(key)]

    def _reserve(self, key: str, spec: ResourceBindingSpec, before: Mapping[str, int], target: TargetCluster) -> bool:
        account = self._changing(target.name)
        parts = tuple(part for part in parts_of(spec, before, target) if part.replicas > 0)
        if account is None or account.capacity is None or not parts:
            return False
        namespace = spec.resource.namespace
        if namespace and namespace not in account.quotas:
            account.quotas[namespace] = self._read_quotas(namespace).get(target.name, ())
        account.reserve(key, parts)
        return True

    def _quotas_of(self, namespace: str) -> QuotasByCluster:
        return self._read_quotas(namespace) if namespace else no_quotas(namespace)

    def _changing(self, name: str) -> _Account | None:
        account = self._accounts.get(name)
        if account is not None and self._copied is not None and name not in self._copied:
            self._copied.append(name)
            self._accounts[name] = account = account.copy()
        return account


def parts_of(spec: ResourceBindingSpec, before: Mapping[str, int], target: TargetCluster) -> Parts:
    """Replicas that the target has more than `before`, with their requests; less than none where it has fewer."""
    namespace = spec.resource.namespace
    if target.components:
        asked = {c.name: c.replica_requirements for c in spec.components}
        new = target.name not in before
        return tuple(Part(asked.get(c.name), c.replicas, namespace) for c in target.components if new)
    return (Part(spec.replica_requirements, target.replicas - before.get(target.name, 0), namespace),)


def _demand(request: Mapping[str, Quantity]) -> Mapping[str, int]:
    """Amounts by resource; what cannot be read asks for nothing, as its reservation took nothing."""
    try:
        return dict(Demand.of(request).amounts)
    except (ValueError, ArithmeticError):
        return {}


def _smallest(demands: Sequence[Mapping[str, int]]) -> Mapping[str, int]:
    """Smallest amount of each resource that any of them asks for, if any does."""
    names = {name for demand in demands for name, amount in demand.items() if amount > 0}
    return {name: min(demand[name] for demand in demands if demand.get(name, 0) > 0) for name in names}


def _displaced(reserved: Mapping[str, int], asked: Mapping[str, int]) -> list[int]:
    """Numbers of replicas, by resource, that must go from a node so that one of the reserved size finds room there."""
    return [0, *(-(-reserved[name] // amount) for name, amount in asked.items() if name in reserved)]


def _capacity_of(cluster: Cluster) -> Capacity | None:
    """Holds: S10."""
    try:
        return Capacity.of(cluster)
    except (ValueError, ArithmeticError):
        return None


def _take(capacity: Capacity | None, request: Mapping[str, Quantity], count: int) -> None:
    """Takes the replicas out of the capacity; what cannot be read takes nothing."""
    try:
        if capacity is not None:
            capacity.take(request, count)
    except (ValueError, ArithmeticError):
        return


def _same_resources(old: Cluster, new: Cluster) -> bool:
    return (
        old.status.resource_summary == new.status.resource_summary
        and old.spec.resource_models == new.spec.resource_models
    )
