"""Moves that can happen next in a small world. Each move is one step of one controller, one member, or one fault.

A controller acts on what the API server says now, at any later moment; members take any time for anything. Between
two ticks the control plane does what it has to do, or else that is the fault `slow`.

The plumbing of controllers is told here in a few lines each, as `leeward.controllers` has it; what they decide is
asked of the real functions.
"""

from collections.abc import Iterator

from leeward.core.cluster_health.ready_condition import Sight
from simulator.small.ageing import aged
from simulator.small.decisions import Decisions, Placing, Rules
from simulator.small.members import copy_moves
from simulator.small.model import (
    MAINTENANCE,
    BindingState,
    ClusterState,
    Move,
    Plan,
    Problem,
    State,
    Step,
    TaintMark,
    with_binding,
    with_cluster,
    with_copy,
    with_work,
)
from simulator.small.works import ordered_work, renders, superseded, with_new_template
from simulator.small.worlds import SmallWorld


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

    def held(self, state: State, index: int) -> str:
        """Reason for which an eviction of the binding is held, as its condition says when the scheduler has looked at
        it."""
        placing = self._placings(state)[index]
        return "" if placing is None else placing.held

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
        for index, (binding, placing) in enumerate(zip(state.bindings, self._placings(state), strict=True)):
            if placing is not None and placing.plan != binding.plan:
                after = with_binding(state, index, binding._replace(plan=placing.plan))
                yield Move(Step("decide", (index,)), after, problems=placing.problems)
            rendered = self._render(index, binding)
            if rendered != binding:
                yield Move(Step("render", (index,)), with_binding(state, index, rendered))

    def _placings(self, state: State) -> list[Placing | None]:
        """Results that the scheduler would write into each binding now; None for what is deleted."""
        fleet, room = state.fleet, self._room(state)
        braked = self._decisions.braked(state.brake, fleet)
        return [
            None if binding.deleted else self._decisions.place(index, binding.plan, binding.works, fleet, braked, room)
            for index, binding in enumerate(state.bindings)
        ]

    def _room(self, state: State) -> tuple[int, ...]:
        """Room that every cluster has left; what is known of that is never old."""
        most = self.world.capacity
        if most is None:
            return ()
        copies = zip(*(binding.copies for binding in state.bindings), strict=True)
        return tuple(max(0, most - sum(copy.replicas for copy in there if copy is not None)) for there in copies)

    def _render(self, index: int, binding: BindingState, unwritten: int | None = None) -> BindingState:
        """The binding controller: Works as the plan needs them, but for the one that cannot be written."""
        plan = binding.plan
        needed: dict[int, int] = {} if binding.deleted else self._decisions.needed(index, plan)
        purging = any(t.mode == "Directly" and binding.works[t.cluster] is not None for t in plan.tasks)
        for cluster, work in enumerate(binding.works):
            ordered = ordered_work(work, needed.get(cluster), purging)
            if cluster != unwritten and ordered != work:
                binding = with_work(binding, cluster, ordered)
                copy = binding.copies[cluster]
                if copy is not None:
                    binding = with_copy(binding, cluster, superseded(copy, work, ordered))
        if binding.deleted or plan.rendered or not renders(binding, needed):
            return binding
        return binding._replace(plan=plan._replace(rendered=True))

    def _members(self, state: State) -> Iterator[Move]:
        for index, binding in enumerate(state.bindings):
            for number, cluster in enumerate(state.clusters):
                for verb, after, problems in copy_moves(binding, number, cluster):
                    yield Move(Step(verb, (index, number)), with_binding(state, index, after), problems=problems)

    def _time(self, state: State, busy: bool) -> Iterator[Move]:
        if busy and "slow" not in self.world.faults:
            return
        after = aged(state)
        if after != state:
            problems = () if busy else tuple(self._sleepers(state, after))
            yield Move(Step("slow" if busy else "time"), after, busy, problems)

    def _sleepers(self, before: State, after: State) -> Iterator[Problem]:
        """Decisions that time has changed, without that the scheduler had set itself an alarm."""
        placings = zip(self._placings(before), self._placings(after), after.bindings, strict=True)
        for index, (old, new, binding) in enumerate(placings):
            if old is not None and new is not None and not old.wakes and new.plan != binding.plan:
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
            yield "update", (), with_new_template(binding)
        yield "delete", (), binding._replace(plan=Plan(plan.replicas), deleted=True)
        rendered = self._render(index, binding)
        for cluster, (old, new) in enumerate(zip(binding.works, rendered.works, strict=True)):
            if old != new:
                yield "unwritten", (cluster,), self._render(index, binding, unwritten=cluster)

    def _seen(self, state: State, index: int, sight: Sight) -> State:
        """A cluster turns another face to us; the next probe sees it."""
        cluster = self._decisions.probe(state.clusters[index]._replace(sight=sight))
        return _probed(state, index, cluster)


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


def _with_taints(state: State, index: int, taints: tuple[TaintMark, ...]) -> State:
    cluster = state.clusters[index]
    return with_cluster(state, index, cluster._replace(object=cluster.object._replace(taints=taints)))
