"""Sizes of copies that replace others, and the floors of their autoscalers (`core.execution.sizes`), for the binding
controller.

Of an application an autoscaler is known that the control plane propagates, in its namespace. It is looked at again when
the floors of its application change. Each shard follows all workloads: that of its autoscaler may be another's.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from kubeapi.meta import Manifest, ReadOnlyManifest, labels_of
from leeward.api.cluster import Cluster
from leeward.api.names import RETAIN_REPLICAS_LABEL, binding_name, cluster_of_execution_space
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Binding, Work
from leeward.controllers.binding_templates import BindingTemplates, OutOfReach
from leeward.controllers.override_rendering import Rendering
from leeward.controllers.removal_holds import RemovalHolds
from leeward.core.copies.disruption import NO_SIZES
from leeward.core.execution.sizes import (
    floors,
    kept_until,
    leaving_copies,
    size_text,
    sizes,
    surplus,
    with_floor,
)
from leeward.core.execution.works import replicas_by_cluster
from leeward.core.interpreter.fields import int_at
from leeward.core.propagation.autoscaled import scale_target
from leeward.runtime.binding_kinds import BindingKind
from leeward.runtime.clusters_by_name import ClustersByName
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.identity import Key, key_of
from leeward.runtime.index import Index
from leeward.runtime.informer import Informer

AUTOSCALER_KIND = "HorizontalPodAutoscaler"


class CopySizes:
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
        self._kind, self._works_of, self._templates, self._holds, self._look = kind, works_of, templates, holds, look
        self._interpreter, self._clock = plane.interpreter, plane.clock
        self._bindings: Informer[Binding] = plane.informers.of(kind.resource)
        self._fleet = ClustersByName(plane.informers.of(CLUSTERS))
        self._autoscalers = Index[Binding, str](self._bindings, _namespace_scaled)
        self._last: dict[Key, Mapping[str, int]] = {}
        """Floors when an application was looked at last; it only tells news."""
        self._bindings.on_change(lambda old, new: self._note(new or old))
        plane.informers.of(WORKS).on_change(self._work_changed)
        plane.informers.of(CLUSTERS).on_change(self._cluster_changed)

    def leaving(self, binding: Binding, present: Mapping[str, Work]) -> frozenset[str]:
        """Clusters whose copies are replaced (`leaving_copies`); none where nothing is ever held."""
        return leaving_copies(binding.spec, present, self._fleet) if self._holds.enabled else frozenset()

    async def of(self, binding: Binding, template: Manifest, present: Mapping[str, Work]) -> Mapping[str, int]:
        """Sizes of the copies that replace others, or have done so a short while ago. Raises: WorldError."""
        left, spec, kept = self.leaving(binding, present), binding.spec, self._kept(binding, present)
        if not left and not kept:
            return NO_SIZES
        autoscaler = await self._autoscaler_of(binding)
        if autoscaler is None and labels_of(template).get(RETAIN_REPLICAS_LABEL) != "true":
            return NO_SIZES
        more, counts = dict[str, int](), replicas_by_cluster(spec)
        for name, work in present.items() if left else ():
            is_sized = work.replicas is not None and name in counts
            asked = counts[name] if is_sized else await self._interpreter.replicas_in(work.spec.workload.manifests)
            more[name] = surplus(work, asked) if asked is not None else 0
        most = int_at(autoscaler, "spec", "maxReplicas") if autoscaler is not None else None
        found = sizes(spec, present if left else kept, left, more, most)
        return found if autoscaler is not None else {name: n for name, n in found.items() if n > counts[name]}

    async def told(
        self, binding: Binding, found: Mapping[str, int], present: Mapping[str, Work], made: Rendering
    ) -> Rendering:
        """The rendering with the sizes that the Works of targets tell: those that were `found`; while a copy leaves,
        also those that override policies ask for."""
        left = self.leaving(binding, present)
        if not left and not found:
            return made
        given, now = replicas_by_cluster(binding.spec), self._clock.now()
        manifests, instants = dict(made.manifests), [made.look_at]
        for name in {target.name for target in binding.spec.clusters} & manifests.keys():
            size: int | None = found.get(name, given[name])
            if manifests[name].applied:
                size = await self._interpreter.replicas_in([manifests[name].manifest])
            if size is not None and (name in found or (left and size != given[name])):
                until = None if left else kept_until(present.get(name), now)
                manifests[name] = replace(manifests[name], replicas=size_text(size, until))
                instants.append(until)
        return replace(made, manifests=manifests, look_at=min(filter(None, instants), default=None))

    def _kept(self, binding: Binding, present: Mapping[str, Work]) -> Mapping[str, Work]:
        """Works whose size is kept for now."""
        is_asked = self._holds.enabled and not binding.spec.asks_for_none
        now = self._clock.now()
        return {name: work for name, work in present.items() if is_asked and kept_until(work, now) is not None}

    def with_floors(
        self, binding: Binding, manifests: Mapping[str, ReadOnlyManifest]
    ) -> Mapping[str, ReadOnlyManifest]:
        """The manifests of an autoscaler, with its floors; those of another template as they are."""
        if _namespace_scaled(binding) is None or not self._holds.enabled or not manifests:
            return manifests
        target = self._target_of(next(iter(manifests.values())), binding)
        bounds = self._floors(target) if target is not None else NO_SIZES
        return {name: with_floor(each, bounds[name]) if name in bounds else each for name, each in manifests.items()}

    async def _autoscaler_of(self, binding: Binding) -> Manifest | None:
        """The propagated autoscaler that scales the binding's template. Raises: WorldError."""
        for scaling in self._autoscalers.get(binding.namespace):
            try:
                template = self._templates.known(scaling) or await self._templates.find(scaling)
            except OutOfReach:
                continue
            target = self._target_of(template, scaling) if template is not None else None
            if target is not None and key_of(target) == key_of(binding):
                return template
        return None

    def _target_of(self, autoscaler: ReadOnlyManifest, scaling: Binding) -> Binding | None:
        kind, name = scale_target(autoscaler)
        found = self._bindings.get(binding_name(kind[1], name), scaling.namespace)
        return found if found is not None and found.spec.resource.api_version == kind[0] else None

    def _floors(self, binding: Binding) -> Mapping[str, int]:
        works = {cluster_of_execution_space(work.namespace): work for work in self._works_of.get(key_of(binding))}
        return floors(binding.spec, works, self._fleet)

    def _note(self, binding: Binding | None) -> None:
        """Has the autoscalers of the namespace looked at if the floors of the application are others than before."""
        scaling = self._autoscalers.keys(binding.namespace) if binding is not None else ()
        if binding is None or not scaling or not self._holds.enabled:
            return
        key = key_of(binding)
        found = self._bindings.get(key.name, key.namespace)
        now = self._floors(found) if found is not None else NO_SIZES
        if self._last.pop(key, NO_SIZES) != now:
            for each in scaling:
                self._look(each)
        if now:
            self._last[key] = now

    def _work_changed(self, old: Work | None, new: Work | None) -> None:
        for work in filter(None, (new or old,)):
            key = self._kind.key_of_work(work)
            if key is not None and self._autoscalers.keys(key.namespace):
                self._note(self._bindings.get(key.name, key.namespace))

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if (old and old.is_ready) != (new and new.is_ready):
            for key in list(self._last):
                self._note(self._bindings.get(key.name, key.namespace))


def _namespace_scaled(binding: Binding) -> str | None:
    return binding.namespace if binding.spec.resource.kind == AUTOSCALER_KIND and binding.namespace else None
