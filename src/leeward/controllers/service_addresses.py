"""Workloads behind the Services and Ingresses of a namespace, for the addresses that their templates list.

A Service is looked at again when a workload behind it begins or ends to serve in a cluster. Decides nothing
(`core.execution.addresses`). Bounded by the number of bindings: `forget` those that are gone.
"""

from collections.abc import Callable, Mapping

from kubeapi.meta import Manifest
from leeward.api.cluster import Cluster
from leeward.api.names import binding_name, cluster_of_execution_space
from leeward.api.resource import CLUSTERS
from leeward.api.work import Binding, Work, is_application
from leeward.controllers.binding_templates import BindingTemplates, OutOfReach
from leeward.controllers.removal_holds import RemovalHolds
from leeward.core.execution.addresses import (
    ServingClusters,
    leads_traffic,
    selector_of_service,
    selects,
    services_behind,
    serving,
)
from leeward.runtime.binding_kinds import BindingKind
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.identity import Key, key_of
from leeward.runtime.index import Index
from leeward.runtime.informer import Informer


class AddressesBehind:
    """`works_of` finds a binding's Works by its key; `look` has a binding looked at."""

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
        self._works_of, self._clusters = works_of, plane.informers.of(CLUSTERS)
        self._templates, self._holds, self._look = templates, holds, look
        self._leading = Index[Binding, str](self._bindings, _namespace_led_to)
        self._last: dict[Key, ServingClusters] = {}
        """Clusters in which workloads served when they were looked at last; it only tells news."""
        holds.on_change(self._brake_changed)

    @property
    def is_braked(self) -> bool:
        return self._holds.is_braked

    def forget(self, key: Key) -> None:
        """Forgets a binding that is gone."""
        if self._last.pop(key, None) is not None:
            self._look_at_leading(key.namespace)

    def note(self, binding: Binding) -> None:
        """Has the Services of the namespace looked at if the workload serves in other clusters than before."""
        if not is_application(binding) or not self._leading.keys(binding.namespace):
            return
        now = self._serving(binding)
        if self._last.get(key_of(binding)) != now:
            self._last[key_of(binding)] = now
            self._look_at_leading(binding.namespace)

    async def behind(self, binding: Binding, template: Manifest) -> ServingClusters | None:
        """Clusters in which workloads behind a Service or an Ingress serve; None where none is known, or for other
        kinds. Raises: WorldError."""
        if not leads_traffic(binding):
            return None
        selectors = [selector_of_service(each) for each in await self._services(binding, template)]
        found: ServingClusters | None = None
        for workload in self._bindings.list(binding.namespace):
            made = await self._template(workload) if selectors and is_application(workload) else None
            if made is not None and any(selects(selector, made) for selector in selectors):
                found = (found or ServingClusters()) | self._serving(workload)
        return found

    async def _services(self, binding: Binding, template: Manifest) -> list[Manifest]:
        if template["kind"] == "Service":
            return [template]
        names = (binding_name("Service", name) for name in services_behind(template))
        bindings = (self._bindings.get(name, binding.namespace) for name in names)
        found = [await self._template(each) for each in bindings if each is not None]
        return [each for each in found if each is not None]

    async def _template(self, binding: Binding) -> Manifest | None:
        try:
            return self._templates.known(binding) or await self._templates.find(binding)
        except OutOfReach:
            return None

    def _serving(self, binding: Binding) -> ServingClusters:
        works = {cluster_of_execution_space(work.namespace): work for work in self._works_of.get(key_of(binding))}
        clusters: Mapping[str, Cluster] = {
            name: found for name in works if (found := self._clusters.get(name)) is not None
        }
        return serving(binding, works, clusters)

    def _look_at_leading(self, namespace: str) -> None:
        for key in self._leading.keys(namespace):
            self._look(key)

    def _brake_changed(self) -> None:
        for namespace in {key.namespace for key in self._last}:
            self._look_at_leading(namespace)


def _namespace_led_to(binding: Binding) -> str | None:
    return binding.namespace if leads_traffic(binding) else None
