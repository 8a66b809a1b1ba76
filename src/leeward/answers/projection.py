"""Projection: what the controllers would do over time after an imagined change, by the functions that decide.

It goes from instant to instant: thresholds and time-outs of clusters, the brake, tolerations and turns of bindings. At
each, what is due is decided as one batch, as the scheduler does. Nothing else is imagined: what is placed becomes
healthy, so that an eviction is finished before the next instant; members report what they are given; nobody changes
anything meanwhile. Application failover, and the small steps of a failback, are not projected.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

import msgspec

from leeward.answers.cluster_timeline import ClusterTimeline
from leeward.answers.decisions import fleet_of
from leeward.answers.expected_reports import after_arrival
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.answers.imagined import ImaginedChange
from leeward.answers.moving_group import member_of
from leeward.api.cluster import Cluster
from leeward.api.meta import find_condition
from leeward.api.names import EVICTION_HELD_CONDITION, HOME_ANNOTATION
from leeward.api.work import Binding, GracefulEvictionTask, ResourceBindingSpec
from leeward.core.binding_status import status_after
from leeward.core.cluster_health.brake import Brake, decide_brake, holds, looks_dead
from leeward.core.cluster_health.outage import clusters_of
from leeward.core.eviction.due_evictions import due_evictions
from leeward.core.placement import Decision, Snapshot
from leeward.core.scheduling import needs_scheduling
from leeward.planning.batch import owner_of, plan
from leeward.planning.eviction_limiter import EvictionLimiter
from leeward.planning.fleet import Fleet
from leeward.planning.group_decisions import decide_together

HORIZON = timedelta(hours=24)
"""Time beyond the last planned instant after which nothing is projected."""
MOST_INSTANTS = 10_000
REPORTED_AFTER = timedelta(seconds=15)
"""Time after which a cluster reports what it was given; until then it is reserved there."""


@dataclass(frozen=True, slots=True)
class Departure:
    """A binding leaves clusters, and where it then is."""

    at: datetime
    clusters: tuple[str, ...]
    after: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Moment:
    """State of everything at one instant."""

    clusters: Mapping[str, Cluster]
    bindings: Mapping[BindingName, Binding]
    decisions: Mapping[BindingName, Decision]


@dataclass(slots=True)
class Projection:
    """`turns` are changes of clusters and of the brake: instant, cluster (or the reason of the brake), and what it is.

    `before_return` is how everything is when what has failed is about to answer again; None where it does not.
    """

    begins: datetime
    fleet: Fleet
    bindings: dict[BindingName, Binding]
    decisions: dict[BindingName, Decision] = field(default_factory=dict[BindingName, Decision])
    departures: dict[BindingName, list[Departure]] = field(default_factory=dict[BindingName, list[Departure]])
    turns: list[tuple[datetime, str, str]] = field(default_factory=list[tuple[datetime, str, str]])
    before_return: Moment | None = None
    braked: bool = False
    cut_off: bool = False
    """Tells whether there was more to come than is projected."""

    @property
    def worst(self) -> Moment:
        """Moment at the end of the outage, or of all."""
        return self.before_return or Moment(dict(self.fleet), self.bindings, self.decisions)


def project(state: FleetState, change: ImaginedChange) -> Projection:
    """Holds to the order of the scheduler: by priority, then by name, within each instant."""
    return _Projecting(state, change).run()


class _Projecting:
    def __init__(self, state: FleetState, change: ImaginedChange) -> None:
        self._state = state
        self._change = change
        self._settings = change.settings_of(state.settings)
        self._placement = replace(state.settings.placement, watch=False)
        self._timeline = ClusterTimeline(state.as_of, change, self._settings)
        self._brake = Brake(overruled=True) if change.releases_brake else state.recorded.brake
        # A loss is imagined for a control plane that watches, whether or not somebody does at this moment.
        self._attention = replace(state.recorded.attention, is_now=True)
        self._limiter = EvictionLimiter[BindingName](state.settings.evictions_per_second)
        bindings = {key: _settled(binding) for key, binding in state.bindings.items()}
        self.found = Projection(self._timeline.begins, fleet_of(state), bindings)
        self.found.fleet.together.look = partial(member_of, state, bindings)
        self._heap: list[datetime] = []
        self._is_held = False
        self._placed_at: datetime | None = state.as_of
        self._wakes: dict[datetime, set[BindingName]] = {}
        self._asking: dict[BindingName, bool] = {}
        self._lost: set[BindingName] = set()
        """Bindings in clusters that have been lost, are drained, or have come back."""
        self._horizon = state.as_of + HORIZON

    def run(self) -> Projection:
        planned = {*self._timeline.instants(iter(self._state.clusters.values())), self._state.as_of}
        self._horizon = max(planned) + HORIZON
        for instant in planned:
            self._wake(instant)
        for _ in range(MOST_INSTANTS):
            if not self._heap:
                return self.found
            self._step(heapq.heappop(self._heap))
        self.found.cut_off = True
        return self.found

    def _wake(self, at: datetime | None, *keys: BindingName) -> None:
        if at is None or at > self._horizon:
            return
        if at not in self._wakes:
            self._wakes[at] = set()
            heapq.heappush(self._heap, at)
        self._wakes[at].update(keys)

    def _step(self, now: datetime) -> None:
        keys, found = self._wakes.pop(now), self.found
        if now == self._timeline.answers:
            found.before_return = Moment(dict(found.fleet), dict(found.bindings), dict(found.decisions))
        reported = self._report(now)
        changed = self._see_clusters(now)
        if now == self._timeline.begins:
            for key, binding in self._change.bindings.items():
                self.found.bindings[key] = _settled(binding)
                self.found.fleet.together.put(binding)
                keys.add(key)
        if changed or now == self._state.as_of:
            self._lost |= set(self._in(changed)) if changed else set(self._in(self._unwell()))
            keys |= self._lost
        if changed or reported or now == self._state.as_of:
            keys |= self._waiting()
        self._decide(keys, now)

    def _report(self, now: datetime) -> bool:
        """Lets clusters report what was reserved in them a while ago. A copy that waits for a purge is not there.
        Its room is given back where anything else arrives: a report that stays the same gives none back."""
        if self._placed_at is None or now - self._placed_at < REPORTED_AFTER:
            return False
        fleet, self._placed_at = self.found.fleet, None
        decided = [self.found.bindings[key] for key in self.found.decisions]
        absent = {owner_of(binding) for binding in decided if purged_in(binding.spec)}
        for name, reserved in fleet.reservations.all(without=absent).items():
            if fleet[name].is_ready:
                with suppress(ValueError, ArithmeticError):
                    fleet.put(after_arrival(fleet[name], reserved, self._state.requests_in(name)))
        return True

    def _unwell(self) -> set[str]:
        return {name for name, cluster in self.found.fleet.items() if not cluster.is_ready or cluster.has_no_execute}

    def _in(self, clusters: Iterable[str]) -> Iterator[BindingName]:
        """The bindings that are in one of these, or were."""
        wanted = set(clusters)
        for name in wanted:
            yield from self._state.bindings_in(name)
        for key in self.found.decisions:
            if not wanted.isdisjoint(clusters_of(self.found.bindings[key].spec)):
                yield key

    def _waiting(self) -> set[BindingName]:
        """Bindings that are held, or have no place, as far as this projection has decided them."""
        made = self.found.decisions.items()
        return {key for key, each in made if each.held is not None or (each.result is not None and not each.clusters)}

    def _see_clusters(self, now: datetime) -> set[str]:
        """Brings conditions, brake and taints up to `now`; the clusters that are others then."""
        fleet, before = self.found.fleet, dict(self.found.fleet)
        for cluster in before.values():
            fleet.put(self._timeline.at(cluster, now))
        settings, watched = self._settings.brake, self._attention.time
        decision = decide_brake(self._brake, fleet.values(), now, settings, watched=watched)
        self._brake = replace(decision.brake, reason=decision.reason)
        self._wake(decision.wake_at)
        braked = holds(self._brake, fleet.values(), settings)
        for cluster in list(fleet.values()):
            tainted, wake_at = self._timeline.tainted(cluster, now, self._attention, braked=braked)
            if tainted is not cluster:
                fleet.put(tainted)
            if not braked:
                self._wake(wake_at)
        return self._told(before, now, braked)

    def _told(self, before: Mapping[str, Cluster], now: datetime, braked: bool) -> set[str]:
        seen = {name: (each.taints, each.is_ready) for name, each in before.items()}
        changed = {name for name, each in self.found.fleet.items() if (each.taints, each.is_ready) != seen[name]}
        for name in sorted(changed):
            was, now_is = before[name], self.found.fleet[name]
            if was.is_ready != now_is.is_ready:
                self.found.turns.append((now, name, "Ready" if now_is.is_ready else "NotReady"))
            if now_is.has_no_execute and not was.has_no_execute:
                self.found.turns.append((now, name, "NoExecute"))
        if self._brake.engaged != self.found.braked:
            self.found.braked = self._brake.engaged
            what = "BrakeEngaged" if self._brake.engaged else "BrakeReleased"
            self.found.turns.append((now, self._brake.reason, what))
            changed |= {name for name in before if not self.found.fleet[name].is_ready}
        self._is_held = braked
        return changed

    def _decide(self, keys: set[BindingName], now: datetime) -> None:
        due = {key: self.found.bindings[key] for key in keys if self._is_due(key, now)}

        def decide_one(key: BindingName, binding: Binding) -> Decision:
            fleet = self.found.fleet
            budget, works = self._limiter.budget(key, fleet, now), self._state.works_of(key)
            held, attention = self._is_held, self._attention
            snapshot = Snapshot(
                binding,
                fleet,
                works,
                held,
                budget,
                attention,
                self._placement,
                brake_reason=self._brake.reason,
                now=now,
            )
            decision = decide_together(snapshot)
            self._limiter.settle(key, decision, now)
            return decision

        for key, decision in plan(self.found.fleet, due, decide_one).items():
            self._carry_out(key, due[key], decision, now)

    def _is_due(self, key: BindingName, now: datetime) -> bool:
        """Tells whether a decision can change anything; if not, it is woken when its next toleration ends."""
        binding = self.found.bindings[key]
        if binding.spec.placement is None or binding.metadata.deletion_timestamp is not None:
            return False
        evictions = due_evictions(binding.spec, self.found.fleet, now, self._attention)
        self._wake(evictions.next_due, key)
        is_waiting = key in self.found.decisions or key in self._change.bindings
        return bool(evictions.due or evictions.unconfirmed or is_waiting or self._asks_for_a_place(key, binding))

    def _asks_for_a_place(self, key: BindingName, binding: Binding) -> bool:
        """Tells whether it has to be scheduled, outages aside. No instant changes that before it is decided."""
        asks = self._asking.get(key)
        if asks is None:
            asks = self._asking[key] = not binding.spec.clusters or needs_scheduling(binding, self.found.fleet)
        return asks

    def _carry_out(self, key: BindingName, binding: Binding, decision: Decision, now: datetime) -> None:
        self.found.decisions[key] = decision
        if decision.clusters != binding.spec.clusters:
            self._placed_at = now
            self._wake(now + REPORTED_AFTER)
        leaving = tuple(dict.fromkeys(eviction.cluster for eviction in decision.evicted)) + decision.followed
        if leaving:
            after = {target.name: target.replicas for target in decision.clusters}
            self.found.departures.setdefault(key, []).append(Departure(now, leaving, after))
        annotations = {**binding.metadata.annotations, **decision.annotations}
        kept = {name: value for name, value in annotations.items() if value is not None and name != HOME_ANNOTATION}
        spec = msgspec.structs.replace(
            binding.spec,
            clusters=decision.clusters,
            graceful_eviction_tasks=_unfinished(binding, decision, self.found.fleet),
        )
        self.found.bindings[key] = msgspec.structs.replace(
            binding,
            metadata=msgspec.structs.replace(binding.metadata, annotations=kept),
            spec=spec,
            status=status_after(binding.status, binding, decision, now),
        )
        self._limiter.observe(key, ())
        self._wake(decision.wake_at if decision.wake_at != now else None, key)


def _unfinished(binding: Binding, decision: Decision, fleet: Mapping[str, Cluster]) -> tuple[GracefulEvictionTask, ...]:
    """Eviction tasks of before that stay; those that begin are finished at once, but for a purge in a lost cluster."""
    before = {task.from_cluster for task in binding.spec.graceful_eviction_tasks}
    return tuple(
        task
        for task in decision.eviction_tasks
        if task.from_cluster in before
        or (not task.purge_rules.keeps_copy and task.from_cluster in fleet and looks_dead(fleet[task.from_cluster]))
    )


def purged_in(spec: ResourceBindingSpec) -> Set[str]:
    """Clusters whose copies are purged Directly: nothing new is made before these are known to be gone."""
    return {task.from_cluster for task in spec.graceful_eviction_tasks if not task.purge_rules.keeps_copy}


def _settled(binding: Binding) -> Binding:
    """Binding with all that is on its way arrived: open evictions are finished, but for those that are held."""
    if find_condition(binding.status.conditions, EVICTION_HELD_CONDITION) is not None:
        return binding
    if not binding.spec.graceful_eviction_tasks:
        return binding
    return msgspec.structs.replace(binding, spec=msgspec.structs.replace(binding.spec, graceful_eviction_tasks=()))
