"""The bindings of both kinds, under one kind of key, and their Works by cluster. Only reads."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from controller_runtime import Index, IndexOfMany, Informer, Key, Statuses, key_of
from kubeapi.resource import Resource
from leeward.api.names import cluster_of_execution_space
from leeward.api.resource import RESOURCE_BINDINGS, WORKS
from leeward.api.work import Binding, Work
from leeward.core.dependencies.held_claims import dependants_of_claim, held_claims
from leeward.core.left_to_shards import as_rendered
from leeward.core.propagation.reach import Reach, binding_problems
from leeward.core.scheduling.claim_locality import HeldClaims
from leeward.runtime.binding_kinds import CLUSTER_RESOURCE_BINDING, RESOURCE_BINDING
from leeward.runtime.controller_context import ControlPlane

KINDS = (RESOURCE_BINDING, CLUSTER_RESOURCE_BINDING)
_REACH = Reach(skipped_namespaces=())
"""Reach without the namespaces of --skipped-propagating-namespaces: the binding controller renders nothing of those."""


class BindingKey(NamedTuple):
    plural: str
    key: Key


class Bindings:
    def __init__(self, plane: ControlPlane) -> None:
        self.works = plane.informers.of(WORKS)
        self._informers = {kind.resource.plural: plane.informers.of(kind.resource) for kind in KINDS}
        self._resources: dict[str, Resource[Any]] = {kind.resource.plural: kind.resource for kind in KINDS}
        self._statuses: dict[str, Statuses[Any]] = {k.resource.plural: plane.statuses.of(k.resource) for k in KINDS}
        self._is_led = not plane.share.works
        self._claims = IndexOfMany(plane.informers.of(RESOURCE_BINDINGS), dependants_of_claim)
        self._works_of = {kind.resource.plural: Index(self.works, kind.key_of_work) for kind in KINDS}

    def get(self, key: BindingKey) -> Binding | None:
        """Binding with the status that is about to be written."""
        binding = self._informers[key.plural].get(key.key.name, key.key.namespace)
        return self.expected(key, binding) if binding is not None else None

    def expected(self, key: BindingKey, binding: Binding) -> Binding:
        """The binding with the status that is about to be written, here or by its shard."""
        binding = self.statuses(key).expected(binding)
        return as_rendered(binding, self._works_of[key.plural].get(key.key)) if self._is_led else binding

    def all(self) -> Iterator[tuple[BindingKey, Binding]]:
        for plural, informer in self._informers.items():
            for binding in informer.list():
                yield BindingKey(plural, key_of(binding)), binding

    def resource(self, key: BindingKey) -> Resource[Any]:
        return self._resources[key.plural]

    def informer(self, key: BindingKey) -> Informer[Any]:
        return self._informers[key.plural]

    def statuses(self, key: BindingKey) -> Statuses[Any]:
        return self._statuses[key.plural]

    def works_by_cluster(self, key: BindingKey) -> dict[str, Work]:
        return {cluster_of_execution_space(w.namespace): w for w in self._works_of[key.plural].get(key.key)}

    def member(self, namespace: str, name: str) -> tuple[Binding, Mapping[str, Work]] | None:
        """A binding of a namespace with its Works, where it is to be placed."""
        key = BindingKey(RESOURCE_BINDINGS.plural, Key(namespace, name))
        binding = self.get(key)
        return (binding, self.works_by_cluster(key)) if binding is not None and is_placeable(binding) else None

    def held_claims(self, binding: Binding) -> HeldClaims:
        """The clusters that hold each claim which its template names."""
        namespaced = self._informers[RESOURCE_BINDINGS.plural]
        return held_claims(
            binding,
            lambda: self._claims.get((binding.namespace, binding.name)),
            lambda name: namespaced.get(name, binding.namespace),
            lambda name: self.works_by_cluster(BindingKey(RESOURCE_BINDINGS.plural, Key(binding.namespace, name))),
        )

    def keys_of_work(self, work: Work) -> Iterator[BindingKey]:
        """Keys of the bindings that it may belong to."""
        for kind in KINDS:
            key = kind.key_of_work(work)
            if key is not None:
                yield BindingKey(kind.resource.plural, key)

    def on_change(self, changed: Callable[[BindingKey, Binding | None, Binding | None], None]) -> None:
        for plural, informer in self._informers.items():
            informer.on_change(_with_key(plural, changed))


def _with_key(
    plural: str, changed: Callable[[BindingKey, Binding | None, Binding | None], None]
) -> Callable[[Binding | None, Binding | None], None]:
    def on_binding(old: Binding | None, new: Binding | None) -> None:
        binding = new or old
        if binding is not None:
            changed(BindingKey(plural, key_of(binding)), old, new)

    return on_binding


def is_placeable(binding: Binding) -> bool:
    """Tells whether there is something to decide: a binding that reaches too far is left as it is."""
    is_placed = binding.metadata.deletion_timestamp is None and binding.spec.placement is not None
    return is_placed and not binding_problems(binding, _REACH)
