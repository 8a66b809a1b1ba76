"""Floors of autoscalers: while copies leave, the autoscalers of their replacements keep these as large as they are to
be (`core.replacement_size`).

Which autoscaler scales which application is learnt as its binding is rendered. A floor is remembered by its Work alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from controller_runtime.identity import Key, key_of
from kubeapi.meta import ReadOnlyManifest
from leeward.api.names import binding_name
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Binding, Work
from leeward.controllers.rendering.override_rendering import Rendering
from leeward.core.copies.disruption import copies_of
from leeward.core.propagation.autoscaled import Floor, floor_of, scale_target, with_floor
from leeward.core.replacement_size import replacement_sizes
from leeward.runtime.binding_kinds import BindingKind
from leeward.runtime.clusters_by_name import ClustersByName
from leeward.runtime.controller_context import ControlPlane

WorksOf = Callable[[Binding], Mapping[str, Work]]
_AUTOSCALER = "HorizontalPodAutoscaler"
LINGERS = timedelta(seconds=300)
"""Time that floors outlast an eviction: only now the load comes, and an autoscaler remembers what its metrics asked
for, not its least. They keep only what is ready: a copy without room for more has not failed (S12). Kubernetes:
--horizontal-pod-autoscaler-downscale-stabilization. A restart ends it."""


class AutoscalerFloors:
    """`grace_seconds` are those of an eviction that says nothing else."""

    def __init__(self, plane: ControlPlane, kind: BindingKind, grace_seconds: float) -> None:
        self._clock, self._kind, self._grace_seconds = plane.clock, kind, grace_seconds
        self._bindings, self._works = plane.informers.of(kind.resource), plane.informers.of(WORKS)
        self._fleet = ClustersByName(plane.informers.of(CLUSTERS))
        self._scaling: dict[Key, set[Key]] = {}
        """Bindings of autoscalers by that of their target."""

    def start(self, works_of: WorksOf, look: Callable[[Key], None]) -> None:
        """`works_of` gives a binding's Works by cluster; `look` is told of autoscalers' bindings to render anew."""
        self._works_of, self._look = works_of, look
        self._bindings.on_change(self._binding_changed)
        self._works.on_change(self._work_changed)

    def raised(self, binding: Binding, rendering: Rendering, present: Mapping[str, Work]) -> Rendering:
        """The rendering of an autoscaler with its floors; any other as it is. `present` are its Works by cluster."""
        if binding.spec.resource.kind != _AUTOSCALER:
            return rendering
        manifests, look_at = dict(rendering.manifests), rendering.look_at
        for cluster, each in rendering.manifests.items():
            found = self._floor(binding, cluster, each.manifest, present.get(cluster))
            if found is not None:
                manifests[cluster] = replace(each, manifest=with_floor(each.manifest, found[0]))
                look_at = min(found[1], look_at or found[1])
        return replace(rendering, manifests=manifests, look_at=look_at)

    def _floor(
        self, autoscaler: Binding, cluster: str, manifest: ReadOnlyManifest, work: Work | None
    ) -> tuple[Floor, datetime] | None:
        """The floor in a cluster, and when to look again. `work` is the autoscaler's. Its target is known by apiVersion
        and kind, and its name."""
        scaled, name = scale_target(manifest)
        key = Key(autoscaler.namespace, binding_name(scaled[1], name))
        self._scaling.setdefault(key, set()).add(key_of(autoscaler))
        target = self._bindings.get(key.name, key.namespace)
        if target is None or target.spec.asks_for_none:
            return None
        found, now = target.spec.resource, self._clock.now()
        if (found.api_version, found.kind, found.name) != (*scaled, name):
            return None
        copies = copies_of(target.spec, self._works_of(target), self._fleet, now, needs=None)
        sizes = replacement_sizes(target.spec, copies, now, self._grace_seconds)
        if sizes is not None and cluster in sizes.sizes:
            return Floor(sizes.sizes[cluster]), sizes.until
        row, manifests = copies.rows.get(cluster), work.spec.workload.manifests if work is not None else ()
        floor = floor_of(manifests[0]) if manifests and scale_target(manifests[0]) == (scaled, name) else None
        if row is None or floor is None:
            return None
        size, until = floor
        if until is None or until > now + LINGERS:
            size, until = min(size, row.known.told), now + LINGERS
        return (Floor(size, until), until) if now < until else None

    def _binding_changed(self, old: Binding | None, new: Binding | None) -> None:
        for each in filter(None, (old, new)):
            if each.spec.graceful_eviction_tasks or new is None:
                self._look_at(key_of(each))

    def _work_changed(self, old: Work | None, new: Work | None) -> None:
        each = new or old
        key = self._kind.key_of_work(each) if each is not None and self._scaling else None
        binding = self._bindings.get(key.name, key.namespace) if key is not None and key in self._scaling else None
        if binding is not None and binding.spec.graceful_eviction_tasks:
            self._look_at(key_of(binding))

    def _look_at(self, target: Key) -> None:
        """Has the autoscalers of a target rendered anew."""
        scaling = self._scaling.get(target, set())
        scaling.intersection_update([each for each in scaling if self._bindings.get(each.name, each.namespace)])
        for autoscaler in sorted(scaling):
            self._look(autoscaler)
