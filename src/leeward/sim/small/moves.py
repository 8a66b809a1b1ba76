"""All that can happen next in a small world. Each move is one step of one controller, one member, or one fault.

A controller acts on what the API server says now, at any later moment; members take any time for anything. Between
two ticks the control plane does what it has to do, or else that is the fault `slow`.

The plumbing of controllers is told here in a few lines each, as `leeward.controllers` has it; what they decide is
asked of the real functions.
"""

from collections.abc import Iterator, Mapping

from leeward.core.failover.health import Sight
from leeward.sim.small.decisions import Decisions, Rules
from leeward.sim.small.model import (
    GRACE_TICKS,
    BindingState,
    ClusterState,
    Copy,
    Move,
    Plan,
    Problem,
    State,
    Step,
    TaintMark,
    WorkObject,
    with_binding,
    with_cluster,
    with_copy,
    with_work,
)
from leeward.sim.small.worlds import NAMES, SmallWorld

MAINTENANCE = TaintMark("maintenance", "NoExecute")


class Moves:
    def __init__(self, world: SmallWorld, rules: Rules) -> None:
        self.world = world
        self._decisions = Decisions(world, rules)

    def all(self, state: State) -> Iterator[Move]:
        """Every move; what a person or the world does to heal comes after what happens by itself, faults come last."""
        busy = False
        for move in self._control(state):
            busy = True
            yield move
        yield from self._members(state)
        yield from self._time(state, busy)
        yield from self.healing(state)
        yield from self._faults(state)

    def by_itself(self, state: State) -> Move | None:
        """The next move when nobody interferes; None when all is at rest."""
        for moves in (self._control(state), self._members(state), self._time(state, busy=False)):
            move = next(moves, None)
            if move is not None:
                return move
        return None

    def healing(self, state: State) -> Iterator[Move]:
        """Clusters come back, and are no longer to be empty."""
        for index, cluster in enumerate(state.clusters):
            if cluster.sight != "healthy":
                yield Move(Step("return", (index,)), self._seen(state, index, "healthy"))
            if MAINTENANCE in cluster.object.taints:
                taints = tuple(t for t in cluster.object.taints if t != MAINTENANCE)
                yield Move(Step("untaint", (index,)), _with_taints(state, index, taints))

    def _control(self, state: State) -> Iterator[Move]:
        fleet = state.fleet
        braked = self._decisions.braked(state.brake, fleet)
        for index, cluster in enumerate(state.clusters):
            probed = self._decisions.probe(cluster)
            if probed != cluster:
                yield Move(Step("probe", (index,)), _probed(state, index, probed))
            tainted = self._decisions.taint(cluster.object, braked)
            if tainted != cluster.object:
                yield Move(Step("tainting", (index,)), with_cluster(state, index, cluster._replace(object=tainted)))
        brake = self._decisions.brake(state.brake, fleet)
        if brake != state.brake:
            yield Move(Step("brake", (int(brake.engaged),)), state._replace(brake=brake))
        for index, binding in enumerate(state.bindings):
            if not binding.deleted:
                placing = self._decisions.place(index, binding.plan, binding.works, fleet, braked)
                if placing.plan != binding.plan:
                    after = with_binding(state, index, binding._replace(plan=placing.plan))
                    yield Move(Step("decide", (index,)), after, problems=placing.problems)
            rendered = self._render(index, binding)
            if rendered != binding:
                yield Move(Step("render", (index,)), with_binding(state, index, rendered))

    def _render(self, index: int, binding: BindingState, unwritten: int | None = None) -> BindingState:
        """The binding controller: Works as the plan needs them, but for the one that cannot be written."""
        plan = binding.plan
        needed: dict[int, int] = {} if binding.deleted else self._decisions.needed(index, plan)
        purging = any(t.mode == "Directly" and binding.works[t.cluster] is not None for t in plan.tasks)
        for cluster, work in enumerate(binding.works):
            ordered = _ordered(work, needed.get(cluster), purging)
            if cluster != unwritten and ordered != work:
                binding = with_work(binding, cluster, ordered)
                copy = binding.copies[cluster]
                if copy is not None:
                    is_outdated = copy.outdated or (work is not None and work.outdated)
                    binding = with_copy(binding, cluster, copy._replace(current=False, outdated=is_outdated))
        if binding.deleted or plan.rendered or not _renders(binding, needed):
            return binding
        return binding._replace(plan=plan._replace(rendered=True))

    def _members(self, state: State) -> Iterator[Move]:
        for index, binding in enumerate(state.bindings):
            for number, cluster in enumerate(state.clusters):
                for verb, after, problems in _member(binding, number, cluster):
                    yield Move(Step(verb, (index, number)), with_binding(state, index, after), problems=problems)

    def _time(self, state: State, busy: bool) -> Iterator[Move]:
        if busy and "slow" not in self.world.faults:
            return
        after = _older(state)
        if after != state:
            problems = () if busy else tuple(self._sleepers(state, after))
            yield Move(Step("slow" if busy else "time"), after, busy, problems)

    def _sleepers(self, before: State, after: State) -> Iterator[Problem]:
        """Decisions that time has changed, without that the scheduler had set itself an alarm."""
        fleet, later = before.fleet, after.fleet
        braked = self._decisions.braked(before.brake, fleet)
        for index, (old, new) in enumerate(zip(before.bindings, after.bindings, strict=True)):
            if old.deleted or self._decisions.place(index, old.plan, old.works, fleet, braked).wakes:
                continue
            if self._decisions.place(index, new.plan, new.works, later, braked).plan != new.plan:
                yield Problem("L2", f"a decision about app{index + 1} is due, and nothing wakes the scheduler")

    def _faults(self, state: State) -> Iterator[Move]:
        for verb, subject, after in self._disturbances(state):
            if verb in self.world.faults:
                yield Move(Step(verb, subject), after, is_fault=True)

    def _disturbances(self, state: State) -> Iterator[tuple[str, tuple[int, ...], State]]:
        for index, cluster in enumerate(state.clusters):
            if cluster.sight == "healthy":
                yield "cut", (index,), self._seen(state, index, "unreachable")
                yield "refuse", (index,), self._seen(state, index, "refused")
            taints = cluster.object.taints
            if MAINTENANCE not in taints:
                yield "taint", (index,), _with_taints(state, index, (*taints, MAINTENANCE))
        for index, binding in enumerate(state.bindings):
            for verb, subject, after in self._troubles(index, binding):
                yield verb, (index, *subject), with_binding(state, index, after)

    def _troubles(self, index: int, binding: BindingState) -> Iterator[tuple[str, tuple[int, ...], BindingState]]:
        """The faults of one binding."""
        for cluster, copy in enumerate(binding.copies):
            if copy is not None and copy.ready:
                yield "fail", (cluster,), with_copy(binding, cluster, copy._replace(ready=0))
        if binding.deleted:
            return
        workload, plan = self.world.workloads[index], binding.plan
        replicas = workload.scaled if plan.replicas == workload.replicas else workload.replicas
        is_met = sum(plan.assigned.values()) == replicas if workload.is_divided else False
        scaled = plan._replace(replicas=replicas, rendered=False, asked=not is_met)
        yield "scale", (replicas,), binding._replace(plan=scaled)
        if any(work is not None and not work.outdated for work in binding.works):
            yield "update", (), _outdated(binding)
        yield "delete", (), binding._replace(plan=Plan(plan.replicas), deleted=True)
        rendered = self._render(index, binding)
        for cluster, (old, new) in enumerate(zip(binding.works, rendered.works, strict=True)):
            if old != new:
                yield "unwritten", (cluster,), self._render(index, binding, unwritten=cluster)

    def _seen(self, state: State, index: int, sight: Sight) -> State:
        """A cluster turns another face to us; the next probe sees it."""
        cluster = self._decisions.probe(state.clusters[index]._replace(sight=sight))
        return _probed(state, index, cluster)


def _renders(binding: BindingState, needed: Mapping[int, int]) -> bool:
    """Whether all Works were brought up to date; one that is being deleted is made anew later."""
    works = ((binding.works[cluster], replicas) for cluster, replicas in needed.items())
    return all(w is not None and (w.deleting or (w.replicas == n and not w.outdated)) for w, n in works)


def _outdated(binding: BindingState) -> BindingState:
    """The binding of a template that was changed."""
    works = tuple(work and work._replace(outdated=True) for work in binding.works)
    return binding._replace(plan=binding.plan._replace(rendered=False), works=works)


def _ordered(work: WorkObject | None, replicas: int | None, purging: bool) -> WorkObject | None:
    """A Work as it is to be. While a copy is purged Directly none is made, and none grows (Holds: S7)."""
    if work is None:
        return None if replicas is None or purging else WorkObject(replicas)
    if work.deleting or (work.replicas == replicas and not work.outdated):
        return work
    if replicas is None:
        return work._replace(deleting=True, applied=False, reflected=False)
    if purging and replicas > work.replicas:
        return work
    return work._replace(replicas=replicas, outdated=False, applied=False, reflected=False)


def _probed(state: State, index: int, cluster: ClusterState) -> State:
    """A Cluster that becomes Ready, or no longer is, makes all earlier reports from there worthless."""
    turned = cluster.object.ready != state.clusters[index].object.ready
    state = with_cluster(state, index, cluster)
    if not turned:
        return state
    for number, binding in enumerate(state.bindings):
        work = binding.works[index]
        if work is not None and work.since_ready:
            state = with_binding(state, number, with_work(binding, index, work._replace(since_ready=False)))
    return state


def _member(
    binding: BindingState, index: int, cluster: ClusterState
) -> Iterator[tuple[str, BindingState, tuple[Problem, ...]]]:
    """What can happen to one copy: the member gets what its Work says, Pods become ready, and that is reported."""
    work, copy = binding.works[index], binding.copies[index]
    if copy is not None and copy.ready < copy.replicas:
        yield "ready", with_copy(binding, index, copy._replace(ready=copy.replicas)), ()
    if work is None or cluster.sight != "healthy":
        return
    is_due = work.deleting or not work.applied or copy is None or not copy.current
    if cluster.object.ready and is_due:
        yield "remove" if work.deleting else "apply", _applied(binding, index, work), _check_purge(binding, index, work)
    if copy is not None and not work.deleting:
        reported = work._replace(
            reflected=copy.current,
            ready=copy.ready,
            healthy=copy.ready == copy.replicas,
            since_ready=cluster.object.ready,
        )
        if reported != work:
            yield "report", with_work(binding, index, reported), ()


def _applied(binding: BindingState, index: int, work: WorkObject) -> BindingState:
    copy = binding.copies[index]
    if work.deleting:
        return with_copy(with_work(binding, index, None), index, None)
    ready = 0 if copy is None or copy.outdated else min(copy.ready, work.replicas)
    return with_copy(with_work(binding, index, work._replace(applied=True)), index, Copy(work.replicas, ready))


def _check_purge(binding: BindingState, index: int, work: WorkObject) -> tuple[Problem, ...]:
    """S7: with `Directly` nothing grows before the old copy is gone."""
    copy = binding.copies[index]
    grows = not work.deleting and work.replicas > (0 if copy is None else copy.replicas)
    purged = [task.cluster for task in binding.plan.tasks if task.mode == "Directly" and task.cluster != index]
    old = [cluster for cluster in purged if binding.copies[cluster] is not None]
    if grows and old:
        return (Problem("S7", f"a copy grows in {NAMES[index]} while the one in {NAMES[old[0]]} is still there"),)
    return ()


def _with_taints(state: State, index: int, taints: tuple[TaintMark, ...]) -> State:
    cluster = state.clusters[index]
    return with_cluster(state, index, cluster._replace(object=cluster.object._replace(taints=taints)))


def _older(state: State) -> State:
    """All ages a tick more, where they are still asked for."""
    clusters = tuple(map(_older_cluster, state.clusters))
    bindings = tuple(
        b._replace(plan=b.plan._replace(tasks=tuple(t._replace(age=min(GRACE_TICKS, t.age + 1)) for t in b.plan.tasks)))
        if b.plan.tasks
        else b
        for b in state.bindings
    )
    brake = state.brake if state.brake.calm_age is None else state.brake._replace(calm_age=1)
    return State(clusters, bindings, brake)


def _older_cluster(cluster: ClusterState) -> ClusterState:
    seen = cluster.object
    taints = tuple(t._replace(age=1) if t.effect == "NoExecute" and t != MAINTENANCE else t for t in seen.taints)
    outage_age = None if seen.outage_age is None else 1
    return cluster._replace(probed_age=1, object=seen._replace(taints=taints, outage_age=outage_age))
