"""The binding controller: one Work for each cluster that needs one, no other, and the statuses added up.

Karmada: pkg/controllers/binding, pkg/controllers/status/rb_status_controller.go. Differs: one controller keeps both
and adds up only reports of the Works' present generation (fault 11 of docs/karmada-behaviour.md).
"""

from collections.abc import Mapping
from datetime import datetime
from functools import partial

from msgspec.structs import replace

from controller_runtime import Index, IndexOfMany, Key, StayingObjects, key_of
from kubeapi.meta import Manifest, is_same_state
from kubeclient import WorldError
from leeward.api import names
from leeward.api.cluster import Cluster
from leeward.api.names import cluster_of_execution_space, execution_space
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Binding, Work
from leeward.controllers.binding.autoscaler_floors import AutoscalerFloors
from leeward.controllers.binding.binding_events import BindingEvents
from leeward.controllers.binding.binding_reports import BindingReports, SyncedWorks
from leeward.controllers.binding.binding_templates import BindingTemplates, OutOfReach
from leeward.controllers.binding.deleted_bindings import DeletedBindings
from leeward.controllers.binding.rollouts import Rollouts
from leeward.controllers.binding.scale_downs import ScaleDowns
from leeward.controllers.binding.service_addresses import AddressesBehind
from leeward.controllers.binding.unwanted_works import UnwantedWorks
from leeward.controllers.binding.work_rendering import WorkRendering
from leeward.controllers.binding.work_writing import TakenWork, WorkWriting, WrittenWorks
from leeward.controllers.gates.gates import Gates
from leeward.controllers.removals.removal_holds import RemovalHolds
from leeward.controllers.rendering.override_rendering import OverrideRendering
from leeward.controllers.rendering.rendered_admission import RenderedAdmission
from leeward.core.execution.claims import name_of_works
from leeward.core.execution.refusal import out_of_reach, works_taken
from leeward.core.execution.removal import held_by_purge, may_change_holds
from leeward.core.execution.removal_conditions import removals_blocked
from leeward.core.execution.settled import is_carried_out
from leeward.core.execution.works import is_purging, replicas_by_cluster, wanted_replicas
from leeward.core.interpreter.scripts import Operation
from leeward.core.placement.concern import is_propagated
from leeward.core.propagation.reach import Reach
from leeward.core.rollout.standings import may_change_rollouts
from leeward.runtime.binding_kinds import BindingKind
from leeward.runtime.controller_context import ControlPlane

WORKERS = 32


class BindingController:
    def __init__(
        self,
        plane: ControlPlane,
        kind: BindingKind,
        reach: Reach | None = None,
        holds: RemovalHolds | None = None,
        gates: Gates | None = None,
        floors: AutoscalerFloors | None = None,
        *,
        inject: bool = True,
        only_seen: bool = True,
        admission: RenderedAdmission | None = None,
    ) -> None:
        """`holds` keeps what a cluster was to lose, `gates` has new copies wait, `floors` keeps replacements large;
        `inject` is a feature gate."""
        self._gates, self._floors, self._reach = gates, floors, reach or Reach()
        self._waiting: dict[Key, set[Key]] = {}
        """Bindings that would need a Work of another binding, by Work."""
        self._staying = StayingObjects[Key, Binding](_is_same_to_works)
        self._plane, self._kind, self._holds = plane, kind, holds or RemovalHolds(plane)
        self._events, self._scale_downs = BindingEvents(plane, kind), ScaleDowns(plane, self._holds)
        self._bindings, self._clusters = plane.informers.of(kind.resource), plane.informers.of(CLUSTERS)
        self._works, owns = plane.informers.of(WORKS), plane.share.owns_binding
        self._works_of = Index(self._works, kind.key_of_work)
        self._assigned = IndexOfMany[Binding, str](self._bindings, lambda each: replicas_by_cluster(each.spec))
        self._controller = plane.controller(kind.controller_name, self.reconcile, WORKERS, owns=owns)
        look, failed = self._controller.queue.add, self._controller.failed
        self._writing = WorkWriting(plane, self._reach, partial(self._work_changed, None), failed)
        self._templates = BindingTemplates(plane, self._reach, look)
        self._unwanted = UnwantedWorks(plane, self._writing, self._holds)
        self._deleted = DeletedBindings(plane, kind, self._works_of, self._templates, self._writing, self._holds)
        behind = AddressesBehind(plane, kind, self._works_of, self._templates, self._holds, look)
        self._reports = BindingReports(plane, kind, self._events, failed, behind, only_seen=only_seen)
        known, name = self._templates.known, kind.controller_name
        self._overrides = OverrideRendering(plane, name, self._bindings, known, look, admission=admission)
        self._rollouts = Rollouts(plane, kind, self._holds, self._overrides)
        self._rendering = WorkRendering(plane, self._overrides, self._rollouts, gates, floors, inject=inject)

    def start(self) -> None:
        self._bindings.on_change(self._binding_changed)
        self._bindings.on_change(self._reports.take_up)
        self._works.on_change(self._work_changed)
        self._clusters.on_change(self._cluster_changed)
        self._holds.on_change(self._look_at_removals)
        if self._gates is not None:
            self._gates.start(self._controller.queue.add)
        if self._floors is not None:
            self._floors.start(self._own_works, self._controller.queue.add)
        self._overrides.start()
        asked = (Operation.REPLICA, Operation.REVISE_REPLICA, Operation.AGGREGATE_STATUS)
        self._plane.interpreter_changes.of_bindings(asked, self._bindings, self._controller.queue.add)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        for informer in (self._clusters, self._works, self._bindings):
            await informer.wait_current()
        await self._holds.wait_synced()
        found: Binding | None = self._bindings.get(key.name, key.namespace)
        if found is None:
            for known in filter(None, (self._reports, self._staying, self._scale_downs, self._gates)):
                known.forget(key)
            self._rollouts.gone(key)
            later = await self._writing.foreign.succeed(key), await self._deleted.remove_orphans(key)
            return min(filter(None, later), default=None)
        binding = self._expected(found)
        if binding.metadata.deletion_timestamp is not None:
            own, later = self._own_works(binding), await self._writing.foreign.succeed(key)
            return min(filter(None, (later, await self._deleted.dissolve(binding, own))), default=None)
        later = await self._writing.foreign.succeed(key, wanted_replicas(binding.spec))
        try:
            template = await self._templates.find(binding)
        except OutOfReach as error:
            self._reports.refuse(binding, out_of_reach(error.problems))
            return None
        if template is None:
            return None
        started = self._plane.clock.monotonic()
        synced = await self._sync_works(binding, template)
        failures = synced.failures
        self._plane.metrics.propagation.synced_works(self._plane.clock.monotonic() - started, failed=bool(failures))
        await self._report(binding, template, synced)
        if failures:
            self._events.not_synced(binding, failures)
            raise failures[0]
        if latest := self._bindings.get(key.name, key.namespace):
            self._staying.put(key, self._expected(latest))
        return min(filter(None, (later, synced.look_at)), default=None)

    async def _report(self, binding: Binding, template: Manifest, synced: WrittenWorks) -> None:
        if synced.stands_still:
            self._reports.refuse(binding, works_taken(synced.taken))
            return
        works, larger = self._own_works(binding), self._scale_downs.told(key_of(binding))
        blocked = removals_blocked(works, synced.waiting, kept=synced.kept, larger=larger)
        report = SyncedWorks(
            synced.works,
            {cluster: work for cluster, work in works.items() if cluster in (*synced.not_rendered, *synced.left)},
            synced.not_rendered,
            {
                **synced.told,
                names.REMOVAL_BLOCKED_CONDITION: blocked,
                names.REPLACEMENT_HELD_CONDITION: self._gates.told(binding) if self._gates is not None else None,
            },
        )
        later = await self._reports.report(binding, template, report)
        settles = map(self._writing.foreign.settles_at, synced.works.values())
        synced.look_at = min(filter(None, (later, synced.look_at, *settles)), default=None)

    def _expected(self, binding: Binding) -> Binding:
        """The binding with the status that is about to be written."""
        return self._plane.statuses.of(self._kind.resource).expected(binding)

    def _own_works(self, binding: Binding) -> dict[str, Work]:
        """Works of the binding, by cluster. A Work of another name is not the binding's, whatever stands in it."""
        name = name_of_works(binding)
        works = self._works_of.get(key_of(binding))
        return {cluster_of_execution_space(work.namespace): work for work in works if work.name == name}

    async def _sync_works(self, binding: Binding, template: Manifest) -> WrittenWorks:
        """Creates, updates and deletes Works. What fails for one cluster holds back no other (Holds: L4)."""
        present = self._own_works(binding)
        plan = await self._rendering.plan(binding, template, present)
        rendering, desired = await self._rendering.render(binding, template, present, plan)
        larger = await self._scale_downs.held(binding, present, desired)
        if larger.binding is not binding:
            binding = larger.binding
            rendering, desired = await self._rendering.render(binding, template, present, plan)
        purging = await self._held_by_purge(binding, present, desired)
        taken = await self._writing.taken(binding, present, desired)
        for cluster in taken:
            self._wait_for(binding, desired[cluster])
        later = min(filter(None, (rendering.look_at, larger.look_at, plan.look_at)), default=None)
        synced = WrittenWorks(taken, bool(present), rendering.failures, purging | larger.unread, later, plan.condition)
        if synced.stands_still:
            return synced
        for cluster in self._writing.in_turn(present, desired):
            manifest, work = desired[cluster], present.get(cluster)
            if cluster in synced.left or self._is_leaving(cluster):
                continue
            if work is None and (cluster in synced.taken or await self._waits(binding, template, cluster, synced)):
                continue
            try:
                with_id = partial(self._rendering.with_id, binding, template, plan, rendering, cluster, present)
                written = synced.works[cluster] = await self._writing.sync(binding, work, manifest, with_id, synced)
                if written is not work and rendering.is_overridden:
                    self._events.overridden(binding, cluster, rendering.manifests[cluster], work)
            except TakenWork as taken:
                synced.taken[cluster] = str(taken)
                self._wait_for(binding, manifest)
            except WorldError as error:
                synced.failures.append(error)
                synced.left |= {cluster}
        synced.needs = await self._scale_downs.needs_beside_removals(binding.spec, present, desired)
        has_removed = await self._unwanted.remove(binding, present, desired, synced, keep=bool(purging))
        has_written = any(work is not present.get(cluster) for cluster, work in synced.works.items())
        if (has_written or has_removed) and not synced.failures:
            self._events.synced(binding)
        return synced

    async def _held_by_purge(
        self, binding: Binding, present: Mapping[str, Work], desired: Mapping[str, Manifest]
    ) -> frozenset[str]:
        """Clusters whose Works are left as they are, because a purged copy is not known to be gone."""
        if not is_purging(binding.spec, present):
            return frozenset()
        grows = self._plane.interpreter.growth
        growth = {c: await grows(present[c], manifest) if c in present else None for c, manifest in desired.items()}
        return held_by_purge(growth)

    async def _waits(self, binding: Binding, template: Manifest, cluster: str, synced: WrittenWorks) -> bool:
        """Tells whether a new copy waits: for a gate, for what its template names, or since its Work was deleted."""
        rest = self._writing.foreign.rests_until(Key(execution_space(cluster), name_of_works(binding)))
        until = rest or (await self._gates.wait(binding, template, cluster) if self._gates is not None else None)
        if until is not None:
            synced.look_at = min(until, synced.look_at or until)
        return until is not None

    def _wait_for(self, binding: Binding, manifest: Manifest) -> None:
        """Looks at the binding again when the Work that it would need changes."""
        self._waiting.setdefault(key_of(manifest), set()).add(key_of(binding))

    def _is_leaving(self, cluster: str) -> bool:
        """Tells whether the cluster leaves the fleet: nothing is made for it any more, nor changed."""
        found = self._clusters.get(cluster)
        return found is not None and found.is_being_deleted

    def _binding_changed(self, old: Binding | None, new: Binding | None) -> None:
        if new is not None and not self._staying.has(key_of(new), lambda: self._expected(new)):
            self._staying.forget(key_of(new))
            self._controller.queue.add(key_of(new), late=old is None and is_propagated(new))
        if old is not None and new is None:
            self._controller.queue.add(key_of(old))
        if old is not None and (new is None or new.spec.resource != old.spec.resource):
            for work in [work for work in self._waiting if work.name == name_of_works(old)]:
                self._wake_waiting(work)

    def _wake_waiting(self, work: Key) -> None:
        for binding in sorted(self._waiting.pop(work, ())):
            self._controller.queue.add(binding)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        """Queues what overrides may render otherwise, and what has no Work in a cluster that has become Ready; looks at
        removals, which other clusters' health may hold."""
        if new is not None and self._overrides.may_change(old, new):
            for binding in self._assigned.get(new.name):
                self._controller.queue.add(key_of(binding))
        if new is not None and new.is_ready and (old is None or not old.is_ready):
            self._queue_missing(new.name)
        if may_change_rollouts(old, new):
            self._look_at_rollouts()
        if self._holds.enabled and may_change_holds(old, new):
            self._look_at_removals()

    def _queue_missing(self, cluster: str) -> None:
        """Queues each binding without a Work in the cluster, which may have been tried before that had joined. Of the
        others, which may be many, only keys are looked at."""
        space = execution_space(cluster)
        for key in self._assigned.keys(cluster):
            if not any(work.namespace == space for work in self._works_of.keys(key)):
                self._controller.queue.succeeded(key)
                self._controller.queue.add(key)

    def _is_settled(self, key: Key, work: Work) -> bool:
        """Tells whether the Work is carried out, and its binding propagated, as far as they say so."""
        binding = self._bindings.get(key.name, key.namespace)
        return is_carried_out(work) and (is_propagated(binding) if binding is not None else not self._bindings.synced)

    def _look_at_removals(self) -> None:
        self._writing.said.clear()
        for work in self._holds.removals():
            self._work_changed(None, work)
        for key in sorted(self._scale_downs.waiting()):
            self._controller.queue.add(key)
        self._look_at_rollouts()

    def _look_at_rollouts(self) -> None:
        for key in self._rollouts.under_way():
            self._controller.queue.add(key)

    def _work_changed(self, old: Work | None, new: Work | None) -> None:
        self._writing.note_change(old, new)
        for work in filter(None, (old, new)):
            self._wake_waiting(key_of(work))
            key = self._kind.key_of_work(work)
            if key is not None and not (new is not None and self._writing.is_written_here(new)):
                self._staying.forget(key)
                self._controller.queue.add(key, late=old is None and self._is_settled(key, work))


def _is_same_to_works(known: Binding, now: Binding) -> bool:
    """Tells whether Works and reports are the same for two states: when it was scheduled is the scheduler's alone."""
    generation, at = known.status.scheduler_observed_generation, known.status.last_scheduled_time
    status = replace(now.status, scheduler_observed_generation=generation, last_scheduled_time=at)
    return is_same_state(known, replace(now, status=status))
