"""Rendering of a binding's Works: which revision each cluster gets, with its replicas, and after its overrides."""

from collections.abc import Mapping
from dataclasses import replace

from kubeapi.codec import to_wire
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import int_at, value_at, with_annotations
from leeward.api.names import APPLIED_CLUSTER_OVERRIDES_ANNOTATION, APPLIED_OVERRIDES_ANNOTATION
from leeward.api.rollout import REVISION_ANNOTATION
from leeward.api.work import Binding, Work
from leeward.controllers.binding.autoscaler_floors import AutoscalerFloors
from leeward.controllers.binding.ordinal_slots import OrdinalSlots
from leeward.controllers.binding.rollouts import (
    NO_ROLLOUT,
    RolloutPlan,
    Rollouts,
    StagedContents,
    is_alike,
    is_staged,
    is_unmarked,
)
from leeward.controllers.gates.gates import Gates
from leeward.controllers.rendering.override_rendering import OverrideRendering, Rendering
from leeward.core.execution.works import build_work, build_works, manifests_by_cluster, replicas_by_cluster
from leeward.core.overrides.rendering import Overridden
from leeward.runtime.controller_context import ControlPlane

APPLIED_MARKS = (APPLIED_CLUSTER_OVERRIDES_ANNOTATION, APPLIED_OVERRIDES_ANNOTATION)
KEPT_MARKS = (*APPLIED_MARKS, REVISION_ANNOTATION)
"""Annotations that tell of the contents of a Work."""


class WorkRendering:
    """`gates` know of objects that copies need, `inject` is a feature gate."""

    def __init__(
        self,
        plane: ControlPlane,
        overrides: OverrideRendering,
        rollouts: Rollouts,
        gates: Gates | None,
        floors: AutoscalerFloors | None,
        *,
        inject: bool,
    ) -> None:
        self._interpreter, self._new_id = plane.interpreter, plane.randomness.uid
        self._overrides, self._rollouts, self._gates, self._inject = overrides, rollouts, gates, inject
        self._ordinals = OrdinalSlots(plane)
        self._floors = floors

    async def plan(self, binding: Binding, template: Manifest, present: Mapping[str, Work]) -> RolloutPlan:
        """The revision of each cluster, where the policy asks for stages. Raises: WorldError."""
        if not is_staged(binding, template):
            await self._rollouts.forget(binding)
            return NO_ROLLOUT
        alike = frozenset[str]()
        if unmarked := [name for name, work in present.items() if is_unmarked(work)]:
            _, desired = await self.render(binding, template, present, NO_ROLLOUT)
            alike = frozenset(n for n in unmarked if n in desired and is_alike(present[n], desired[n]))
        return await self._rollouts.plan(binding, template, present, alike)

    async def render(
        self, binding: Binding, template: Manifest, present: Mapping[str, Work], plan: RolloutPlan
    ) -> tuple[Rendering, dict[str, Manifest]]:
        """Renders the template for each cluster; and the Works that make it there."""
        if plan is NO_ROLLOUT:
            return await self._render(binding, template, present, None)
        rendering, works = Rendering({}, is_overridden=False), dict[str, Manifest]()
        for contents in plan.contents:
            part, made = await self._render(binding, contents.template, present, contents)
            works |= {
                name: with_annotations(work, {REVISION_ANNOTATION: plan.marks[name]}) for name, work in made.items()
            }
            rendering = _joined(rendering, part)
        if plan.kept:
            kept = StagedContents(template, plan.kept, ((), ()))
            part, made = await self._render(binding, template, present, kept)
            for name, work in made.items():
                manifests = await self._kept_manifests(part.manifests[name], present[name])
                works[name] = _as_kept(work, present[name], manifests)
            kept_as = {name: Overridden(works[name]["spec"]["workload"]["manifests"][0]) for name in made}
            rendering = _joined(rendering, replace(part, manifests=kept_as))
        return rendering, works

    def with_id(
        self,
        binding: Binding,
        template: Manifest,
        plan: RolloutPlan,
        rendering: Rendering,
        cluster: str,
        present: Mapping[str, Work],
        work_id: str,
    ) -> Manifest:
        """The Work of one cluster with this permanent id."""
        inject, contents = self._inject or present, plan.template_in(cluster, template)
        work = build_work(binding, contents, rendering.manifests, cluster, work_id, inject=inject)
        return with_annotations(work, {REVISION_ANNOTATION: plan.marks[cluster]}) if cluster in plan.marks else work

    async def _render(
        self, binding: Binding, template: Manifest, present: Mapping[str, Work], contents: StagedContents | None
    ) -> tuple[Rendering, dict[str, Manifest]]:
        """Renders for the clusters of these contents, or for all."""
        counts = replicas_by_cluster(binding.spec).values() if binding.spec.is_workload else ()
        revised = await self._interpreter.revise_each(template, counts)
        manifests, rules = manifests_by_cluster(binding, template, revised), None
        if contents is not None:
            manifests, rules = {n: each for n, each in manifests.items() if n in contents.clusters}, contents.rules
        is_leaving = binding.spec.graceful_eviction_tasks or present.keys() - manifests.keys()
        if self._floors is not None and is_leaving and any(map(_tells_pods, present.values())):
            manifests = {name: _started(each, present.get(name)) for name, each in manifests.items()}
        rendering = await self._overrides.render(template, manifests, present, rules)
        rendering = await self._ordinals.number(binding, template, rendering, present)
        if self._gates is not None:
            rendering = await self._gates.with_refused(binding, template, rendering)
        rendering = self._floors.raised(binding, rendering, present) if self._floors is not None else rendering
        inject = self._inject or present
        return rendering, build_works(
            binding, template, None, self._new_id, rendering.manifests, present, inject=inject
        )

    async def _kept_manifests(self, wanted: Overridden, work: Work) -> list[Manifest]:
        """The manifests of a Work whose revision nobody knows, with the replicas that are wanted now. Where overrides
        were applied to it, they may be those of an override, and stay."""
        manifests = [to_wire(each) for each in work.spec.workload.manifests]
        is_overridden = any(name in work.metadata.annotations for name in APPLIED_MARKS)
        if is_overridden or len(manifests) != 1:
            return manifests
        asked = await self._interpreter.replicas_in([wanted.manifest])
        if asked is None or asked == await self._interpreter.replicas_in(manifests):
            return manifests
        return [await self._interpreter.revise(manifests[0], asked)]


def _started(manifest: ReadOnlyManifest, work: Work | None) -> ReadOnlyManifest:
    """The manifest for a copy that replaces one with Pods: a new Deployment is not paused before it has Pods, too.

    A pause halts the rollout of Pods that run. Kubernetes makes no Pods of a new Deployment that is paused.
    """
    is_new = work is None or not (_tells_pods(work) or any(map(_is_paused, work.spec.workload.manifests)))
    return {**manifest, "spec": {**manifest["spec"], "paused": False}} if is_new and _is_paused(manifest) else manifest


def _is_paused(manifest: ReadOnlyManifest) -> bool:
    return manifest["kind"] == "Deployment" and value_at(manifest, "spec", "paused") is True


def _tells_pods(work: Work) -> bool:
    return any(int_at(each.status, "replicas") for each in work.status.manifest_statuses)


def _joined(one: Rendering, other: Rendering) -> Rendering:
    return Rendering(
        {**one.manifests, **other.manifests},
        one.is_overridden or other.is_overridden,
        {**one.failures, **other.failures},
        min(filter(None, (one.look_at, other.look_at)), default=None),
    )


def _as_kept(made: Manifest, work: Work, manifests: list[Manifest]) -> Manifest:
    """The Work as it is, with what a binding says of each of its Works, and these manifests."""
    found = work.metadata.annotations
    marks = {name: found[name] for name in KEPT_MARKS if name in found}
    return with_annotations({**made, "spec": {**made["spec"], "workload": {"manifests": manifests}}}, marks)
