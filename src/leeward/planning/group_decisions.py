"""Decisions for groups that move together: one place, one decision and one hold for all members.

Each member is decided alone first. Most often it stays, and that is all. Where it would go, all members that are where
it is have to find a place in the same cluster, or nobody goes:

    others are elsewhere already     all go where they are; it alone, if they have left from where it is
    they are with it                 a cluster is looked for that takes all of them
    a copy of another one has left   it follows there, with an eviction of its own that lasts until it serves there
    that place does not take it      all go on to a third one, or it goes alone out of a cluster that is lost

A member that is not due itself follows by the decision for a cluster that has to be left: all guards hold, and the law.
Nobody is deleted to follow, nor under the brake. A member without a place waits for the others' cluster. Who goes by
itself takes all along: out of a lost cluster, where it fails, back home, where a person sends it. Who would go back
goes with all, or not; but one that `Directly` never purged runs there already. A group that is parted says so. Every
member comes to the same answer, whoever is decided first. Between two writes much can change: evictions wait for who is
left behind, and the last to move leads. Holds: S1, S2, S11, S21. Karmada's workload affinity filters: each moves alone.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta

import msgspec

from kubeapi.core import Taint
from kubeapi.meta import wire_time
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.moves_with import GROUP_LEFT, MOVES_WITH_ANNOTATION
from leeward.api.names import EVICTION_HELD_CONDITION, HOME_ANNOTATION
from leeward.api.purge_mode import PurgeMode, rules_of
from leeward.api.work import Binding, GracefulEvictionTask, Work
from leeward.core.cluster_health.brake import looks_dead
from leeward.core.cluster_health.condition_taints import NO_EXECUTE
from leeward.core.cluster_health.watched_time import BEGINNING
from leeward.core.eviction.due_evictions import Eviction, decide_stay, purge_mode_of
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.eviction.progress import grace_end_of
from leeward.core.eviction.tasks import Producer
from leeward.core.moving_together import target_of
from leeward.core.placement import Decision, Snapshot, decide
from leeward.core.placement.snapshot import UNLIMITED
from leeward.core.scheduling import Trace, Unplaceable
from leeward.planning.batch import owner_of
from leeward.planning.fleet import Fleet
from leeward.planning.moving_groups import is_over, leaving, place_of, why_not

MOST_PLACES = 8
"""Clusters that are tried for a group before it is held."""
RETRY = timedelta(minutes=1)
PURGED_FIRST = "It would be deleted before it serves there (purgeMode, volumes, or no GracefulEviction)"
Beside = tuple[tuple[Binding, Decision], ...]


def decide_together(snapshot: Snapshot, trace: Trace | None = None) -> Decision:
    """Decision for a binding, with the others of its group, whom the fleet knows."""
    return decide_for_group(snapshot, trace)[0]


def decide_for_group(snapshot: Snapshot, trace: Trace | None = None) -> tuple[Decision, Beside]:
    """Decision for a binding, and those of members that come along, whose room is to be reserved."""
    fleet, alone = snapshot.clusters, decide(snapshot, trace)
    members = members_of(snapshot)
    if not members or not isinstance(fleet, Fleet):
        return alone, ()
    others = {
        name: each
        for name, (binding, works) in members.items()
        if not is_over(each := replace(snapshot, binding=binding, works=works, budget=UNLIMITED, quota_refusal=""))
        and place_of(each) is not None
    }
    own, name = snapshot.binding.name, fleet.together.group_of(snapshot.binding)
    group = _Group(fleet, name, own, dict(sorted({**others, own: snapshot}.items())), {own: alone})
    with fleet.reservations.tentatively(fleet.note_capacity):
        found = group.told(group.decide())
    if not alone.withdrawn or found.withdrawn:
        return found, tuple((group.members[n].binding, each) for n, each in group.beside.items())
    again, along = decide_for_group(replace(snapshot, settings=replace(snapshot.settings, withdraw=False)))
    return (replace(again, held=found.held or again.held) if again.clusters == found.clusters else again), along


def members_of(snapshot: Snapshot) -> Mapping[str, tuple[Binding, Mapping[str, Work]]]:
    """Bindings with which another is decided, by name, with their Works; none where it is decided alone."""
    fleet, binding = snapshot.clusters, snapshot.binding
    is_karmadas = snapshot.settings.exact_health and MOVES_WITH_ANNOTATION not in binding.metadata.annotations
    if not isinstance(fleet, Fleet) or is_karmadas or is_over(snapshot):
        return {}
    return {n: each for n in fleet.together.beside(binding) if (each := fleet.together.look(binding.namespace, n))}


@dataclass(frozen=True, slots=True)
class _Group:
    """`members` are snapshots by binding, sorted; `alone` decisions without the group, `beside` of who comes along."""

    fleet: Fleet
    name: str
    own: str
    members: Mapping[str, Snapshot]
    alone: dict[str, Decision]
    beside: dict[str, Decision] = field(default_factory=dict[str, Decision])
    refusals: list[str] = field(default_factory=list[str])
    refused_by: set[str] = field(default_factory=set[str])

    def decide(self) -> Decision:
        alone, place = self.alone[self.own], place_of(self.members[self.own])
        goes = target_of(alone.clusters)
        if place is None or not goes:
            return alone
        follows = goes == place and self._is_left_behind(place)
        if goes == place and not follows:
            return self._waiting(alone)
        settled, own = self._settled(place, goes), self.members[self.own]
        here = [name for name, each in self.members.items() if place_of(each) == place]
        left = [n for n, each in self.members.items() if place in leaving(each) and self._is_settled(each, place)]
        behind = [n for n, m in self.members.items() if place_of(m) in leaving(own) and not self._is_settled(m, "")]
        keeps = left and (follows or self._is_settled(own, ""))
        was_never_purged = not any(leaving(own)[name].purge_rules.keeps_copy for name in alone.withdrawn)
        goes_on = not settled or (place and not keeps)
        for goals, who in (
            (settled, (here if place else [self.own]) if settled else ()),
            (None, [*here, *left] if left else ()),
            (settled, [self.own] if left and here != [self.own] else ()),
            (None, [*here, *behind] if goes_on else ()),
            (None, here if goes_on and behind and not alone.withdrawn else ()),
            ([goes], [self.own] if alone.withdrawn and was_never_purged else ()),
        ):
            if who and (found := self._leave(goals, who)) is not None:
                return self._waiting(found)
        return alone if follows and alone.held is not None else self._held(alone)

    def told(self, decision: Decision) -> Decision:
        """The decision, with a hold that names who is in another cluster, and is not expected to follow."""
        goal = target_of(decision.clusters)
        others = {n: at for n, each in self.members.items() if n not in self.beside and (at := place_of(each))}
        apart = {n: at for n, at in others.items() if n != self.own and at not in (goal, *leaving(decision))}
        if decision.held is not None or not goal or not apart:
            return decision
        names = [f"{self._named(name)} is in {at}" for name, at in apart.items()]
        return self._holding(decision, f"group {self.name} is parted: {', '.join(names)}")

    def _holding(self, decision: Decision, message: str) -> Decision:
        held, retry = HeldReason.GROUP_HELD.value, self.members[self.own].now + RETRY
        condition = Condition(EVICTION_HELD_CONDITION, "True", held, message)
        return replace(decision, held=condition, wake_at=min(decision.wake_at or retry, retry))

    def _named(self, name: str) -> str:
        resource = self.members[name].binding.spec.resource
        return f"{resource.kind} {resource.name}"

    def _leave(self, goals: Collection[str] | None, who: Collection[str]) -> Decision | None:
        """Decision by which all that are `who` go to one of the goals, or of their own choices."""
        for name in who:
            self.fleet.release(owner_of(self.members[name].binding), self.members[name].binding.spec.clusters)
        self.alone.clear()
        for goal in self._places(who) if goals is None else goals:
            if (found := self._all_to(goal, who)) is not None:
                return found
        return None

    def _alone(self, name: str) -> Decision:
        if name not in self.alone:
            self.alone[name] = decide(self.members[name])
        return self.alone[name]

    def _is_left_behind(self, place: str) -> bool:
        """Tells whether another has left this place for one where it may stay, or left a place of both later."""
        known = leaving(self.members[self.own])
        own = {name: (task.creation_timestamp or BEGINNING, self.own) for name, task in known.items()}
        return any(
            cluster == place or (cluster in own and (task.creation_timestamp or BEGINNING, name) > own[cluster])
            for name, each in self.members.items()
            if name != self.own and self._is_settled(each, place)
            for cluster, task in leaving(each).items()
        )

    def _waiting(self, decision: Decision) -> Decision:
        """The decision, with evictions that wait, until they are late, for members in or from the same cluster."""
        snapshot, goal = self.members[self.own], target_of(decision.clusters)
        others = [each for n, each in self.members.items() if n != self.own and place_of(each) != goal]
        left = {place_of(each) for each in others}.union(*map(leaving, others)) - {goal}
        shared = left.intersection(decision.finished)
        waiting = {n: t for n, t in leaving(snapshot).items() if n in shared and self._may_wait(t, snapshot)}
        if not waiting:
            return decision
        return replace(
            decision,
            eviction_tasks=(*waiting.values(), *decision.eviction_tasks),
            finished=tuple(name for name in decision.finished if name not in waiting),
            wake_at=min(decision.wake_at or snapshot.now + RETRY, snapshot.now + RETRY),
        )

    def _may_wait(self, task: GracefulEvictionTask, member: Snapshot) -> bool:
        """Tells whether an eviction that could end may go on: no time, person or unjoin ends it."""
        cluster, seconds = self.fleet.get(task.from_cluster), member.settings.graceful_seconds
        is_late = member.now > grace_end_of(task, member.now, seconds, member.attention)
        is_listed = cluster is not None and not cluster.is_being_deleted
        return is_listed and not is_late and task.purge_rules.keeps_copy and task.suppress_deletion is None

    def _is_settled(self, member: Snapshot, place: str) -> bool:
        """Tells whether a member is elsewhere, where it may stay."""
        cluster = self.fleet.get(place_of(member) or "")
        if cluster is None or cluster.name == place or cluster.is_being_deleted:
            return False
        return not looks_dead(cluster) and not cluster.has_no_execute

    def _settled(self, place: str, goes: str) -> list[str]:
        """Clusters where others are settled: the one first that it would choose, then those with most members."""
        found = [place_of(each) or "" for each in self.members.values() if self._is_settled(each, place)]
        return sorted({*found}, key=lambda name: (name != goes, -found.count(name), name))

    def _places(self, moving: Collection[str]) -> Iterator[str]:
        """Clusters in the order in which the first member that moves by itself would choose them."""
        goals = {name: target_of(self._alone(name).clusters) for name in moving}
        first = next((name for name, goal in goals.items() if goal and goal != place_of(self.members[name])), None)
        goal, tried = goals[first] if first else None, set[str]()
        while first and goal and goal not in {place_of(self.members[first]), *tried} and len(tried) < MOST_PLACES:
            yield goal
            tried.add(goal)
            goal = target_of(self._asked(self.members[first], tried).clusters)

    def _all_to(self, goal: str, moving: Collection[str]) -> Decision | None:
        """Decision for this member where all that are `moving` reach the cluster; None where one does not."""
        decided: dict[str, Decision] = {}
        for name in sorted(moving, key=lambda each: each not in self.refused_by):
            binding, found = self.members[name].binding, self._to(goal, name)
            if isinstance(found, str):
                who, why = self._named(name), f"{found[:1].upper()}{found[1:]}"
                self.refusals.append(f"{who} cannot move to {goal}. {why.replace(' policy ', f' policy of {who} ', 1)}")
                self.refused_by.add(name)
                break
            decided[name] = found
            self.fleet.reserve(owner_of(binding), binding.spec, found.clusters)
        if len(decided) == len(moving):
            self.beside.update((name, each) for name, each in decided.items() if name != self.own)
            if (found := self._seen(decided[self.own])) is not None:
                return found
            self.refusals.append(f"{self._named(self.own)} cannot take others to {goal}. {PURGED_FIRST}")
            self.beside.clear()
        for name in decided:
            self.fleet.release(owner_of(self.members[name].binding))
        return None

    def _seen(self, found: Decision) -> Decision | None:
        """The decision, where others come along, with an eviction that shows them so; None where it may have none.

        What a person moves has none of its own, nor has what goes back to a copy that was never purged.
        """
        member, place = self.members[self.own], place_of(self.members[self.own])
        if not self.beside or not place or place in (target_of(found.clusters), *leaving(found)):
            return found
        mode = purge_mode_of(member.binding.spec.failover, member.settings.purge_mode)
        if not found.withdrawn and not (member.settings.graceful and rules_of(mode).keeps_copy):
            return None
        words = GROUP_LEFT, Producer.LEEWARD.value, PurgeMode.GRACEFULLY.value
        task = GracefulEvictionTask(place, *words, creation_timestamp=wire_time(member.now))
        return replace(found, eviction_tasks=(*found.eviction_tasks, task))

    def _to(self, goal: str, name: str) -> Decision | str:
        """Decision by which a member goes to the cluster, or the reason why it does not."""
        member = self.members[name]
        suspension = member.binding.spec.suspension
        if suspension is not None and suspension.dispatching:
            return "its dispatching is suspended"
        barred = self.fleet.keys() - {goal}
        found = self._asked(member, barred)
        if target_of(found.clusters) != goal and (place := place_of(member)):
            if member.brake:
                return "the brake is engaged"
            cluster, tolerations = self.fleet.get(place), member.binding.spec.tolerations
            stays = cluster is None or decide_stay(cluster.taints, tolerations, member.now).due is None
            if cluster is None or (cluster.has_no_execute and stays):
                return f"it tolerates the taints of {place}, or {place} is not listed"
            found = self._following(member, cluster, barred)
            opened = [task for task in found.eviction_tasks if task.from_cluster == place]
            if target_of(found.clusters) == goal and not (
                opened and all(each.purge_rules.keeps_copy for each in opened)
            ):
                return PURGED_FIRST
        return found if target_of(found.clusters) == goal else why_not(found)

    def _asked(self, member: Snapshot, barred: Collection[str]) -> Decision:
        """Decision for a member that may go to none of these clusters."""
        self.fleet.barred = frozenset(barred)
        try:
            return decide(member)
        finally:
            self.fleet.barred = frozenset()

    def _following(self, member: Snapshot, cluster: Cluster, barred: Collection[str]) -> Decision:
        """Decision for a member as if it had to leave its cluster; where that is well, the task is never taken back."""
        place, taint = cluster.name, Taint(key=MOVES_WITH_ANNOTATION, effect=NO_EXECUTE, time_added=member.now)
        spec = msgspec.structs.replace(cluster.spec, taints=(*cluster.spec.taints, taint))
        self.fleet.put(msgspec.structs.replace(cluster, spec=spec))
        try:
            found = self._asked(replace(member, budget=UNLIMITED), barred)
        finally:
            self.fleet.put(cluster)
        leaves_anyhow = place in leaving(member) or looks_dead(cluster) or cluster.has_no_execute
        tasks = tuple(
            msgspec.structs.replace(task, reason=GROUP_LEFT, producer=Producer.LEEWARD.value)
            if task.from_cluster == place and not leaves_anyhow
            else task
            for task in found.eviction_tasks
        )
        evicted = tuple(
            Eviction(place, why=f"which its group {self.name} leaves") if each.cluster == place else each
            for each in found.evicted
        )
        remembered = {name: text for name, text in found.annotations.items() if name != HOME_ANNOTATION}
        return replace(found, eviction_tasks=tasks, evicted=evicted, annotations=remembered)

    def _held(self, alone: Decision) -> Decision:
        """Decision that it stays where it is: its size follows its template, and evictions that are finished end."""
        snapshot, place = self.members[self.own], place_of(self.members[self.own])
        why = self.refusals[0] if self.refusals else "no cluster takes all members"
        message, spec = f"group {self.name} moves only as a whole, and {why}", snapshot.binding.spec
        stays = self._asked(replace(snapshot, settings=replace(snapshot.settings, withdraw=False)), self.fleet.keys())
        opened = leaving(stays).keys() - leaving(snapshot).keys()
        if place and target_of(stays.clusters) == place and not opened:
            return self._holding(stays, message)
        kept = Decision(
            spec.clusters,
            tuple(task for task in spec.graceful_eviction_tasks if task.from_cluster not in alone.finished),
            None if spec.clusters else Unplaceable("Error", message, {}),
            finished=alone.finished,
            foreign=alone.foreign,
            foreign_held=alone.foreign_held,
            wake_at=snapshot.now + RETRY,
        )
        return self._holding(kept, message) if spec.clusters else kept
