"""The order of new Works: a copy's Work is written when what its template names is in the cluster.

Only a cluster that has no Work of the binding waits: what runs is brought up to date at once. The longest wait is
`core.dependencies.order.LONGEST_WAIT`; after it the Work is written, and an event says what it went without.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime

from controller_runtime import Key, key_of
from kubeapi.meta import Manifest
from kubeclient import WorldError
from leeward.api.interpreter_config import DependentObjectReference
from leeward.api.names import binding_name, execution_space, work_name
from leeward.api.resource import RESOURCE_BINDINGS, WORKS
from leeward.api.work import Binding, ResourceBinding, Work
from leeward.controllers.rendering.override_rendering import Rendering
from leeward.core.dependencies.attached import DependantName, listed_in
from leeward.core.dependencies.requirements import (
    LONGEST_WAIT,
    dependency_problem,
    follows,
    is_in_place,
    is_refused,
    names_own_of_each_cluster,
)
from leeward.core.execution.works import replicas_by_cluster
from leeward.core.propagation.reach import Reach
from leeward.runtime.binding_kinds import RESOURCE_BINDING
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.interpreter import NotInterpreted
from leeward.runtime.templates import Templates


class DependencyOrder:
    def __init__(self, plane: ControlPlane, templates: Templates, reach: Reach) -> None:
        self._plane = plane
        self._templates = templates
        self._reach = reach
        self._bindings = plane.informers.of(RESOURCE_BINDINGS)
        self._works = plane.informers.of(WORKS)
        self._recorder = plane.recorder("binding-controller")
        self._began: dict[Key, dict[str, datetime]] = {}
        """Instants since which a new copy waits, by binding and cluster."""
        self._read: dict[Key, tuple[ResourceBinding, Mapping[DependantName, frozenset[str]]]] = {}
        """Clusters by dependant (`listed_in`), of each object's binding as it was read last."""
        self._refused = set[Key]()
        """Works whose object their cluster does not have, of all kinds."""
        self._told: dict[Key, Mapping[str, str]] = {}
        """Refused objects by cluster, of each dependant of which an event has said so."""
        self._waiting: defaultdict[Key, set[Key]] = defaultdict(set)
        """Dependants that wait for an object, by its binding."""

    def start(self, look: Callable[[Key], None]) -> None:
        """Has a binding looked at again when something has changed that it waits for."""

        def binding_changed(old: ResourceBinding | None, new: ResourceBinding | None) -> None:
            if new is not None:
                self._keep_waiting(key_of(new), replicas_by_cluster(new.spec).keys())
                self._wake(key_of(new), look)
            elif old is not None:
                self._keep_waiting(key_of(old), ())
                self._read.pop(key_of(old), None)
                self._told.pop(key_of(old), None)

        def work_changed(old: Work | None, new: Work | None) -> None:
            work = new or old
            dependency = RESOURCE_BINDING.key_of_work(work) if work is not None else None
            if dependency is None or work is None:
                return
            if new is not None:
                self._wake(dependency, look)
            if is_refused(new) != (key_of(work) in self._refused):
                self._refused ^= {key_of(work)}
                attached = self._bindings.get(dependency.name, dependency.namespace)
                for dependant in attached.spec.required_by if attached is not None else ():
                    look(Key(dependant.namespace, dependant.name))

        self._bindings.on_change(binding_changed)
        self._works.on_change(work_changed)

    async def wait(self, binding: Binding, template: Manifest, cluster: str) -> datetime | None:
        """Instant until which the binding's Work in a cluster that has none waits; None when it may be written."""
        if not isinstance(binding, ResourceBinding) or not follows(binding):
            return None
        missing = [each async for each in self._missing(binding, template, cluster)]
        now = self._plane.clock.now()
        began = self._began.setdefault(key_of(binding), {})
        if missing and now < (until := began.setdefault(cluster, now) + LONGEST_WAIT):
            return until
        if missing:
            message = f"The Work in {cluster} is written before the objects that it needs: {', '.join(missing)}."
            self._recorder.warning(RESOURCE_BINDINGS, binding, "DependenciesMissing", message)
        self._keep_waiting(key_of(binding), began.keys() - {cluster})
        return None

    async def with_refused(self, binding: Binding, template: Manifest, rendering: Rendering) -> Rendering:
        """The rendering with the objects that its copies need, and that their clusters do not have."""
        found, rendered = dict[str, list[str]](), rendering.manifests
        if self._refused and isinstance(binding, ResourceBinding) and follows(binding):
            async for kind, name in self._needed(binding, template):
                work = work_name(kind, name, binding.namespace)
                for cluster in rendered:
                    if Key(execution_space(cluster), work) in self._refused:
                        found.setdefault(cluster, []).append(f"{kind} {name}")
        refused = {name: replace(rendered[name], refused=", ".join(sorted(each))) for name, each in found.items()}
        self._tell_refused(binding, {name: each.refused for name, each in refused.items()})
        return replace(rendering, manifests={**rendered, **refused}) if refused else rendering

    def _tell_refused(self, binding: Binding, refused: Mapping[str, str]) -> None:
        key = key_of(binding)
        for cluster, objects in sorted(refused.items()):
            if self._told.get(key, {}).get(cluster) != objects:
                message = f"The copy in {cluster} does not count as a replacement: {objects} is missing there."
                self._recorder.warning(RESOURCE_BINDINGS, binding, "DependenciesRefused", message)
        self._told.pop(key, None)
        if refused:
            self._told[key] = refused

    def _keep_waiting(self, binding: Key, clusters: Collection[str]) -> None:
        """Keeps since when these clusters wait, and forgets the others: one that needs a copy again waits anew."""
        began = {name: at for name, at in self._began.pop(binding, {}).items() if name in clusters}
        if began:
            self._began[binding] = began

    async def _missing(self, binding: ResourceBinding, template: Manifest, cluster: str) -> AsyncIterator[str]:
        """Objects that the copy needs and that are not in the cluster though they are in the control plane."""
        async for kind, name in self._needed(binding, template):
            if not self._is_in_place(binding, cluster, kind, name):
                yield f"{kind} {name}"

    async def _needed(self, binding: ResourceBinding, template: Manifest) -> AsyncIterator[tuple[str, str]]:
        """Objects of the control plane that the copies need, by kind and name."""
        try:
            dependencies = await self._plane.interpreter.dependencies(template)
        except NotInterpreted:
            return
        for each in dependencies:
            if names_own_of_each_cluster(each) or dependency_problem(each, binding.namespace, self._reach):
                continue
            for kind, name in await self._named(each):
                yield kind, name

    async def _named(self, dependency: DependentObjectReference) -> list[tuple[str, str]]:
        """The objects that there are, by kind and name; what cannot be read is waited for, too."""
        try:
            found = await self._templates.select(dependency)
        except WorldError:
            return [(dependency.kind, dependency.name)]
        return [(dependency.kind, template["metadata"]["name"]) for template in found]

    def _is_in_place(self, binding: ResourceBinding, cluster: str, kind: str, name: str) -> bool:
        attached = Key(binding.namespace, binding_name(kind, name))
        work = self._works.get(work_name(kind, name, binding.namespace), execution_space(cluster))
        found = self._bindings.get(attached.name, attached.namespace)
        needed = self._listed_in(found).get(key_of(binding), frozenset()) if found is not None else frozenset[str]()
        if attached == key_of(binding) or is_in_place(found, work, cluster, needed):
            return True
        self._waiting[attached].add(key_of(binding))
        return False

    def _listed_in(self, attached: ResourceBinding) -> Mapping[DependantName, frozenset[str]]:
        """Read once for each version: many may need one object."""
        key = key_of(attached)
        known = self._read.get(key)
        if known is None or known[0] is not attached:
            known = self._read[key] = attached, listed_in(attached)
        return known[1]

    def _wake(self, dependency: Key, look: Callable[[Key], None]) -> None:
        for binding in sorted(self._waiting.pop(dependency, ())):
            look(binding)
