"""Reports of a binding: the statuses of its Works added up, into its own status and the template's; a refusal.

Karmada: pkg/controllers/status/rb_status_controller.go.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeVar

import msgspec

from controller_runtime import Key, key_of
from controller_runtime.statuses import BOOKKEEPING_SECONDS, NEWS_SECONDS, PROGRESS_SECONDS, Change, StatusChange
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import WorldError
from leeward.api import names
from leeward.api.meta import Condition, set_condition
from leeward.api.resource import CLUSTERS
from leeward.api.rollout import ROLLOUT_CONDITION
from leeward.api.work import AggregatedStatusItem, Binding, ResourceBindingStatus, Work
from leeward.controllers.binding.binding_events import BindingEvents
from leeward.controllers.binding.first_conditions import FirstConditions
from leeward.controllers.binding.service_addresses import AddressesBehind, WorkloadReach
from leeward.core.binding_status import tell, tell_template
from leeward.core.cluster_health.outage import departures_in, marked, marks_in
from leeward.core.copies.evidence import trusted
from leeward.core.execution.addresses import leads_traffic, with_addresses_that_serve
from leeward.core.execution.aggregate import aggregate, rendered_generation, says_nothing_new
from leeward.core.execution.deployment_conditions import (
    DeploymentCopy,
    copies_of,
    is_deployment,
    is_told_by_all,
    lacks_conditions,
    with_conditions,
)
from leeward.core.execution.held_volumes import volumes_held
from leeward.core.execution.unseen import as_seen, outage_condition, says_outage
from leeward.core.interpreter import InterpretationError, aggregate_status
from leeward.core.interpreter.resource_health import health_rules_in
from leeward.core.interpreter.scripts import Operation
from leeward.core.left_to_shards import words_left
from leeward.core.overrides.failures import overrides_failed
from leeward.core.overrides.rendering import OverrideFailure
from leeward.runtime.binding_kinds import BindingKind
from leeward.runtime.controller_context import ControlPlane

T = TypeVar("T")
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SyncedWorks:
    """State of a binding's Works after a sync, by cluster: those that are as they are to be, those that had to stay as
    they were with why, and conditions of the binding."""

    works: Mapping[str, Work]
    stale: Mapping[str, Work]
    override_failures: Mapping[str, OverrideFailure]
    told: Mapping[str, Condition | None]


class BindingReports:
    """`on_failure` hears of a failed write. `addresses` follow workloads. `only_seen`: a template counts as ready only
    what is seen, and lists addresses that lead to it."""

    def __init__(
        self,
        plane: ControlPlane,
        kind: BindingKind,
        events: BindingEvents,
        on_failure: Callable[[Key, WorldError], None],
        addresses: AddressesBehind,
        *,
        only_seen: bool = True,
    ) -> None:
        self._plane = plane
        self._kind = kind
        self._events = events
        self._on_failure = on_failure
        self._addresses = addresses
        self._only_seen = only_seen
        self._clusters = plane.informers.of(CLUSTERS)
        self._first = FirstConditions()

    def forget(self, key: Key) -> None:
        """Forgets a binding that is gone."""
        self._first.forget(key)

    def take_up(self, old: Binding | None, new: Binding | None) -> None:
        """Writes, as a shard, its leader's words about the binding. A write that fails is made with the next change, or
        by the leader."""
        share = self._plane.share
        is_own = new is not None and share.shard is not None and share.owns_binding(key_of(new))
        if new is None or not is_own or (words := words_left(new)) is None:
            return
        if words.burst:
            self._plane.statuses.expect_burst()
        statuses = self._plane.statuses.of(self._kind.resource)
        told = StatusChange[Binding](partial(words.change, binding=statuses.expected(new)), lambda error: None)
        statuses.post(new, "scheduler", told, within=min(max(words.within, 0.0), BOOKKEEPING_SECONDS))

    def refuse(self, binding: Binding, refusal: Condition | None) -> None:
        """Says on the binding alone why nothing is done for it: its template may be somebody else's."""
        change = partial(tell, told={names.REFUSED_CONDITION: refusal}, now=self._plane.clock.now())
        told = partial(self._events.refused, binding)
        self._post(self._kind.resource, binding, binding, change, NEWS_SECONDS, told)

    async def report(self, binding: Binding, template: Manifest, synced: SyncedWorks) -> datetime | None:
        """Writes what the Works report into the binding's status and the template's: when all have spoken, at once.

        As long as copies start something will soon follow that says more. As long as one is being evicted the template
        hears of that only when it takes long. Gives the instant at which a template that is at rest may be told more.
        """
        failures = synced.override_failures
        works = {cluster: trusted(work) for cluster, work in {**synced.stale, **synced.works}.items()}
        items, applied = aggregate(binding, works, {*failures, *synced.stale})
        generation = rendered_generation(binding, synced.works, failures)
        applied = msgspec.structs.replace(applied, observed_generation=generation)
        now = self._plane.clock.now()
        reach = self._addresses.reach(binding, template) if self._only_seen else WorkloadReach()
        failed, held = overrides_failed(failures), volumes_held(works)
        told = {**synced.told, names.OVERRIDE_FAILED_CONDITION: failed, names.VOLUMES_HELD_CONDITION: held}

        def report(status: ResourceBindingStatus) -> ResourceBindingStatus:
            conditions = set_condition(status.conditions, applied, now)
            before = status.aggregated_status
            kept = marked(items, marks_in(before), departures_in(before))
            status = msgspec.structs.replace(status, aggregated_status=kept, conditions=conditions)
            return tell(status, {**told, names.REACHABLE_CONDITION: reach.condition}, now)

        def report_news(status: ResourceBindingStatus) -> ResourceBindingStatus:
            said = report(status)
            return status if not is_moving and says_nothing_new(status, said) else said

        is_moving = bool(binding.spec.graceful_eviction_tasks)
        within = _urgency(binding, items, is_moving=is_moving)
        on_written = partial(self._events.aggregated, binding, failures)
        self._post(self._kind.resource, binding, binding, report_news, within, on_written)
        within = BOOKKEEPING_SECONDS if is_moving else within
        later = await self._report_template(binding, template, synced, items, works, within, reach.condition)
        return min(filter(None, (later, reach.look_at)), default=None)

    async def _report_template(
        self,
        binding: Binding,
        template: Manifest,
        synced: SyncedWorks,
        items: Sequence[AggregatedStatusItem],
        works: Mapping[str, Work],
        within: float,
        reach: Condition | None,
    ) -> datetime | None:
        """Writes the template's status. That a cluster is not seen concerns many templates at once, and nobody acts on
        it: in a burst it waits for what may soon be said with it. That a failover is over waits for the others'. Users
        follow addresses, which are written at once. Where a cluster is lost, the brake may engage a moment later."""
        resource = await self._plane.server.discovery.resource(template["apiVersion"], template["kind"])
        not_seen = self._not_seen(binding, items)
        copies = copies_of(binding.spec, works, items, not_seen) if is_deployment(template) else ()
        tells_first = is_deployment(template) and await self._has_turn(binding, template, resource, synced, copies)
        rollout = synced.told[ROLLOUT_CONDITION]
        news = {ROLLOUT_CONDITION: rollout if rollout is not None and rollout.status == "True" else None}
        news[names.REACHABLE_CONDITION] = reach
        change = await self._template_change(binding, template, items, copies, not_seen, news, tells_first=tells_first)
        if leads_traffic(binding):
            within = 0.0 if all(cluster.is_ready for cluster in self._clusters.list()) else NEWS_SECONDS
        elif not_seen:
            within = max(within, PROGRESS_SECONDS)
        elif says_outage(template) and not all(cluster.is_ready for cluster in self._clusters.list()):
            within = BOOKKEEPING_SECONDS
        told = partial(self._events.addresses_left_out, binding, items)
        self._post(resource, template, binding, change, within, told, is_paced=tells_first)
        turn = self._first.look_at(key_of(binding), self._plane.clock.now())
        return turn if turn and lacks_conditions(self._plane.statuses.of(resource).expected(template)) else None

    async def _has_turn(
        self,
        binding: Binding,
        template: Manifest,
        resource: Resource[Manifest],
        synced: SyncedWorks,
        copies: Sequence[DeploymentCopy],
    ) -> bool:
        """Tells whether a template at rest gets its first conditions now; whoever is in a hurry goes first."""
        key, now = key_of(binding), self._plane.clock.now()
        if not lacks_conditions(template):
            self._first.told(key)
            return False
        if synced.override_failures or await self._is_scripted(template):
            return False
        clusters = {name: found for name in synced.works if (found := self._clusters.get(name)) is not None}
        is_known = is_told_by_all(binding.spec, synced.works, clusters, copies, now)
        is_burst = any(self._plane.statuses.of(each).is_burst for each in (self._kind.resource, resource))
        return self._first.take_turn(key, now, may_tell=is_known and not is_burst) and is_known

    def _not_seen(self, binding: Binding, items: Sequence[AggregatedStatusItem]) -> Mapping[str, datetime]:
        """The clusters with a copy of which nothing is known, and since when: the binding's items are marked so."""
        if not self._only_seen:
            return {}
        marks, names = marks_in(binding.status.aggregated_status), {item.cluster_name for item in items}
        return {name: since for name, since in marks.items() if name in names}

    async def _is_scripted(self, template: Manifest) -> bool:
        return await self._plane.interpreter.is_customized(template, Operation.AGGREGATE_STATUS)

    async def _template_change(
        self,
        binding: Binding,
        template: Manifest,
        items: Sequence[AggregatedStatusItem],
        copies: Sequence[DeploymentCopy],
        not_seen: Mapping[str, datetime],
        news: Mapping[str, Condition | None],
        *,
        tells_first: bool,
    ) -> Change:
        """Change of the template's status. A script has been asked once, and the built-in rules are each time."""
        interpreter, now = self._plane.interpreter, self._plane.clock.now()
        items, scripted = as_seen(items, not_seen), None
        behind = await self._addresses.behind(binding, template) if self._only_seen else None
        items = self._addresses.with_leaving(binding, items, behind)
        lead = partial(with_addresses_that_serve, items, behind=behind, is_braked=self._addresses.is_braked)
        if await self._is_scripted(template):
            scripted = await interpreter.aggregate(template, lead(template.get("status") or {}))

        def told(present: Manifest, status: Manifest) -> Manifest:
            outage = outage_condition(present, status, not_seen)
            return tell_template(present, status, {names.CLUSTER_OUTAGE_CONDITION: outage, **news}, now)

        def change(status: Manifest) -> Manifest:
            present = {**template, "status": status}
            if scripted is not None:
                return told(present, scripted.get("status") or {})
            try:
                summed = (aggregate_status(present, lead(status)) or {}).get("status", status)
                summed = told(present, summed)
            except InterpretationError as error:
                log.warning("%s: its statuses cannot be added up: %s", key_of(binding), error)
                return told(present, status)
            if not is_deployment(template):
                return summed
            return with_conditions(template, status, summed, binding.spec, copies, now, tells_first=tells_first)

        return change

    def _post(
        self,
        resource: Resource[T],
        obj: T,
        binding: Binding,
        change: Change,
        within: float,
        on_written: Callable[[T, T], None] | None = None,
        *,
        is_paced: bool = False,
    ) -> None:
        def on_failure(error: WorldError) -> None:
            self._events.not_aggregated(binding, error)
            self._on_failure(key_of(binding), error)

        told = StatusChange(change, on_failure, on_written)
        self._plane.statuses.of(resource).post(obj, self._kind.controller_name, told, within=within, is_paced=is_paced)


def _urgency(binding: Binding, items: Sequence[AggregatedStatusItem], *, is_moving: bool) -> float:
    """Seconds that a report may wait in a burst: the end of a rollout is news, and so is a copy that was well. Of a
    kind that nobody judges, it is progress that it is applied everywhere."""
    if not all(health_rules_in(item).is_known or item.applied_message for item in items):
        were_applied = {item.cluster_name for item in binding.status.aggregated_status if item.applied}
        is_applied = all(item.applied for item in items) and not were_applied.issuperset(i.cluster_name for i in items)
        return PROGRESS_SECONDS if is_applied else BOOKKEEPING_SECONDS
    if is_moving:
        return PROGRESS_SECONDS
    were_well = {item.cluster_name for item in binding.status.aggregated_status if health_rules_in(item).is_well}
    starting = [item for item in items if not health_rules_in(item).is_well and not item.applied_message]
    is_news = (bool(items) and not starting) or any(item.cluster_name in were_well for item in starting)
    return NEWS_SECONDS if is_news else PROGRESS_SECONDS
