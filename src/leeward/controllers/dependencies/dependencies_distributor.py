"""The dependencies distributor: has what a template names follow it into the clusters that it goes to.

Of each dependant, a binding with `propagateDeps`, it finds out which objects the template names. For each of these
objects `attached_bindings` keeps a binding that says where it is needed. What there must be is decided in
`core.dependencies`.

An object that cannot be read is not gone: what is written for it stays (Holds: S5).

Karmada: pkg/dependenciesdistributor; same names and events, told when something has changed.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from controller_runtime import WARNING, Key, key_of
from kubeapi.meta import Manifest
from kubeclient import WorldError
from leeward.api.interpreter_config import DependentObjectReference
from leeward.api.names import DEPENDENCIES_ANNOTATION, DEPENDENCIES_DISTRIBUTOR_FINALIZER, EVICT_SHARED_ANNOTATION
from leeward.api.resource import RESOURCE_BINDINGS
from leeward.api.work import ResourceBinding
from leeward.controllers.dependencies.attached_bindings import AttachedBindings
from leeward.controllers.dependencies.dependency_events import COMPONENT, FAILED
from leeward.core.dependencies.requirements import (
    dependency_problem,
    follows,
    marks_patch,
    names_own_of_each_cluster,
    release_patch,
    size_problem,
)
from leeward.core.interpreter.dependencies import in_order
from leeward.core.interpreter.scripts import Operation
from leeward.core.propagation.reach import Reach, binding_problems
from leeward.runtime.binding_kinds import template_of
from leeward.runtime.contradictions import StandingDependencies
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.dependants import DependantIndex, Kind
from leeward.runtime.interpreter import NotInterpreted
from leeward.runtime.templates import TemplateKey, Templates, read_template


class DependenciesDistributor:
    def __init__(
        self,
        plane: ControlPlane,
        templates: Templates,
        reach: Reach | None = None,
        *,
        enabled: bool = True,
        leaves_last: bool = True,
    ) -> None:
        """`enabled` is the gate PropagateDeps: without it nothing follows any more, and what has followed goes with its
        dependant. `leaves_last`: an object stays in a cluster as long as a copy there may need it."""
        self._plane = plane
        self._templates = templates
        self._reach = reach or Reach()
        self._enabled = enabled
        self._bindings = plane.informers.of(RESOURCE_BINDINGS)
        self._index = DependantIndex()
        self._standing = StandingDependencies(plane)
        self._attached = AttachedBindings(
            plane, templates, self._index, self._reach, enabled=enabled, leaves_last=leaves_last
        )
        self._recorder = plane.recorder(COMPONENT)
        self._controller = plane.controller(COMPONENT, self.reconcile)

    def start(self) -> None:
        self._attached.start()
        self._bindings.on_change(self._binding_changed)
        self._templates.on_change(self._template_changed)
        self._plane.interpreter_changes.of_bindings((Operation.DEPENDENCY,), self._bindings, self._controller.queue.add)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        await self._bindings.wait_current()
        dependant = self._bindings.get(key.name, key.namespace)
        if dependant is None:
            self._let_go(key)
            self._index.forget(key)
            self._standing.forget(key)
        elif dependant.metadata.deletion_timestamp is not None:
            await self._finish(dependant)
        elif self._enabled and not binding_problems(dependant, self._reach):
            return await self._follow(dependant)
        return None

    async def _follow(self, dependant: ResourceBinding) -> datetime | None:
        """Finds out what a dependant needs, and has it looked at; when to ask again, where nobody could say."""
        key = key_of(dependant)
        template = await self._template(dependant) if follows(dependant) else None
        if follows(dependant) and template is None:
            return None
        if template is None or not await self._plane.interpreter.has_dependencies(template):
            self._let_go(key)
            self._index.put(key, ())
            await self._patch(dependant, {} if self._attached.leaving_with(dependant) else release_patch(dependant))
            return None
        try:
            dependencies = await self._plane.interpreter.dependencies(template)
        except NotInterpreted as error:
            about = template_of(dependant)
            self._recorder.note(about, WARNING, "GetDependenciesFailed", f"Get dependencies failed: {error}")
            return self._plane.clock.now() + error.again if error.again is not None else None
        doubtful = await self._doubtful(dependant, template, dependencies)
        followed = in_order((*dependencies, *map(_reference, doubtful)))
        if problem := size_problem(followed):
            self._recorder.note(template_of(dependant), WARNING, "GetDependenciesFailed", problem)
            self._tell(dependant, problem)
            return None
        wanted = [each for each in followed if self._may_follow(dependant, each)]
        await self._mark(dependant, followed)
        failures = await self._look_up(key, wanted)
        if failures:
            self._tell(dependant, "; ".join(dict.fromkeys(map(str, failures))))
            raise failures[0]
        return min(doubtful.values(), default=None)

    async def _doubtful(
        self, dependant: ResourceBinding, template: Manifest, named: Sequence[DependentObjectReference]
    ) -> Mapping[TemplateKey, datetime]:
        """Objects that a webhook has ceased to name, and until when that is doubted: they are followed meanwhile."""
        key = key_of(dependant)
        doubtful = await self._standing.doubtful(key, template, self._attached.listing(key), named)
        if doubtful:
            names = ", ".join(sorted(f"{each.kind} {each.key.name}" for each in doubtful))
            message = f"its webhook does not name {names} any more; that is believed when it has stood"
            self._recorder.note(template_of(dependant), WARNING, "GetDependenciesFailed", message)
        return doubtful

    async def _look_up(self, key: Key, wanted: Iterable[DependentObjectReference]) -> list[WorldError]:
        """Takes down which objects a dependant needs. Of a kind that cannot be read they are those that were known."""
        objects: set[TemplateKey] = set()
        kinds: set[Kind] = set()
        failures: list[WorldError] = []
        known = {*self._index.objects_of(key), *self._attached.listing(key)}
        for each in wanted:
            kind = (each.api_version, each.kind, each.namespace)
            if each.label_selector is None:
                objects.add(TemplateKey(each.api_version, each.kind, Key(each.namespace, each.name)))
            else:
                kinds.add(kind)
            try:
                found = await self._templates.select(each)
                objects |= {TemplateKey(each.api_version, each.kind, key_of(template)) for template in found}
            except WorldError as error:
                failures.append(error)
                objects |= {other for other in known if (other.api_version, other.kind, other.key.namespace) == kind}
        self._index.put(key, objects, kinds)
        self._attached.add(objects | known)
        return failures

    async def _mark(self, dependant: ResourceBinding, dependencies: Sequence[DependentObjectReference]) -> None:
        patch = marks_patch(dependant, dependencies)
        await self._patch(dependant, patch)
        if "annotations" in patch.get("metadata", {}):
            names = ", ".join(f"{each.kind} {each.name or 'by labels'}" for each in dependencies) or "none"
            about = template_of(dependant)
            self._recorder.step(about, "GetDependenciesSucceed", f"Get dependencies({names}) succeed.")

    async def _finish(self, dependant: ResourceBinding) -> None:
        """Lets a dependant go that is being deleted, when nothing lists it any more that leaves with it."""
        self._attached.add(self._attached.listing(key_of(dependant)))
        is_held = DEPENDENCIES_DISTRIBUTOR_FINALIZER in dependant.metadata.finalizers
        if is_held and not self._attached.leaving_with(dependant):
            await self._patch(dependant, release_patch(dependant))

    async def _template(self, dependant: ResourceBinding) -> Manifest | None:
        """None when it is gone, or replaced by another of the same name. Raises: WorldError."""
        wanted = dependant.spec.resource
        resource = await self._plane.server.discovery.resource(wanted.api_version, wanted.kind)
        return await read_template(self._plane.server, resource, wanted) if resource.namespaced else None

    def _may_follow(self, dependant: ResourceBinding, dependency: DependentObjectReference) -> bool:
        """Tells whether a dependency may be propagated: what each cluster has of its own may not; what is out of reach
        is told of."""
        if names_own_of_each_cluster(dependency):
            return False
        problem = dependency_problem(dependency, dependant.namespace, self._reach)
        if problem:
            self._tell(dependant, problem)
        return not problem

    def _let_go(self, key: Key) -> None:
        """Has everything looked at that this dependant needed, or is said to need."""
        self._attached.add({*self._index.objects_of(key), *self._attached.listing(key)})

    async def _patch(self, dependant: ResourceBinding, patch: Manifest) -> None:
        if patch:
            version = dependant.metadata.resource_version
            name, namespace = dependant.name, dependant.namespace
            self._bindings.remember(
                await self._plane.client.patch(RESOURCE_BINDINGS, name, patch, namespace, resource_version=version)
            )

    def _tell(self, dependant: ResourceBinding, message: str) -> None:
        self._recorder.warning(RESOURCE_BINDINGS, dependant, FAILED, message)

    def _binding_changed(self, old: ResourceBinding | None, new: ResourceBinding | None) -> None:
        for released in self._attached.note(old, new):
            self._controller.queue.add(released)
        if old is not None and new is not None and _concerns(old) == _concerns(new):
            return
        for binding in (old, new):
            if binding is not None and _is_dependant(binding):
                self._controller.queue.add(key_of(binding))

    def _template_changed(self, key: TemplateKey, _: bool) -> None:
        """Queues those that select the object by labels: what they select may be another now."""
        for dependant in sorted(self._index.selecting(key)):
            self._controller.queue.add(dependant)


def _reference(needed: TemplateKey) -> DependentObjectReference:
    return DependentObjectReference(
        api_version=needed.api_version, kind=needed.kind, namespace=needed.key.namespace, name=needed.key.name
    )


def _is_dependant(binding: ResourceBinding) -> bool:
    return follows(binding) or DEPENDENCIES_DISTRIBUTOR_FINALIZER in binding.metadata.finalizers


def _concerns(binding: ResourceBinding) -> tuple[object, ...]:
    """Parts of a dependant that decide about its dependencies, and those of it that are ours."""
    metadata = binding.metadata
    annotations = tuple(metadata.annotations.get(name) for name in (DEPENDENCIES_ANNOTATION, EVICT_SHARED_ANNOTATION))
    return metadata.uid, metadata.generation, metadata.deletion_timestamp, metadata.finalizers, annotations
