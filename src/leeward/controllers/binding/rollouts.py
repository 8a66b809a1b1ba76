"""Rollouts of bindings whose policy asks for stages: the decision of `core.rollout` on the fleet as it is now, and the
memory of it in the binding.

A binding without the annotation `leeward.dev/rollout` is not looked at. The memory is written before any Work gets a
revision: whoever takes over knows the way back.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from controller_runtime import Key, key_of
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest
from leeward.api.failback import OptionFault
from leeward.api.meta import Condition
from leeward.api.resource import CLUSTERS
from leeward.api.rollout import (
    NOT_STAGED,
    REVISION_ANNOTATION,
    ROLLOUT_ANNOTATION,
    ROLLOUT_REVISIONS_ANNOTATION,
    ROLLOUT_STATE_ANNOTATION,
    RolloutStrategy,
    parse_rollout,
)
from leeward.api.work import Binding, Work
from leeward.controllers.removals.removal_holds import RemovalHolds
from leeward.controllers.rendering.override_rendering import OverrideRendering
from leeward.core.execution.works import wanted_replicas
from leeward.core.overrides.override_rule import Rules
from leeward.core.rollout.revision import Revision, believed, generation_of, pack, revision_mark, revision_of
from leeward.core.rollout.rollout_decision import Reason, RolloutDecision, Standing, remembered
from leeward.core.rollout.staged_revisions import decide_rollout, undecided
from leeward.core.rollout.standings import standings_of
from leeward.core.rollout.state import RolloutState, render_state, state_of, wishes_of
from leeward.runtime.binding_kinds import BindingKind
from leeward.runtime.clusters_by_name import ClustersByName
from leeward.runtime.controller_context import ControlPlane

BRAKED = "Stopped: the brake is engaged; `leeward brake` says why."
UNSETTLED = "No cluster was observed since the control plane started: each cluster keeps its revision."


@dataclass(frozen=True, slots=True)
class StagedContents:
    """Contents of one revision for some clusters: the template, and the rules of its override policies; None where the
    present ones apply."""

    template: Manifest
    clusters: Collection[str]
    rules: tuple[tuple[Rules, ...], tuple[Rules, ...]] | None = None


@dataclass(frozen=True, slots=True)
class RolloutPlan:
    """`kept` clusters stay as their Works are, but for replicas. `marks` are the annotations of the Works that are
    made."""

    contents: tuple[StagedContents, ...] = ()
    kept: frozenset[str] = frozenset()
    marks: Mapping[str, str] = field(default_factory=dict[str, str])
    condition: Condition | None = None
    look_at: datetime | None = None

    def template_in(self, cluster: str, template: Manifest) -> Manifest:
        """The template of which the Work of the cluster is made; `template` where there is no rollout."""
        return next((each.template for each in self.contents if cluster in each.clusters), template)


NO_ROLLOUT = RolloutPlan()


class Rollouts:
    def __init__(
        self, plane: ControlPlane, kind: BindingKind, holds: RemovalHolds, overrides: OverrideRendering
    ) -> None:
        self._plane, self._kind, self._holds, self._overrides = plane, kind, holds, overrides
        self._fleet = ClustersByName(plane.informers.of(CLUSTERS))
        self._under_way: set[Key] = set()

    def under_way(self) -> Collection[Key]:
        """Bindings that are to be looked at when a cluster changes, or what may be believed."""
        return sorted(self._under_way)

    def gone(self, binding: Key) -> None:
        self._under_way.discard(binding)

    async def plan(
        self, binding: Binding, template: Manifest, present: Mapping[str, Work], alike: Collection[str]
    ) -> RolloutPlan:
        """The revision that each cluster is to have. Works in `alike` name none, and are as the template asks for.
        Raises: WorldError when it cannot be remembered."""
        now, clusters = self._plane.clock.now(), wanted_replicas(binding.spec)
        live = await self._revision(binding, template)
        known = dict(believed(binding, present.values(), template))
        before = state_of(binding, now)
        target = live.id if live is not None else before.target if before is not None else ""
        standings = standings_of(binding.spec, present, clusters, self._fleet, now, target, alike)
        decision = self._decide(binding, before, live, standings, {*known, target}, now)
        if live is not None:
            known[live.id] = live
        await self._remember(binding, decision, known, standings)
        self._under_way.discard(key_of(binding))
        if decision.reason is not Reason.COMPLETE:
            self._under_way.add(key_of(binding))
        plan = self._planned(template, present, decision, known, target)
        settles_at = self._holds.attention.settles_at(now)
        return replace(plan, look_at=min(filter(None, (plan.look_at, settles_at)), default=None))

    async def forget(self, binding: Binding) -> None:
        """Takes the memory off a binding whose policy asks for no stages any more. Raises: WorldError."""
        self._under_way.discard(key_of(binding))
        if ROLLOUT_STATE_ANNOTATION in binding.metadata.annotations:
            await self._write(binding, {ROLLOUT_STATE_ANNOTATION: None, ROLLOUT_REVISIONS_ANNOTATION: None})

    async def _revision(self, binding: Binding, template: Manifest) -> Revision | None:
        """The revision that is asked for; None while a policy that may be a part of it cannot be read."""
        policies = await self._overrides.policies(template)
        if policies is None:
            return None
        bare = await self._plane.interpreter.revise(template, 0) if binding.spec.is_workload else template
        return revision_of(template, bare, policies)

    def _decide(
        self,
        binding: Binding,
        before: RolloutState | None,
        live: Revision | None,
        standings: Mapping[str, Standing],
        known: Collection[str],
        now: datetime,
    ) -> RolloutDecision:
        target = live.id if live is not None else before.target if before is not None else ""
        if live is None:
            message = "An override policy that may apply cannot be read: each cluster keeps its revision."
            return undecided(before, target, standings, Reason.UNREADABLE, message)
        wishes = wishes_of(binding)
        try:
            strategy: RolloutStrategy = parse_rollout(binding.metadata.annotations[ROLLOUT_ANNOTATION])
        except OptionFault as error:
            message = f"{error}. Each cluster keeps its revision: correct the annotation of the policy."
            return undecided(before, target, standings, Reason.UNREADABLE, message, wishes, known)
        blind = BRAKED if self._holds.is_braked else ""
        if not self._holds.attention.has_settled(now):
            blind = UNSETTLED
        return decide_rollout(strategy, before, target, standings, wishes, now, known, blind)

    async def _remember(
        self,
        binding: Binding,
        decision: RolloutDecision,
        known: Mapping[str, Revision],
        standings: Mapping[str, Standing],
    ) -> None:
        """Writes what is to be remembered: the state, and the contents of revisions that are needed or in use."""
        state, annotations = remembered(decision, self._plane.clock.now()), binding.metadata.annotations
        names = dict.fromkeys((state.proven, state.target, state.previous))
        names |= dict.fromkeys(each.revision for each in standings.values() if each.revision)
        wanted = {
            ROLLOUT_STATE_ANNOTATION: render_state(state),
            ROLLOUT_REVISIONS_ANNOTATION: pack(known[name] for name in names if name in known),
        }
        patch = {name: text for name, text in wanted.items() if annotations.get(name) != text}
        if patch:
            await self._write(binding, patch)

    async def _write(self, binding: Binding, annotations: Mapping[str, str | None]) -> None:
        version = binding.metadata.resource_version
        patch = {"metadata": {"annotations": dict(annotations)}}
        written = await self._plane.client.patch(
            self._kind.resource, binding.name, patch, binding.namespace, resource_version=version
        )
        self._plane.informers.of(self._kind.resource).remember(written)

    def _planned(
        self,
        template: Manifest,
        present: Mapping[str, Work],
        decision: RolloutDecision,
        known: Mapping[str, Revision],
        target: str,
    ) -> RolloutPlan:
        """A revision without contents is kept where a Work has it; elsewhere only the template is known."""
        state, names = decision.state, dict[str, set[str]]()
        kept = frozenset(n for n, each in decision.revisions.items() if each not in known and n in present)
        for name, revision in decision.revisions.items():
            if name not in kept:
                names.setdefault(revision if revision in known else target, set()).add(name)
        marks = dict[str, str]()
        for revision, clusters in names.items():
            back = state.proven if state.proven != revision else state.previous
            marks |= dict.fromkeys(clusters, revision_mark(revision, back if back in known else ""))
        contents = tuple(
            StagedContents(template, clusters)
            if revision == target
            else StagedContents(
                known[revision].as_template(template, generation_of(present, revision)),
                clusters,
                known[revision].rules(),
            )
            for revision, clusters in names.items()
        )
        return RolloutPlan(contents, kept, marks, decision.condition, decision.wake_at)


def is_staged(binding: Binding, template: Manifest) -> bool:
    return ROLLOUT_ANNOTATION in binding.metadata.annotations and template["kind"] not in NOT_STAGED


def is_unmarked(work: Work) -> bool:
    """Tells whether the Work names no revision: it is of before its policy asked for stages."""
    return not work.metadata.annotations.get(REVISION_ANNOTATION)


def is_alike(work: Work, manifest: Manifest) -> bool:
    """Tells whether the Work has the contents of the Work `manifest`."""
    return is_equal(list(work.spec.workload.manifests), manifest["spec"]["workload"]["manifests"])
