"""Failback: moved copies go back to a cluster that has been healthy for long enough, step by step.

    original placement         -> who has too few replicas there, who has too many
    a step                     -> the result with some of them moved, and an eviction task for the old copies
    core.eviction.progress     -> the task ends, and the old copy shrinks, when the returned one is seen healthy
    core.eviction.withdrawal   -> it is withdrawn when that fails

A step begins only while all is well: all that is asked for surely serves, nothing is being evicted, the brake is off.
The next one begins when its tasks have ended. So there are never fewer healthy replicas than asked (S1), and a cluster
that is held down for flapping gets nothing back (C1). Karmada has no such thing: nothing moves back there.

From one term of `clusterAffinities` to an earlier one it returns in the same steps (`step_between_terms`); meanwhile
its targets lie in two terms (`scheduling.joined_terms`). Copies that are not divided return at once, all of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import product

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.failback import FailbackOptions
from leeward.api.purge_mode import PurgeMode
from leeward.api.work import Binding, ResourceBindingSpec, TargetCluster
from leeward.core.cluster_health.flap_damping import is_held_down, parse_flapping
from leeward.core.cluster_health.watched_time import WatchedTime
from leeward.core.copies.disruption import CopyTable
from leeward.core.copies.evidence import is_current
from leeward.core.eviction.due_evictions import decide_stay
from leeward.core.eviction.original_placement import OriginalPlacement, beginning_to, goal_of
from leeward.core.eviction.tasks import TaskReason, leave, own_task
from leeward.core.scheduling import ClusterArrays
from leeward.core.scheduling.candidates import room_in
from leeward.core.scheduling.model import Request
from leeward.core.scheduling.selection import is_spread
from leeward.core.scheduling.steps import is_feasible


@dataclass(frozen=True, slots=True)
class Failback:
    """`spec` with one step taken (None: none is to be taken now), `moved` replicas by the cluster they return to.

    `original` is the memory that remains; `wake_at` when a returned cluster will have been healthy long enough.
    """

    original: OriginalPlacement | None
    spec: ResourceBindingSpec | None = None
    moved: Mapping[str, int] = field(default_factory=dict[str, int])
    wake_at: datetime | None = None


def decide_failback(
    binding: Binding,
    original: OriginalPlacement,
    fleet: ClusterArrays,
    copies: CopyTable,
    now: datetime,
    options: FailbackOptions,
    time: WatchedTime,
) -> Failback:
    """The next step back of a binding to which nothing else happens. Its waits run over watched time.

    Holds: S1, S2, S3, S13."""
    spec = binding.spec
    goal = goal_of(original, spec, fleet)
    held = spec.assigned
    missing = [name for name in goal if name not in held or held[name] < goal[name]]
    if not missing:
        return Failback(None)
    instants = {name: trusted_at(fleet[name], options, time) for name in missing}
    later = min((at for at in instants.values() if at is not None and at > now), default=None)
    back = [name for name, at in instants.items() if at is not None and at <= now]
    term = binding.status.scheduler_observing_affinity_name
    back = [name for name in back if may_return(spec, term, fleet[name], now)]
    if not is_current(binding) or not copies.serves(held):
        return Failback(original, wake_at=later)
    moves = _divided(spec, goal, back, fleet, options) if spec.is_divided else _copied(spec, goal, back)
    for move in moves:
        after = _moved(spec, move, now)
        if is_spread(after, fleet):
            return Failback(original, after, move.returning, later)
    return Failback(original, wake_at=later)


def step_between_terms(
    binding: Binding,
    original: OriginalPlacement,
    goal: Mapping[str, int],
    fleet: ClusterArrays,
    copies: CopyTable,
    now: datetime,
    options: FailbackOptions,
    *,
    begins: bool,
) -> Failback:
    """The next step to a `goal` in another affinity term, all of whose clusters may take their missing replicas.
    `begins`: it is the first one.

    Returned copies must be seen healthy; leaving ones may be in any state. Holds: S1, S2, S3."""
    spec = binding.spec
    held = spec.assigned
    missing = [name for name in goal if name not in held or held[name] < goal[name]]
    if not missing or not is_current(binding) or not copies.serves(held.keys() & goal.keys()):
        return Failback(original if missing else None)
    moves = _divided(spec, goal, missing, fleet, options) if spec.is_divided else _at_once(spec, goal, missing)
    for move in moves:
        after = _moved(spec, move, now)
        if is_spread(after, fleet):
            known = beginning_to(original, spec, goal) if begins else original
            return Failback(known, after, move.returning)
    return Failback(original)


@dataclass(frozen=True, slots=True)
class _Move:
    """Replicas that return, and that leave, by cluster."""

    returning: Mapping[str, int]
    leaving: Mapping[str, int]


def _divided(
    spec: ResourceBindingSpec,
    goal: Mapping[str, int],
    back: Sequence[str],
    fleet: ClusterArrays,
    options: FailbackOptions,
) -> Iterator[_Move]:
    """A step of as many replicas as the policy allows; all at once where a spread constraint allows no step."""
    held = spec.assigned
    wanted = {name: min(goal[name] - held.get(name, 0), room_in(Request(spec), fleet, name)) for name in back}
    surplus = {name: count - goal.get(name, 0) for name, count in held.items() if count > goal.get(name, 0)}
    most = min(sum(wanted.values()), sum(surplus.values()))
    paced = min(options.replicas_of_step(spec.replicas), most)
    for count in dict.fromkeys((paced, most)):
        if count > 0:
            yield _Move(_take(wanted, count), _take(surplus, count))


def _copied(spec: ResourceBindingSpec, goal: Mapping[str, int], back: Sequence[str]) -> Iterator[_Move]:
    """One copy for another; where there is none too many, the scheduler fills up by itself."""
    strangers = (target.name for target in spec.clusters if target.name not in goal)
    for returning, leaving in product(sorted(back), sorted(strangers)):
        yield _Move({returning: spec.replicas}, {leaving: spec.replicas})


def _at_once(spec: ResourceBindingSpec, goal: Mapping[str, int], missing: Sequence[str]) -> Iterator[_Move]:
    """All copies for all others: a placement of a part of each would lie in two terms."""
    strangers = [target.name for target in spec.clusters if target.name not in goal]
    yield _Move(dict.fromkeys(missing, spec.replicas), dict.fromkeys(strangers, spec.replicas))


def _take(amounts: Mapping[str, int], count: int) -> Mapping[str, int]:
    """`count` in all, from the greatest first."""
    taken: dict[str, int] = {}
    for name in sorted(amounts, key=lambda name: (-amounts[name], name)):
        taken[name] = min(count, amounts[name])
        count -= taken[name]
    return {name: number for name, number in taken.items() if number > 0}


def _moved(spec: ResourceBindingSpec, move: _Move, now: datetime) -> ResourceBindingSpec:
    """The binding with these replicas moved: those that leave have a task, and leave for good when that has ended."""
    held = spec.assigned
    staying = {n: held[n] - count for n, count in move.leaving.items() if spec.is_divided and held[n] > count}
    tasks = [own_task(name, TaskReason.FAILBACK, PurgeMode.GRACEFULLY, now) for name in sorted(move.leaving)]
    left = leave(spec, tasks, staying)
    grown = {target.name: target for target in left.clusters}
    for name, count in move.returning.items():
        components = spec.clusters[0].components if spec.clusters else ()
        before = grown.get(name) or TargetCluster(name, components=components)
        grown[name] = msgspec.structs.replace(before, replicas=before.replicas + count)
    return msgspec.structs.replace(left, clusters=tuple(grown[name] for name in sorted(grown)))


def trusted_at(cluster: Cluster, options: FailbackOptions, time: WatchedTime) -> datetime | None:
    """Instant from which the cluster has been healthy for long enough; of a tainted one by our own clock."""
    ready, flapping = cluster.ready, parse_flapping(cluster)
    if ready is None or ready.status != "True" or ready.last_transition_time is None:
        return None
    since = max(ready.last_transition_time, flapping.at) if flapping else ready.last_transition_time
    return time.moved(since) + timedelta(seconds=options.after_seconds)


def may_return(spec: ResourceBindingSpec, affinity_name: str, cluster: Cluster, now: datetime) -> bool:
    """Tells whether the scheduler would consider the cluster, and a copy there would not have to leave it again."""
    if is_held_down(cluster) or decide_stay(cluster.taints, spec.tolerations, now).due is not None:
        return False
    bare = msgspec.structs.replace(spec, clusters=())
    return is_feasible(Request(bare, affinity_name), cluster)
