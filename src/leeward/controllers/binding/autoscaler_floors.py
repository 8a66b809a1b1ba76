"""Floors of autoscalers: while copies leave, the autoscalers of their replacements keep these as large as they are to
be (`core.replacement_size`).

Which autoscaler scales which application is learnt as its binding is rendered.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from controller_runtime.identity import Key, key_of
from leeward.api.names import binding_name
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Binding, Work
from leeward.controllers.rendering.override_rendering import Rendering
from leeward.core.copies.disruption import copies_of
from leeward.core.propagation.autoscaled import scale_target, with_floor
from leeward.core.replacement_size import ReplacementSizes, replacement_sizes
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
        self._last: dict[Key, ReplacementSizes] = {}
        """Sizes by autoscaler's binding, until they are over."""
        self._scaling: dict[Key, set[Key]] = {}
        """Bindings of autoscalers by that of their target."""

    def start(self, works_of: WorksOf, look: Callable[[Key], None]) -> None:
        """`works_of` gives a binding's Works by cluster; `look` is told of autoscalers' bindings to render anew."""
        self._works_of, self._look = works_of, look
        self._bindings.on_change(self._binding_changed)
        self._works.on_change(self._work_changed)

    def raised(self, binding: Binding, rendering: Rendering) -> Rendering:
        """The rendering of an autoscaler with its floors; any other as it is."""
        if binding.spec.resource.kind != _AUTOSCALER:
            return rendering
        manifests, look_at = dict(rendering.manifests), rendering.look_at
        for cluster, each in rendering.manifests.items():
            found = self._sizes(binding, *scale_target(each.manifest))
            if found is not None and cluster in found.sizes:
                manifests[cluster] = replace(each, manifest=with_floor(each.manifest, found.sizes[cluster]))
                look_at = min(found.until, look_at or found.until)
        return replace(rendering, manifests=manifests, look_at=look_at)

    def _sizes(self, autoscaler: Binding, scaled: tuple[str, str], name: str) -> ReplacementSizes | None:
        """Sizes of the copies of its target, which is known by apiVersion and kind, and its name."""
        key = Key(autoscaler.namespace, binding_name(scaled[1], name))
        self._scaling.setdefault(key, set()).add(key_of(autoscaler))
        target = self._bindings.get(key.name, key.namespace)
        last, now = self._last.pop(key_of(autoscaler), None), self._clock.now()
        if target is None or target.spec.asks_for_none:
            return None
        found = target.spec.resource
        if (found.api_version, found.kind, found.name) != (*scaled, name):
            return None
        copies = copies_of(target.spec, self._works_of(target), self._fleet, now, needs=None)
        if target.spec.graceful_eviction_tasks:
            sizes = replacement_sizes(target.spec, copies, now, self._grace_seconds)
            until = datetime.max.replace(tzinfo=UTC)
        else:
            until = min(last.until, now + LINGERS) if last else now
            ready = {name: copies.rows[name].known.told for name in target.spec.assigned}
            sizes = last and ReplacementSizes({n: min(c, ready[n]) for n, c in last.sizes.items() if n in ready}, until)
        if sizes is None or now >= until:
            return None
        self._last[key_of(autoscaler)] = sizes._replace(until=until)
        return sizes

    def _binding_changed(self, old: Binding | None, new: Binding | None) -> None:
        if new is None and old is not None:
            self._last.pop(key_of(old), None)
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
