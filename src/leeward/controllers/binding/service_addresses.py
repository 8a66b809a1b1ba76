"""Workloads behind the Services, Ingresses and Gateways of a namespace, for the addresses that their templates list.

A Service is looked at again when a workload of its namespace begins or ends to serve in a cluster, and when a route of
its namespace changes. A workload is looked at again when a Service that selects it comes to a cluster, leaves it, or
gets an address there. Decides nothing (`core.execution.addresses`, `.reachability`). Bounded by the number of bindings.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from controller_runtime import Index, Informer, Key, key_of
from kubeapi.meta import Manifest
from kubeclient import WorldError
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition, find_condition
from leeward.api.names import REACHABLE_CONDITION, binding_name, cluster_of_execution_space
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import AggregatedStatusItem, Binding, Work, is_application
from leeward.controllers.binding.binding_templates import BindingTemplates, OutOfReach
from leeward.controllers.removals.removal_holds import RemovalHolds
from leeward.core.cluster_health.ready_condition import unobserved
from leeward.core.execution.addresses import (
    ServingClusters,
    is_gateway_kind,
    leads_traffic,
    selector_of_service,
    selects,
    services_behind,
    services_behind_gateway,
    serving,
)
from leeward.core.execution.aggregate import aggregate
from leeward.core.execution.reachability import (
    SETTLES,
    ServiceCopies,
    lacks_address,
    may_need_service,
    reachability,
    stays,
)
from leeward.runtime.binding_kinds import BindingKind
from leeward.runtime.controller_context import ControlPlane


class WorkloadReach(NamedTuple):
    """Condition to be told now, and the instant at which another one may follow."""

    condition: Condition | None = None
    look_at: datetime | None = None


class AddressesBehind:
    """`works_of` finds a binding's Works by its key; `look` has a binding looked at. Each shard follows all workloads:
    those behind its Services may be another's."""

    def __init__(
        self,
        plane: ControlPlane,
        kind: BindingKind,
        works_of: Index[Work, Key],
        templates: BindingTemplates,
        holds: RemovalHolds,
        look: Callable[[Key], None],
    ) -> None:
        self._bindings: Informer[Binding] = plane.informers.of(kind.resource)
        self._plane, self._kind, self._works_of, self._clusters = plane, kind, works_of, plane.informers.of(CLUSTERS)
        self._templates, self._holds, self._look = templates, holds, look
        self._leading = Index[Binding, str](
            self._bindings, lambda each: each.namespace if leads_traffic(each) else None
        )
        self._services_in = Index[Binding, str](self._bindings, _namespace_of_service)
        self._unreached: dict[Key, datetime] = {}
        """Instants since which workloads are not reachable that do not say so yet."""
        self._led: dict[Key, Mapping[str, object]] = {}
        """State of each Service by cluster when it was looked at last: its selector, and whether it has an address."""
        self._last: dict[Key, ServingClusters] = {}
        """Clusters in which workloads served when they were looked at last; it only tells news."""
        self._bindings.on_change(self._binding_changed)
        plane.informers.of(WORKS).on_change(self._work_changed)
        self._clusters.on_change(self._cluster_changed)
        holds.on_change(self._look_at_all)

    @property
    def is_braked(self) -> bool:
        return self._holds.is_braked

    def reach(self, binding: Binding, template: Manifest) -> WorkloadReach:
        """Reachability of a workload; the one that is told already where nobody knows, or it may soon be over."""
        key, told = key_of(binding), find_condition(binding.status.conditions, REACHABLE_CONDITION)
        services = self._selecting(binding, template) if may_need_service(binding) else []
        works = self._works(key) if services else {}
        serving = self._serving(binding).stays if services else ()
        found = reachability(serving, works, services) if serving or not services else told
        if found is not None and found.status == "True" and told is None:
            found = None
        if found is None or found.status == "True" or (told is not None and told.status == "False"):
            self._unreached.pop(key, None)
            return WorkloadReach(found)
        now = self._plane.clock.now()
        settles_at = self._unreached.setdefault(key, now) + SETTLES
        return WorkloadReach(found) if now >= settles_at else WorkloadReach(told, settles_at)

    def _selecting(self, binding: Binding, template: Manifest) -> list[ServiceCopies]:
        """Services of the namespace that select the workload, as far as their templates were looked up."""
        found = [(key_of(each), self._templates.known(each)) for each in self._services_in.get(binding.namespace)]
        return [
            ServiceCopies(service, self._works(key))
            for key, service in found
            if service is not None and selects(selector_of_service(service), template)
        ]

    def with_leaving(
        self, binding: Binding, items: Sequence[AggregatedStatusItem], behind: ServingClusters | None
    ) -> tuple[AggregatedStatusItem, ...]:
        """The items of a Service, and those of copies that stay beside a workload which serves until it has left."""
        leaves = behind.leaves - {item.cluster_name for item in items} if behind is not None else frozenset[str]()
        works = {name: work for name, work in self._works(key_of(binding)).items() if name in leaves}
        return (*items, *aggregate(binding, works)[0])

    async def behind(self, binding: Binding, template: Manifest) -> ServingClusters | None:
        """Clusters in which workloads behind the template serve. None for other kinds, and where no workload is known
        behind one of its Services. Raises: WorldError."""
        if not leads_traffic(binding):
            return None
        workloads = [each for each in self._bindings.list(binding.namespace) if is_application(each)]
        found = ServingClusters()
        for service in await self._services(binding, template):
            known = await self._behind_service(service, workloads) if service is not None else None
            if known is None:
                return None
            found |= known
        return found

    async def _behind_service(self, service: Manifest, workloads: Sequence[Binding]) -> ServingClusters | None:
        """A workload whose template cannot be read may be behind it: where it runs, nobody can say."""
        selector, found = selector_of_service(service), None
        for workload in workloads if selector else ():
            try:
                made = await self._template(workload)
            except WorldError:
                known = self._serving(workload)
                unknown = ServingClusters(unknown=known.stays | known.leaves | known.unknown)
                found = (found or ServingClusters()) | unknown
                continue
            if made is not None and selects(selector, made):
                found = (found or ServingClusters()) | self._serving(workload)
        return found

    async def _services(self, binding: Binding, template: Manifest) -> list[Manifest | None]:
        """The Services that it leads to; None for one that is not propagated."""
        if template["kind"] == "Service":
            return [template]
        behind = services_behind(template)
        if template["kind"] == "Gateway":
            behind = services_behind_gateway(template, await self._routes(binding.namespace))
            if not behind:
                return [None]
        names = (binding_name("Service", name) for name in behind)
        bindings = [self._bindings.get(name, binding.namespace) for name in names]
        return [await self._template(each) if each is not None else None for each in bindings]

    async def _routes(self, namespace: str) -> list[Manifest]:
        """Templates of the routes of a namespace. Raises: WorldError."""
        found = [await self._template(each) for each in self._bindings.list(namespace) if _is_route(each)]
        return [each for each in found if each is not None]

    async def _template(self, binding: Binding) -> Manifest | None:
        """Raises: WorldError."""
        try:
            return self._templates.known(binding) or await self._templates.find(binding)
        except OutOfReach:
            return None

    def _works(self, key: Key) -> dict[str, Work]:
        return {cluster_of_execution_space(work.namespace): work for work in self._works_of.get(key)}

    def _serving(self, binding: Binding) -> ServingClusters:
        works = self._works(key_of(binding))
        clusters: Mapping[str, Cluster] = {
            name: found for name in works if (found := self._clusters.get(name)) is not None
        }
        return serving(binding, works, clusters)

    def _note(self, key: Key) -> None:
        """Has the Services of the namespace looked at if the workload serves in other clusters than before."""
        if not self._leading.keys(key.namespace):
            return
        binding = self._bindings.get(key.name, key.namespace)
        now = self._serving(binding) if binding is not None and is_application(binding) else None
        if self._last.get(key) == now:
            return
        if now is None:
            del self._last[key]
        else:
            self._last[key] = now
        for leading in self._leading.keys(key.namespace):
            self._look(leading)

    def _note_service(self, key: Key) -> None:
        """Has workloads looked at that a Service selects, where it is there in other clusters than before."""
        binding = self._bindings.get(key.name, key.namespace)
        if binding is None:
            self._unreached.pop(key, None)
        service = self._templates.known(binding) if binding is not None and _namespace_of_service(binding) else None
        there = {name: _state_of(work) for name, work in self._works(key).items() if stays(work)} if service else None
        if self._led.get(key) == there:
            return
        if there is None:
            del self._led[key]
        else:
            self._led[key] = there
        for workload in filter(is_application, self._bindings.list(key.namespace)):
            made = self._templates.known(workload)
            if service is None or (made is not None and selects(selector_of_service(service), made)):
                self._look(key_of(workload))

    def _binding_changed(self, old: Binding | None, new: Binding | None) -> None:
        for binding in filter(None, (new or old,)):
            self._note(key_of(binding))
            self._note_service(key_of(binding))
            for leading in self._leading.keys(binding.namespace) if _is_route(binding) else ():
                self._look(leading)

    def _work_changed(self, old: Work | None, new: Work | None) -> None:
        for work in filter(None, (new or old,)):
            if (key := self._kind.key_of_work(work)) is not None:
                self._note(key)
                self._note_service(key)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        seen = [each and (each.is_ready, unobserved(each) is None) for each in (old, new)]
        if seen[0] != seen[1]:
            self._look_at_all()

    def _look_at_all(self) -> None:
        for binding in filter(leads_traffic, self._bindings.list()):
            self._look(key_of(binding))


def _is_route(binding: Binding) -> bool:
    return is_gateway_kind(binding.spec.resource.api_version, binding.spec.resource.kind, "Route")


def _state_of(service: Work) -> object:
    return [selector_of_service(each) for each in service.spec.workload.manifests], lacks_address(service)


def _namespace_of_service(binding: Binding) -> str | None:
    resource = binding.spec.resource
    return binding.namespace if (resource.api_version, resource.kind) == ("v1", "Service") else None
