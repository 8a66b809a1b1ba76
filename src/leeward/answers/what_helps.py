"""Changes that would give a binding a place which it does not find: the same decision, asked with one thing changed.

Only changes that were tried and that gain something are named, each with the command that makes it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice

import msgspec

from leeward.answers.advice import (
    Advice,
    allowing_all,
    asking_less,
    ending_purge,
    ending_wait,
    losing_state,
    naming,
    placement_of,
    raised_quota,
    spreading_less,
    tolerating,
    uncordoned,
    with_policy_patch,
)
from leeward.answers.decisions import counted_by_sum, fleet_of, is_braked, snapshot_of
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.answers.room_arithmetic import RoomRow, counted_by_grade, free_cores
from leeward.api.cluster import Cluster
from leeward.api.names import UNSCHEDULABLE_TAINT
from leeward.api.work import Binding, ResourceBindingSpec, Work
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.cluster_health.condition_taints import key_of
from leeward.core.copies.availability import availability
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.interpreter import lacks_health_rule
from leeward.core.interpreter.resource_health import ResourceHealth, health_in
from leeward.core.placement import Decision
from leeward.core.scheduling import Unplaceable
from leeward.core.wording import listed
from leeward.operations.findings import explain_command
from leeward.operations.rollout_view import RolloutView, rollout_view
from leeward.operations.sentences import counted
from leeward.planning.group_decisions import decide_together

MOST_CORDONS = 2
"""Cordons that are tried for a whole fleet: each is a projection, which takes a second or two of a large one."""

BY_SUM = (
    "The scheduler counts by the grades of nodes (spec.resourceModels), and finds too little. By the sum of what "
    "is free, {} more would fit"
)
_RELEASE = "leeward brake release"


class Help(msgspec.Struct, frozen=True, rename="camel"):
    """`command` makes the change; where it takes more than a command, it shows the thing that is to change."""

    change: str
    effect: str
    command: str = ""


def what_helps(state: FleetState, key: BindingName, decision: Decision, rooms: list[RoomRow]) -> tuple[Help, ...]:
    """Help for what is missed; none where nothing is."""
    binding = state.bindings[key]
    reason = decision.held.reason if decision.held is not None else ""
    tried = _Trial(state, key, decision)
    lost = [target.name for target in binding.spec.clusters if _is_lost(state, target.name)]
    if reason == HeldReason.BRAKE_ENGAGED or (lost and is_braked(state, state.clusters.values())):
        release = Help("release the brake if the clusters are really lost", "waiting evictions begin", _RELEASE)
        return (release, *_returns(state, binding, decision))
    if reason in _BY_REASON:
        return (*_BY_REASON[HeldReason(reason)](tried), *_returns(state, binding, decision))
    if decision.quota_refusal:
        return (*tried.all_of(raised_quota(binding, decision.quota_refusal)),)
    if reason != HeldReason.NO_PLACE_TO_GO and wanted_copies(binding.spec) <= well_placed(state.clusters, decision):
        return ()
    helps = (
        *tried.all_of(tolerating(state, binding)),
        *tried.all_of(uncordoned(state, binding)),
        *tried.named(),
        *(each for one in spreading_less(binding) for each in tried.first_of(one)),
        *tried.first_of(asking_less(binding, {row.resource for row in rooms})),
    )
    return (*helps, *_more_room(binding.spec, rooms), *_returns(state, binding, decision))


def rollout_of(state: FleetState, key: BindingName) -> RolloutView | None:
    """Rollout of an application, while not all of its clusters are to have the revision that is asked for."""
    view = rollout_view(state.bindings[key], state.works_of(key), state.clusters, state.as_of)
    return view if view is not None and view.under_way else None


def rollout_helps(view: RolloutView | None) -> Iterator[Help]:
    """The command of a person that the rollout waits for."""
    if view is not None and view.command:
        yield Help(f"`leeward rollout {view.command.split()[2]}`", view.gain, view.command)


def more_by_sum(state: FleetState, key: BindingName, decision: Decision) -> int:
    """Replicas that find too little room by the grades of nodes, and would fit by the sum of the free room."""
    held = decision.held.reason if decision.held is not None else ""
    lacks_room = isinstance(decision.result, Unplaceable) or held == HeldReason.NO_PLACE_TO_GO
    if not lacks_room or decision.quota_refusal or not counted_by_grade(state.clusters.values()):
        return 0
    other = counted_by_sum(state)
    second = decide_together(snapshot_of(other, key, fleet_of(other)))
    return max(0, well_placed(state.clusters, second) - well_placed(state.clusters, decision))


def by_sum_words(state: FleetState, key: BindingName, decision: Decision) -> str:
    """Second opinion on room, as a sentence; empty where it is not another one."""
    more = more_by_sum(state, key, decision)
    return BY_SUM.format(more) if more else ""


class _Trial:
    """Decisions about one binding with one thing changed, beside the decision that is made now."""

    def __init__(self, state: FleetState, key: BindingName, now: Decision) -> None:
        self._state, self._key, self._now = state, key, now
        self._binding = state.bindings[key]

    def decide(self, advice: Advice) -> Decision:
        clusters = [_without(cluster, advice.untainted) for cluster in self._state.clusters.values()]
        return decide_together(
            snapshot_of(self._state, self._key, fleet_of(self._state, clusters), binding=advice.binding)
        )

    def all_of(self, advices: Iterable[Advice]) -> Iterator[Help]:
        for advice in advices:
            if effect := self._effect(self.decide(advice)):
                yield Help(advice.change, effect, advice.command)

    def first_of(self, advices: Iterable[Advice]) -> Iterator[Help]:
        """Help of the first advice that helps."""
        yield from islice(self.all_of(advices), 1)

    def named(self) -> Iterator[Help]:
        """Clusters that would take it, if its policy allowed them."""
        placement = placement_of(self._binding)
        if placement.cluster_affinity is None and not placement.cluster_affinities:
            return
        free = self.decide(Advice("", "", with_policy_patch(self._binding, allowing_all(self._binding))))
        if to := self._gaining(free):
            yield from self.first_of(naming(self._binding, [self._state.clusters[name] for name in to]))

    def for_replacement(self) -> Iterator[Help]:
        """Changes by which a leaving copy stays, or its replacement goes to another cluster, or becomes healthy."""
        yield from self.all_of(uncordoned(self._state, self._binding))
        yield from self.all_of(tolerating(self._state, self._binding))
        unjudged = _unjudged(self._state.works_of(self._key), [target.name for target in self._now.clusters])
        if not unjudged:
            yield from self.named()
            yield from _looks_at(self._state, self._key, self._now)
            return
        for advice in ending_wait(self._binding, unjudged):
            yield Help(advice.change, "the eviction ends, and the old copy is deleted", advice.command)
        resource = self._binding.spec.resource
        if lacks_health_rule({"apiVersion": resource.api_version, "kind": resource.kind}):
            change = f"write a ResourceInterpreterCustomization with healthInterpretation for {resource.kind}"
            yield Help(change, "evictions of that kind end by themselves")

    def without_state(self) -> Iterator[Help]:
        yield from self.first_of(losing_state(self._binding))

    def for_purge(self) -> Iterator[Help]:
        """Ends of the wait for a copy that is purged Directly."""
        waits = [each.from_cluster for each in self._binding.spec.graceful_eviction_tasks]
        for advice in ending_purge(self._binding):
            held = self.decide(advice).held
            if held is None or held.reason != HeldReason.WAITING_FOR_PURGE:
                twice = "if the old copy still runs in a cluster that is cut off, two run until that is back"
                yield Help(advice.change, f"the replacement starts at once; {twice}", advice.command)
        for name in waits:
            yield Help(f"if {name} comes back", "its copy serves again, or is deleted and replaced", _look_at(name))

    def for_watching(self) -> Iterator[Help]:
        """Somebody who looks at clusters, where nobody does."""
        if not self._state.recorded.attention.is_now:
            what = "start the controllers (leeward serve, or leeward up for a local fleet)"
            yield Help(what, "Leeward looks at the cluster again, and waiting evictions go on", "leeward status")

    def for_release(self) -> Iterator[Help]:
        """Another cluster, or another release, for an application that is healthy nowhere."""
        yield from self.named()
        resource = self._binding.spec.resource
        where = f" -n {resource.namespace}" if resource.namespace else ""
        edit = f"kubectl edit {resource.kind.lower()} {resource.name}{where}"
        yield Help("correct the release", "the application stays where it is, and becomes healthy", edit)

    def for_developers(self) -> Iterator[Help]:
        """Record of a decision that was refused, which is a bug."""
        report = f"{explain_command(self._binding)} --record refused.json"
        yield Help("report the recorded decision as a bug of Leeward", "evictions begin when the bug is mended", report)

    def _gaining(self, then: Decision) -> list[str]:
        had = {target.name: target.replicas for target in self._binding.spec.clusters}
        return [target.name for target in then.clusters if target.replicas > had.get(target.name, -1)]

    def _loses(self, then: Decision) -> bool:
        """Tells whether a copy that may serve and that stays now is taken by the change, without an eviction."""
        works, clusters = self._state.works_of(self._key), self._state.clusters
        had = {target.name: target.replicas for target in self._binding.spec.clusters}
        kept = {target.name for target in then.clusters} | {task.from_cluster for task in then.eviction_tasks}
        taken = [target.name for target in self._now.clusters if target.name in had and target.name not in kept]
        there = [name for name in taken if name in clusters and not looks_dead(clusters[name])]
        return any(availability(works.get(name), clusters[name], had[name]).at_most for name in there)

    def _effect(self, then: Decision) -> str:
        """Sentence on the gain of the change; empty where it gains nothing, or takes a copy that serves."""
        if self._loses(then):
            return ""
        if stays := [name for name in then.withdrawn if name not in self._now.withdrawn]:
            return f"the copy stays in {', '.join(stays)}"
        before, after = (well_placed(self._state.clusters, each) for each in (self._now, then))
        to = self._gaining(then)
        if after > before and to:
            return f"{counted(after - before, 'more replica')} would fit in {listed(to)}{' together' * (len(to) > 1)}"
        evicted = [each.cluster for each in then.evicted if each not in self._now.evicted]
        if evicted and to:
            return f"the application moves from {listed(evicted)} to {listed(to)}"
        return ""


_BY_REASON: Mapping[HeldReason, Callable[[_Trial], Iterator[Help]]] = {
    HeldReason.DECISION_REFUSED: _Trial.for_developers,
    HeldReason.NOT_CONFIRMED: _Trial.for_watching,
    HeldReason.REPLACEMENT_MISSING: _Trial.for_replacement,
    HeldReason.STATE_NOT_PRESERVED: _Trial.without_state,
    HeldReason.UNHEALTHY_EVERYWHERE: _Trial.for_release,
    HeldReason.WAITING_FOR_PURGE: _Trial.for_purge,
}
"""Help by the reason for which something is held, where it is not help to find a place."""


def _unjudged(works: Mapping[str, Work], targets: Iterable[str]) -> list[str]:
    """Targets whose copies nobody can judge."""
    there = [(name, works[name]) for name in targets if name in works]
    return [n for n, w in there if ResourceHealth.UNKNOWN in map(health_in, w.status.manifest_statuses)]


def _looks_at(state: FleetState, key: BindingName, decision: Decision) -> Iterator[Help]:
    """Works of replacements that are not healthy, with the command that says why."""
    works = state.works_of(key)
    for target in decision.clusters:
        work, cluster = works.get(target.name), state.clusters.get(target.name)
        if work is not None and not availability(work, cluster, target.replicas).is_whole:
            yield Help(
                f"mend the copy in {target.name}",
                "when that copy is healthy, the old copy is deleted",
                f"leeward explain work/{work.name} -n {work.namespace}",
            )


def well_placed(clusters: Mapping[str, Cluster], decision: Decision) -> int:
    """The replicas that a decision gives to clusters that are there and do not look dead; copies where none divide."""
    there = [t for t in decision.clusters if t.name in clusters and not looks_dead(clusters[t.name])]
    return sum(max(1, target.replicas) for target in there)


def wanted_copies(spec: ResourceBindingSpec) -> int:
    """Number of copies that must be somewhere that is well."""
    return spec.replicas if spec.is_divided else max(1, sum(max(1, target.replicas) for target in spec.clusters))


def cordons_to_try(state: FleetState, but: Collection[str]) -> Iterator[tuple[str, FleetState]]:
    """States in which one cordoned cluster is not, by its name: of those with most room, and not of `but`."""
    fleet = fleet_of(state)
    cordon, others = (UNSCHEDULABLE_TAINT, "NoSchedule"), [c for c in state.clusters.values() if c.name not in but]
    cordoned = [c.name for c in others if cordon in map(key_of, c.taints) and not looks_dead(c)]
    cordoned.sort(key=lambda name: (-(free_cores(fleet, name) or 0), name))
    for name in cordoned[:MOST_CORDONS]:
        clusters = tuple(_without(each, frozenset({(name, UNSCHEDULABLE_TAINT)})) for each in state.clusters.values())
        yield name, FleetState(msgspec.structs.replace(state.recorded, clusters=clusters))


def effect_on(wanting: int, left: int, replicas: int) -> str:
    """`all 11 would fit`: of applications that do not fit, some are left that do not either."""
    if left == 0:
        return f"{'all ' if wanting > 1 else ''}{wanting if wanting > 1 else 'the application'} would fit"
    if left < wanting:
        return f"{wanting - left} of {wanting} applications would fit"
    return f"{counted(replicas, 'more replica')} would fit"


def _more_room(spec: ResourceBindingSpec, rooms: list[RoomRow]) -> Iterator[Help]:
    """Help by what is missing for one more replica, least first."""
    short = [(row.each - row.free % row.each, row) for row in rooms if row.each > 0 and not row.by_nodes]
    for missing, row in sorted(short, key=lambda item: (item[0], item[1].cluster))[:2] if spec.is_divided else ():
        lacks = f"{_amount(missing, row.resource)} more in {row.cluster}"
        yield Help(lacks, "one more replica would fit", _look_at(row.cluster))


def _returns(state: FleetState, binding: Binding, decision: Decision) -> Iterator[Help]:
    kept = {target.name: target.replicas for target in decision.clusters}
    for name, replicas in kept.items():
        if _is_lost(state, name):
            is_one = replicas == 1 or not binding.spec.is_divided
            those = "the copy there counts" if is_one else f"the {replicas} replicas there count"
            yield Help(f"if {name} comes back", f"{those} as running immediately", _look_at(name))


def _is_lost(state: FleetState, name: str) -> bool:
    return name in state.clusters and looks_dead(state.clusters[name])


def _look_at(cluster: str) -> str:
    return f"leeward explain cluster/{cluster}"


def _amount(number: float, resource: str) -> str:
    if resource == "memory":
        return f"{number / 2**30:.1f} GiB"
    return f"{number:.2f} cores" if resource == "cpu" else f"{number:.0f} {resource}"


def _without(cluster: Cluster, untainted: frozenset[tuple[str, str]]) -> Cluster:
    taints = tuple(taint for taint in cluster.taints if (cluster.name, taint.key) not in untainted)
    return cluster if len(taints) == len(cluster.taints) else cluster.with_taints(taints, {})
