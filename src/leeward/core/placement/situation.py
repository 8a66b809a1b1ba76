"""Situation: the meaning of a snapshot for its binding, before anything is done about it.

Each part is a question to one module, asked when it is first needed. Here alone it is chosen whether Leeward's law and
ranks decide or Karmada's (`situation_kind`).
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import ClassVar

import msgspec

from leeward.api.failback import FailbackOptions
from leeward.api.purge_mode import PurgeMode, rules_of
from leeward.api.work import AggregatedStatusItem, Binding, ResourceBindingSpec, TargetCluster, Work
from leeward.core.copies.disruption import CopyTable, copies_of
from leeward.core.copies.evidence import is_fresh
from leeward.core.copies.job_copies import is_job_under_way, over_in
from leeward.core.copies.memory import NO_INSTANTS, BindingMemory, memory_patch, parse_memory
from leeward.core.eviction.application import FailedCopies, failures_of, seen_items
from leeward.core.eviction.blocked_evictions import is_braked
from leeward.core.eviction.due_evictions import DueEvictions, Eviction, due_evictions, purge_mode_of
from leeward.core.eviction.held_reasons import Deferral, HeldReason
from leeward.core.eviction.original_placement import (
    OriginalPlacement,
    failback_options,
    forgotten,
    parse_original_placement,
)
from leeward.core.eviction.progress import KARMADA_LAW, LEEWARD_LAW, Assessment, Law, assess_tasks
from leeward.core.eviction.shared_resources import stays_under_taints
from leeward.core.eviction.stalled_replacements import StalledTargets, await_targets, find_stalled
from leeward.core.eviction.tasks import moves_on
from leeward.core.eviction.volumes import has_claims, stay_behind
from leeward.core.eviction.withdrawal import Returns
from leeward.core.placement.cause import with_cause
from leeward.core.placement.decision import Outcome
from leeward.core.placement.ranks import NO_RANKS, ClusterRank, Ranks, done_in, has_ended
from leeward.core.placement.snapshot import Authority, PlacementSettings, Snapshot, authority_over
from leeward.core.scheduling import ClusterArrays, Trace, Unplaceable
from leeward.core.scheduling.affinity import in_term_of_ended
from leeward.core.scheduling.cached_property import CachedProperty
from leeward.core.scheduling.reschedule import placement_changed
from leeward.core.scheduling.selection import is_once


@dataclass(frozen=True)
class Situation:
    """`deferred`: clusters that may not be left yet because other bindings come first. `trace` is told why.

    `wanted`: the binding as it is, where that of the snapshot asks for less (`within_usage`). `own`: the binding with
    its own placement, where that of the snapshot has two affinity terms joined (`scheduling.joined_terms`).
    `unplaceable`: its placement is beyond its bounds, so that nothing gets a place by it.
    """

    snapshot: Snapshot
    deferred: Mapping[str, Deferral] = field(default_factory=dict[str, Deferral])
    trace: Trace | None = None
    wanted: Binding | None = None
    own: Binding | None = None
    unplaceable: Unplaceable | None = None
    law: ClassVar[Law] = LEEWARD_LAW
    cleared_by: ClassVar[Collection[str]] = ()
    """Failures to place by which the present result is given up."""
    spares_the_living: ClassVar[bool] = True
    """Tells whether dead targets gain nothing, and give first."""
    minds_terms: ClassVar[bool] = True
    """Tells whether what is well leaves an affinity term with a task, and comes back in steps."""

    @CachedProperty
    def binding(self) -> Binding:
        return self.snapshot.binding

    @CachedProperty
    def clusters(self) -> ClusterArrays:
        return self.snapshot.clusters

    @CachedProperty
    def settings(self) -> PlacementSettings:
        return self.snapshot.settings

    @CachedProperty
    def now(self) -> datetime:
        return self.snapshot.now

    def with_cause(self, result: Unplaceable) -> Unplaceable:
        """The result with its cause."""
        return with_cause(result, self.own_binding.spec, self.clusters)

    @property
    def leaves_terms_gracefully(self) -> bool:
        return self.minds_terms and self.settings.graceful

    @CachedProperty
    def authority(self) -> Authority:
        found, refusal = authority_over(self.binding, self.settings), self.unplaceable
        return replace(found, places=False, returns=False, refusal=refusal) if refusal and found.places else found

    @property
    def finishes(self) -> bool:
        """Tells whether this process ends evictions: another one that places copies has seen the binding."""
        is_observed = self.binding.status.scheduler_observed_generation == self.binding.metadata.generation
        return self.settings.finish and (self.settings.place or is_observed)

    @CachedProperty
    def copies(self) -> CopyTable:
        """The table of the binding's copies."""
        return copies_of(self.binding.spec, self.snapshot.works, self.clusters, self.now, needs=None)

    @CachedProperty
    def assessment(self) -> Assessment:
        """Progress of the evictions, by all that is wanted: replicas that a quota refuses are not replaced."""
        at, tasks = self.snapshot, self.snapshot.binding.spec.graceful_eviction_tasks
        if not self.finishes or not tasks:
            return Assessment(tasks, (), (), None)
        wanted, copies, grace = self.wanted or at.binding, self.copies, at.settings.graceful_seconds
        if wanted is not at.binding:
            copies = copies_of(wanted.spec, at.works, at.clusters, at.now, needs=None)
        return assess_tasks(wanted, copies, at.now, grace, law=self.law, brake=at.brake, attention=at.attention)

    @CachedProperty
    def spec(self) -> ResourceBindingSpec:
        """The binding's spec without the eviction tasks that are finished. A Job of which a copy has ended stays in its
        affinity term."""
        spec = msgspec.structs.replace(self.binding.spec, graceful_eviction_tasks=self.assessment.kept)
        return in_term_of_ended(spec, self.binding.status, self.ended)

    @CachedProperty
    def taint_evictions(self) -> DueEvictions:
        """Evictions that are due because of taints, whatever holds them."""
        return self.evictions_of(self.spec.clusters)

    def evictions_of(self, targets: tuple[TargetCluster, ...]) -> DueEvictions:
        """Evictions that taints make due of such targets, now or later."""
        placed = msgspec.structs.replace(self.spec, clusters=targets if self.authority.evicts else ())
        return due_evictions(placed, self.clusters, self.now, self.snapshot.attention)

    @CachedProperty
    def purge_mode(self) -> PurgeMode:
        """Purge mode of evictions by taints."""
        return purge_mode_of(self.spec.failover, self.settings.purge_mode)

    @CachedProperty
    def stays_in_place(self) -> HeldReason | None:
        """Reason why no taint evicts it: others live in it, or its volumes would stay behind."""
        if not self.settings.keep_without_place:
            return None
        if stays_under_taints(self.binding):
            return HeldReason.SHARED_RESOURCE
        return HeldReason.VOLUMES_STAY if stay_behind(self.binding, self.purge_mode) else None

    @CachedProperty
    def guarded(self) -> Mapping[HeldReason | None, Sequence[Eviction]]:
        """Evictions that are due, by the guard that holds them; None: they begin, if there is a place for them."""
        found = defaultdict[HeldReason | None, list[Eviction]](list)
        for each in self.taint_evictions.due:
            first = (reason for reason, holds in GUARDS.items() if holds(self, each))
            found[self.stays_in_place or next(first, None)].append(each)
        return found

    @CachedProperty
    def due(self) -> Sequence[Eviction]:
        """Evictions that begin now, if there is a place for them."""
        return self.guarded.get(None, ())

    @CachedProperty
    def ended(self) -> frozenset[str]:
        """Clusters in which all that a Job has to do there is over: nobody begins that again."""
        spec = self.binding.spec
        return over_in(self.snapshot.works, spec.resource.uid) | set(spec.assigned if self.is_over else ())

    @CachedProperty
    def is_over(self) -> bool:
        """Tells whether it is remembered that a Job has ended, and is not for each cluster."""
        return self.memory.over == self.binding.spec.resource.uid and is_once(self.binding.spec) and self.minds_terms

    @CachedProperty
    def done(self) -> Ranks:
        """Ranks of the clusters in which a Job has ended that is to be done once, and not in each cluster."""
        return done_in(self.ended, self.spec, self.clusters)

    def runs_job(self, cluster: str) -> bool:
        """Tells whether a Job is seen to run there. A policy that purges `Directly` lets it go at once."""
        work, keeps = self.snapshot.works.get(cluster, Work()), rules_of(self.purge_mode).keeps_copy
        return keeps and is_job_under_way(work) and is_fresh(work, self.clusters[cluster])

    @property
    def returns(self) -> Returns:
        at = self.snapshot
        return Returns(at.binding, self.copies, at.clusters, at.now, at.settings.graceful_seconds, at.attention.time)

    @CachedProperty
    def well_again(self) -> frozenset[str]:
        """Clusters that are being left, and may take a changed placement where no others do."""
        leaving = {task.from_cluster for task in self.spec.graceful_eviction_tasks}
        if not (leaving and self.authority.withdraws and placement_changed(self.binding)) or self.snapshot.brake:
            return frozenset()
        return self.returns.well_again() & leaving

    @CachedProperty
    def memory(self) -> BindingMemory:
        """Memory of the decisions before this one."""
        return parse_memory(self.binding, self.now)

    @CachedProperty
    def failures(self) -> FailedCopies:
        """Copies that stay unhealthy in clusters that are well."""
        if not self.authority.fails_over:
            return FailedCopies(msgspec.structs.replace(self.memory, healthy_since=None, clusters={}))
        return failures_of(self.spec, lambda: self.reports, self.memory, self.now, self.snapshot.attention)

    @property
    def reports(self) -> tuple[AggregatedStatusItem, ...]:
        """Reports of the copies that count."""
        return seen_items(self.spec, self.clusters, self.snapshot.works)

    @CachedProperty
    def stalled(self) -> StalledTargets:
        """Targets of a failover that take nothing; none while the brake holds."""
        at, grace = self.snapshot, self.settings.graceful_seconds
        awaited = NO_INSTANTS if self.stays_in_place else self.memory.awaited
        if not self.authority.fails_over or at.brake or not (awaited or self.spec.graceful_eviction_tasks):
            return StalledTargets()
        kept = msgspec.structs.replace(self.binding, spec=self.spec)
        return find_stalled(kept, self.copies, at.now, grace, at.attention, awaited, self.memory.released_at)

    @CachedProperty
    def ranks(self) -> Ranks:
        """Ranks of clusters that come after others in a failover: the release was in vain, nothing is dispatched."""
        suspended = self.spec.suspension and self.spec.suspension.dispatching_on_clusters
        stalled = (target.cluster for target in self.stalled.targets)
        names = (*self.failures.memory.in_vain, *stalled, *(suspended.cluster_names if suspended else ()))
        return {**dict.fromkeys(names, ClusterRank.TRIED), **self.done}

    def memory_after(self, outcome: Outcome, failed: Collection[str]) -> Mapping[str, str | None]:
        """Change of the binding's memory once copies have left the clusters where they have `failed`. Targets are
        awaited that replace copies of which no task tells. What returns to its former place replaces nothing."""
        works, tasks, awaited = self.snapshot.works, outcome.eviction_tasks, self.memory.awaited
        if outcome.withdrawal is None and self.authority.places:
            awaited = await_targets(self.binding, outcome.clusters, tasks, self.clusters, works, self.now, awaited)
        memory, done = self.memory, done_in(self.ended, self.binding.spec, self.clusters)
        if fails_over := self.authority.fails_over:
            memory = self.failures.memory.after_leaving(failed, remember=True, awaited=awaited)
        if is_over := len(outcome.clusters) < len(self.spec.clusters) and has_ended(self.binding, done):
            memory = msgspec.structs.replace(memory, over=self.spec.resource.uid)
        return memory_patch(self.binding, memory, is_moving=any(map(moves_on, tasks))) if fails_over or is_over else {}

    @CachedProperty
    def is_between_terms(self) -> bool:
        """Tells whether targets lie in two affinity terms: a failback has begun and is not at its end."""
        return self.own is not None

    @CachedProperty
    def own_binding(self) -> Binding:
        """The binding with its own placement, by which its memory goes."""
        if self.own is None:
            return self.binding
        spec = msgspec.structs.replace(self.binding.spec, placement=self.own.spec.placement)
        return msgspec.structs.replace(self.binding, metadata=self.own.metadata, spec=spec)

    @CachedProperty
    def failback_options(self) -> FailbackOptions:
        return failback_options(self.binding)

    @CachedProperty
    def original(self) -> OriginalPlacement | None:
        """None where nothing is remembered, the policy asks for no way back, or two copies would have its volumes.
        A return between affinity terms that has begun goes on, whatever the policy asks for by now."""
        if has_claims(self.binding) or not (self.failback_options.automatic or self.is_between_terms):
            return None
        known = parse_original_placement(self.own_binding)
        return forgotten(self.own_binding, self.clusters, self.now) if known is None and self.own else known


class ExactSituation(Situation):
    """Situation as Karmada reads it: all reported health counts, time ends an eviction, and no place is remembered."""

    law = KARMADA_LAW
    cleared_by = ("FitError",)
    spares_the_living = False
    minds_terms = False

    @CachedProperty
    def ended(self) -> frozenset[str]:
        return frozenset()

    def runs_job(self, cluster: str) -> bool:
        return False

    def with_cause(self, result: Unplaceable) -> Unplaceable:
        return result

    @property
    def finishes(self) -> bool:
        return self.settings.finish

    @property
    def reports(self) -> tuple[AggregatedStatusItem, ...]:
        return self.binding.status.aggregated_status

    @CachedProperty
    def stalled(self) -> StalledTargets:
        return StalledTargets()

    @CachedProperty
    def ranks(self) -> Ranks:
        return NO_RANKS

    def memory_after(self, outcome: Outcome, failed: Collection[str]) -> Mapping[str, str | None]:
        """The instants since which copies are unhealthy, and no more."""
        memory = self.failures.memory.after_leaving(failed, remember=False)
        return memory_patch(self.binding, memory, is_moving=False) if self.authority.fails_over else {}


def situation_kind(settings: PlacementSettings) -> type[Situation]:
    """Leeward's law and ranks, or Karmada's: nobody else asks which of them is wanted."""
    return ExactSituation if settings.exact_health else Situation


GUARDS: Mapping[HeldReason, Callable[[Situation, Eviction], bool]] = {
    HeldReason.BRAKE_ENGAGED: lambda at, each: at.snapshot.brake and is_braked(each, at.clusters[each.cluster]),
    HeldReason.WAITING_FOR_TURN: lambda at, each: each.cluster in at.deferred,
    HeldReason.NOTHING_TO_GAIN: lambda at, each: each.cluster in at.ended,
    HeldReason.RUN_UNDER_WAY: lambda at, each: at.runs_job(each.cluster),
}
"""Guards of an eviction that is due; the first that holds it tells why."""
