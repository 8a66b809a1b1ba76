"""Rendering of a binding's manifests with the override policies that select them, for the binding controller; and of
the manifests of a Namespace, which has no binding.

What cannot be known leaves things as they are: a Cluster that is not listed, or a policy that is there and has never
been read, but which the binding's Works were made with, or which may select the template: a new Work is not made
without what is to be overridden (Holds: S5, S10, S14).

Karmada: pkg/controllers/binding/common.go (`ensureWork`), pkg/util/overridemanager.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from controller_runtime import Informer, Key
from kubeapi.codec import DecodeError, from_wire
from kubeapi.meta import ReadOnlyManifest, labels_of
from leeward.api.cluster import Cluster
from leeward.api.names import (
    APPLIED_CLUSTER_OVERRIDES_ANNOTATION,
    APPLIED_OVERRIDES_ANNOTATION,
    BINDING_NAMESPACE_ANNOTATION,
)
from leeward.api.override import ClusterOverridePolicy, OverridePolicy
from leeward.api.resource import CLUSTERS
from leeward.api.work import Work
from leeward.controllers.rendering.rendered_admission import RenderedAdmission
from leeward.core.overrides.applicable import rules_for, select_overridden, selecting, selects
from leeward.core.overrides.applied import policies_in
from leeward.core.overrides.override_rule import AnyOverridePolicy, Rules
from leeward.core.overrides.rendering import Overridden, OverrideFailure, too_many
from leeward.planning.rendered_overrides import RenderedOverrides
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.override_matching import KindOf, OverrideMatching, kind_of_binding

UNREAD_AGAIN = timedelta(seconds=30)
"""Pause after which a policy that could not be read is looked for again, and admission is asked again: of the deletion
of the one, and of changed rules of the other, nothing is told."""
Selecting = Callable[[ReadOnlyManifest], Awaitable[Sequence[Rules] | OverrideFailure]]
"""Function from a manifest to the OverridePolicies that select it."""
_APPLIED = (APPLIED_CLUSTER_OVERRIDES_ANNOTATION, APPLIED_OVERRIDES_ANNOTATION)


@dataclass(frozen=True, slots=True)
class Rendering:
    """The manifests of a binding by cluster, and why there is none. `is_overridden`: there are override policies.

    `look_at` is when to try again, where nobody tells of a change.
    """

    manifests: Mapping[str, Overridden]
    is_overridden: bool = True
    failures: Mapping[str, OverrideFailure] = field(default_factory=dict[str, OverrideFailure])
    look_at: datetime | None = None


class OverrideRendering:
    """`concerns` is told of each binding that is to be rendered anew."""

    def __init__(
        self,
        plane: ControlPlane,
        name: str,
        bindings: Informer[Any],
        template_of: Callable[[Any], ReadOnlyManifest | None],
        concerns: Callable[[Key], None],
        kind_of: KindOf = kind_of_binding,
        admission: RenderedAdmission | None = None,
    ) -> None:
        """`template_of` is the resource template of a binding, as far as it is known; `name` is its controller's.
        `admission` is asked about what was rendered."""
        self._admission = admission
        self._plane = plane
        self._clusters = plane.informers.of(CLUSTERS)
        self._matching = OverrideMatching(plane, f"{name}-overrides", bindings, template_of, concerns, kind_of)

    def start(self) -> None:
        self._matching.start()

    def may_change(self, old: Cluster | None, new: Cluster) -> bool:
        """Tells whether other rules may mean the cluster now: they go by its labels and fields."""
        return self._matching.has_any() and (old is None or _asked_of(old) != _asked_of(new))

    async def render(
        self,
        template: ReadOnlyManifest,
        manifests: Mapping[str, ReadOnlyManifest],
        present: Mapping[str, Work],
        rules: tuple[Sequence[Rules], Sequence[Rules]] | None = None,
    ) -> Rendering:
        """`manifests` are those of the clusters before overrides, `present` the binding's Works. `rules`, cluster-wide
        and of the namespace, are those of a revision of before; without them the present ones apply.

        Raises: Unreachable while the policies have not been listed."""
        await self._matching.wait_synced()
        if rules is not None:
            return await self._render_all(manifests, *rules, partial(self._selecting_of_revision, template, rules[1]))
        if unread := self._applied_unread(present.values()) or await self._selecting_unread(template):
            failures = dict.fromkeys(manifests, OverrideFailure(None, unread))
            return Rendering({}, failures=failures, look_at=self._plane.clock.now() + UNREAD_AGAIN)
        cluster_wide = await self._matching.cluster_wide(template)
        own = await self._matching.namespaced(template)
        return await self._render_all(manifests, cluster_wide, own, self._selecting)

    async def policies(self, template: ReadOnlyManifest) -> Sequence[Rules] | None:
        """The policies that select the template; None while one that may do so cannot be read. Raises: Unreachable."""
        await self._matching.wait_synced()
        if await self._selecting_unread(template):
            return None
        return (*await self._matching.cluster_wide(template), *await self._matching.namespaced(template))

    async def _render_all(
        self,
        manifests: Mapping[str, ReadOnlyManifest],
        cluster_wide: Sequence[Rules],
        own: Sequence[Rules],
        select: Selecting,
    ) -> Rendering:
        """`own` select the template; `select` says which ones do where its labels are overridden."""
        if not cluster_wide and not own:
            return Rendering({name: Overridden(each) for name, each in manifests.items()}, is_overridden=False)
        rendered, refused = dict[str, Overridden](), dict[str, OverrideFailure]()
        known = RenderedOverrides()
        for cluster, manifest in manifests.items():
            result = await self._render(self._clusters.get(cluster), manifest, cluster_wide, own, select, known)
            if isinstance(result, OverrideFailure):
                refused[cluster] = result
            else:
                rendered[cluster] = result
        not_admitted = await self._admission.refused(rendered) if self._admission is not None else {}
        admitted = {cluster: each for cluster, each in rendered.items() if cluster not in not_admitted}
        again = not_admitted or (refused and any(self._matching.never_read()))
        look_at = self._plane.clock.now() + UNREAD_AGAIN if again else None
        return Rendering(admitted, failures={**refused, **not_admitted}, look_at=look_at)

    async def _render(
        self,
        cluster: Cluster | None,
        manifest: ReadOnlyManifest,
        cluster_wide: Sequence[Rules],
        own: Sequence[Rules],
        select: Selecting,
        known: RenderedOverrides,
    ) -> Overridden | OverrideFailure:
        if cluster is None:
            return OverrideFailure(None, "the Cluster is not known, and so not which rules mean it")
        first = known.override(Overridden(manifest), rules_for(cluster, cluster_wide))
        result = too_many(cluster_wide) or await self._plane.turns.finish(first)
        if isinstance(result, OverrideFailure):
            return result
        if labels_of(result.manifest) != labels_of(manifest):
            chosen = await select(result.manifest)
            if isinstance(chosen, OverrideFailure):
                return chosen
            own = chosen
        return too_many(own) or await self._plane.turns.finish(known.override(result, rules_for(cluster, own)))

    async def _selecting(self, manifest: ReadOnlyManifest) -> Sequence[Rules] | OverrideFailure:
        """The OverridePolicies that select a manifest as the cluster-wide ones made it."""
        unread = await self._selecting_unread(manifest)
        return OverrideFailure(None, unread) if unread else await self._matching.namespaced(manifest)

    async def _selecting_of_revision(
        self, template: ReadOnlyManifest, kept: Sequence[Rules], manifest: ReadOnlyManifest
    ) -> Sequence[Rules] | OverrideFailure:
        """OverridePolicies that select a manifest of a revision of before: the `kept` ones, which it holds, and present
        ones that no revision holds. These do not select the `template` itself."""
        present = await self._selecting(manifest)
        if isinstance(present, OverrideFailure):
            return present
        own = [(rules, select_overridden(rules[0].policy)) for rules in kept]
        others = [(rules, select_overridden(rules[0].policy)) for rules in present]
        return selecting([*own, *(each for each in others if not selects(each[1], template))], manifest)

    async def _selecting_unread(self, manifest: ReadOnlyManifest) -> str:
        """A sentence about a policy that may select the manifest, and of which nothing is known; empty without one."""
        for kind, unread in zip((ClusterOverridePolicy, OverridePolicy), self._matching.never_read(), strict=True):
            if (key := await self._matching.first_selecting(unread, manifest)) is not None:
                return _unread(key, unread[key], kind, "may select this")
        return ""

    def _applied_unread(self, works: Iterable[Work]) -> str:
        """A sentence about a policy that a Work says it was made with, and of which nothing is known now; empty when
        there is none."""
        cluster_wide, own = self._matching.never_read()
        if not cluster_wide and not own:
            return ""
        for work in works:
            names = {annotation: policies_in(work.metadata.annotations.get(annotation, "")) for annotation in _APPLIED}
            namespace = work.metadata.annotations.get(BINDING_NAMESPACE_ANNOTATION, "")
            for key in sorted(cluster_wide):
                if key.name in names[APPLIED_CLUSTER_OVERRIDES_ANNOTATION]:
                    return _unread(key, cluster_wide[key], ClusterOverridePolicy)
            for key in sorted(own):
                if key.namespace == namespace and key.name in names[APPLIED_OVERRIDES_ANNOTATION]:
                    return _unread(key, own[key], OverridePolicy)
        return ""


def _unread(key: Key, found: ReadOnlyManifest, kind: type[AnyOverridePolicy], matters: str = "was applied here") -> str:
    """A field that is not known here is named: it may be of a newer Karmada."""
    try:
        from_wire({**found}, kind)
        why = ""
    except DecodeError as error:
        why = f" ({error})"
    return f"{kind.__name__} {key} cannot be read, and {matters}{why}"


def _asked_of(cluster: Cluster) -> tuple[object, ...]:
    spec = cluster.spec
    return cluster.metadata.labels, spec.provider, spec.region, spec.zones
