"""S19: an outage is told as it was. Each cluster that is lost has one `Outage`, and what that says has happened.

Its instants are in order, its states add up to its applications, what is held or kept is so, and what has moved has
left. Whether that is all that has left is asked when it is over, where the control plane had no faults meanwhile. A
cluster that fails again soon is in the same outage. In the end all are over (`unfinished`).
"""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from controller_runtime import Key
from leeward.api.meta import find_condition
from leeward.api.names import EVICTION_HELD_CONDITION
from leeward.api.outage import ClusterOutage, MoveState, OutageApplication, OutagePhase, OutageStatus, StepKind
from leeward.api.work import Binding, is_application
from leeward.core.outages.sight import NOT_COLLECTED, NOT_EVICTED, TOLERATED
from simulator.histories.checkers.lateness import CONTROLLERS
from simulator.histories.checkers.rollouts import is_broken
from simulator.histories.checkers.scene import Scene, Violation, replicas_of, seconds_of, tasks_of
from simulator.histories.checkers.states import States
from simulator.histories.ground_truth import BINDINGS, OUTAGES, Change, GroundTruth

CLUSTERS = "/cluster.karmada.io/clusters/"
SECONDS = 15.0
"""Seconds from when a cluster is lost until there is its Outage: for retries, and for a write that waits for others."""
LOOK_SECONDS = 1.0
SAME_OUTAGE_SECONDS = 600.0
"""A cluster that fails again so soon after its return is in the same outage."""
MOST_LISTED, MOST_STEPS, MOST_POINTS = 200, 64, 120
NOT_DUE = (TOLERATED, NOT_EVICTED, NOT_COLLECTED, "BrakeEngaged")
"""Reasons for which something is held or kept that is not due, so that its binding need not say so."""
NOT_CONFIRMED = "NotConfirmed"
"""Reason that is told while an outage is looked at again: what was held or kept stays told as it was."""
STATES = {state: state.value.lower() for state in MoveState}


class OutagesChecker:
    """`_lost_since`: when each cluster was lost that is. `_left`: when each binding was last leaving each cluster, and
    `_begun`: when automatic evictions began that were not withdrawn; by cluster and binding. `_held`: the reasons for
    which each was held."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._lost_since: dict[str, float] = {}
        self._left: dict[tuple[str, Key], float] = {}
        self._begun: dict[tuple[str, Key], float] = {}
        self._held: dict[Key, States[str]] = {}
        self._look_at = 0.0

    def look(self, change: Change) -> Iterator[Violation]:
        if change.kind == CLUSTERS:
            self._note_cluster(change)
        elif change.kind in BINDINGS:
            self._note_binding(change, change.old, change.new)
            if change.restored:
                self._note_restored(change.seconds)
        elif change.kind == OUTAGES and change.restored:
            self._note_restored(change.seconds)
        elif change.kind == OUTAGES:
            for message in self._problems(change.old, change.new):
                yield Violation("S19", change.seconds, f"{change.key.name}: {message}")

    def overdue(self, now: float) -> Iterator[Violation]:
        """Finds what should be there by now; to be asked again and again, also while nothing changes."""
        if now < self._look_at:
            return
        self._look_at = now + LOOK_SECONDS
        told = {each.spec.cluster for each in outages_in(self._scene.truth) if _phase(each) is OutagePhase.RUNNING}
        for name, since in self._lost_since.items():
            if name in self._scene.truth.clusters and name not in told and now > self._due(since):
                yield Violation("S19", now, f"{name} is lost since {since:.1f}, and no Outage tells of it")
                self._lost_since[name] = now

    def _due(self, since: float) -> float:
        due = since + SECONDS
        for begin, end in self._scene.disturbed:
            if begin < due and end > since:
                due = max(due, end + SECONDS)
        return due

    def _note_cluster(self, change: Change) -> None:
        cluster = change.new
        was_ready = cluster is not None and cluster.ready is not None and bool(cluster.status.kubernetes_version)
        if cluster is None or not was_ready or cluster.is_ready or cluster.is_being_deleted:
            self._lost_since.pop(change.key.name, None)
        else:
            self._lost_since.setdefault(change.key.name, change.seconds)

    def _note_binding(self, change: Change, old: Binding | None, new: Binding | None) -> None:
        if new is None or (old is not None and old.metadata.uid != new.metadata.uid):
            for pair in [pair for pair in (*self._left, *self._begun) if pair[1] == change.key]:
                self._left.pop(pair, None)
                self._begun.pop(pair, None)
        if new is None:
            return
        held = find_condition(new.status.conditions, EVICTION_HELD_CONDITION)
        reason = held.reason if held is not None and held.status == "True" else ""
        self._held.setdefault(change.key, States()).note(change.seconds, reason)
        before, after = (tasks_of(each) if each is not None else {} for each in (old, new))
        gone = set(replicas_of(old)) - set(replicas_of(new)) if old is not None else set[str]()
        for name in {*after, *gone}:
            self._left[name, change.key] = change.seconds
        for name, task in after.items():
            if name not in before and task.reason == "TaintUntolerated" and name in self._lost_since:
                self._begun[name, change.key] = change.seconds
        for name in replicas_of(new).keys() - after.keys():
            self._begun.pop((name, change.key), None)

    def _note_restored(self, seconds: float) -> None:
        """Notes what has left before the backup was taken, as an Outage says, or as the binding shows that it
        concerns."""
        bindings = self._bindings()
        for outage in outages_in(self._scene.truth):
            for each in outage.status.listed:
                binding = bindings.get(key_of(each))
                has_gone = binding is not None and outage.spec.cluster not in replicas_of(binding)
                if each.left_at is not None or has_gone:
                    self._left.setdefault((outage.spec.cluster, key_of(each)), seconds)

    def _problems(self, old: ClusterOutage | None, new: ClusterOutage | None) -> Iterator[str]:
        if new is None:
            if old is not None and _phase(old) is not OutagePhase.OVER:
                yield "it was deleted before it was over"
            return
        yield from _beyond_bounds(new.status)
        yield from _miscounted(new.status)
        if not self._scene.skew_seconds:
            yield from _out_of_order(new)
        yield from self._changed(old, new)
        for each in new.status.listed:
            yield from self._untrue(new, each)
        was_over = old is not None and _phase(old) is OutagePhase.OVER
        if _phase(new) is OutagePhase.OVER and not was_over:
            yield from self._left_out(new)

    def _changed(self, old: ClusterOutage | None, new: ClusterOutage) -> Iterator[str]:
        """Judges what becomes of one, and where another one begins."""
        if old is not None:
            again = new.status.failures - old.status.failures
            if old.spec != new.spec or again < 0:
                yield f"it is another one than it was: {old.spec}, {old.status.failures} failures"
            if _phase(old) is not OutagePhase.RUNNING and _phase(new) is OutagePhase.RUNNING and not again:
                yield f"it was {_phase(old)}, and runs again without a failure"
            return
        for each in outages_in(self._scene.truth):
            if each.spec.cluster != new.spec.cluster or each.name == new.name:
                continue
            returned = each.status.returned_at
            if _phase(each) is not OutagePhase.OVER:
                yield f"it began while {each.name} runs"
            elif returned is not None and 0 <= (new.spec.since - returned).total_seconds() < SAME_OUTAGE_SECONDS:
                yield f"it began soon after {each.name}, and is the same outage"

    def _untrue(self, outage: ClusterOutage, told: OutageApplication) -> Iterator[str]:
        key = key_of(told)
        oldest = self._scene.lateness.oldest(self._scene.truth.now(), CONTROLLERS)
        if told.state in (MoveState.HELD, MoveState.KEPT) and told.reason not in NOT_DUE:
            said = {*self._held.get(key, States()).since(oldest - SECONDS)}
            if not said & {told.reason, NOT_CONFIRMED}:
                yield f"{key} is {told.state} for {told.reason}, which its binding does not say"
        if told.state is MoveState.MOVED and key in self._bindings():
            since = seconds_of(outage.spec.since) - self._scene.skew_seconds - SECONDS
            if self._left.get((outage.spec.cluster, key), float("-inf")) < since:
                yield f"{key} has moved, it says, and has never left"

    def _left_out(self, outage: ClusterOutage) -> Iterator[str]:
        """Tells whether all that has left while the cluster was lost is among what has moved; where the cluster has
        left itself before that was over, it is told that it was on its way."""
        now, since = self._scene.truth.now(), seconds_of(outage.spec.since)
        if any(begin <= now and end >= since for begin, end in self._scene.disturbed):
            return
        has_gone = any(step.kind is StepKind.UNJOINED for step in outage.status.steps)
        moved = {
            key_of(each)
            for each in outage.status.listed
            if each.state is MoveState.MOVED or (has_gone and each.left_at is not None)
        }
        for (cluster, key), begun in self._begun.items():
            binding = self._bindings().get(key)
            is_gone = binding is None or not is_application(binding) or binding.spec.asks_for_none
            if cluster == outage.spec.cluster and begun >= since and not is_gone and key not in moved:
                yield f"{key} has left {cluster} at {begun:.1f}, and it does not say so"

    def _bindings(self) -> dict[Key, Binding]:
        return {**self._scene.truth.bindings, **self._scene.truth.cluster_bindings}


def unfinished(truth: GroundTruth) -> Iterator[str]:
    """Outages that are not over though their clusters are back, and nothing is on its way out of them."""
    for outage in outages_in(truth):
        cluster = truth.clusters.get(outage.spec.cluster)
        if _phase(outage) is OutagePhase.OVER or (cluster is not None and not cluster.is_ready):
            continue
        bindings = [*truth.bindings.items(), *truth.cluster_bindings.items()]
        if not any(_is_on_its_way(truth, key, binding, outage.spec.cluster) for key, binding in bindings):
            yield f"the Outage {outage.name} is {_phase(outage)}, and its cluster is back"


def _is_on_its_way(truth: GroundTruth, key: Key, binding: Binding, cluster: str) -> bool:
    """Tells whether it is not cleaned up there, or what replaces it is not all placed, or cannot run: a change is
    bad."""
    scheduled = find_condition(binding.status.conditions, "Scheduled")
    if scheduled is not None and scheduled.status == "False":
        return True
    if any(
        copy is not None and is_broken(copy) for copy in (truth.copy(name, binding) for name in replicas_of(binding))
    ):
        return True
    return cluster in tasks_of(binding) or (cluster not in replicas_of(binding) and cluster in truth.works_of(key))


def key_of(application: OutageApplication) -> Key:
    """Key of its binding."""
    return Key(application.namespace, f"{application.name}-{application.kind.lower()}")


def outages_in(truth: GroundTruth) -> Iterator[ClusterOutage]:
    yield from truth.of(OUTAGES).values()


def _phase(outage: ClusterOutage) -> OutagePhase:
    return outage.status.phase


def _beyond_bounds(status: OutageStatus) -> Iterator[str]:
    for name, most in (("listed", MOST_LISTED), ("steps", MOST_STEPS), ("curve", MOST_POINTS)):
        if len(getattr(status, name)) > most:
            yield f"it has {len(getattr(status, name))} {name}, and room for {most}"
    named = Counter((each.kind, each.namespace, each.name) for each in status.listed)
    if twice := [name for name, count in named.items() if count > 1]:
        yield f"it names {twice} twice"


def _miscounted(status: OutageStatus) -> Iterator[str]:
    """Finds wrong counts; what has moved may be counted and not named."""
    counts = {state: int(getattr(status, name)) for state, name in STATES.items()}
    if sum(counts.values()) != status.applications:
        yield f"{counts} are not {status.applications} applications"
    if status.applications > MOST_LISTED:
        return
    named = Counter(each.state for each in status.listed)
    for state, count in counts.items():
        if named[state] > count or (named[state] < count and state is not MoveState.MOVED):
            yield f"it counts {count} as {state}, and names {named[state]}"


def _out_of_order(outage: ClusterOutage) -> Iterator[str]:
    status = outage.status
    chains: list[tuple[datetime | None, ...]] = [
        (outage.spec.since, status.failed_at, status.not_ready_at, status.no_execute_at),
        (status.failed_at, status.returned_at),
        tuple(step.at for step in status.steps),
        tuple(point.at for point in status.curve),
        *((each.left_at, each.healthy_at) for each in status.listed),
    ]
    for chain in chains:
        known = [at for at in chain if at is not None]
        if known != sorted(known):
            yield f"its instants are not in order: {', '.join(str(at) for at in known)}"
