"""Breadth first over everything that can happen: with no fault, then with one, and so on.

All interleavings with fewer faults come first, so that a bounded search has seen all of them, and a story that is
found needs no more faults than it must. A state that was reached with fewer faults stands for itself reached with more.
"""

from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from simulator.small.decisions import Rules
from simulator.small.model import BindingState, ClusterState, Plan, Problem, State, Step
from simulator.small.moves import Moves
from simulator.small.rest import MOST_STEPS, Ending
from simulator.small.symmetry import Symmetry
from simulator.small.worlds import SmallWorld


class Finding(NamedTuple):
    """The states and steps that lead to a broken invariant, and what is broken then."""

    start: State
    steps: tuple[tuple[Step, State], ...]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Search:
    """Result of a search. `faults` is with how many faults all interleavings were seen, None when not even without one.

    `is_whole`: there is nothing more to see, with as many faults as the world may have.
    """

    world: SmallWorld
    states: int
    transitions: int
    depth: int
    faults: int | None
    is_whole: bool
    finding: Finding | None = None


class _Arrival(NamedTuple):
    """Way in which a state was reached first."""

    before: State | None
    step: Step
    depth: int


def search(world: SmallWorld, most_states: int, rules: Rules | None = None) -> Search:
    """Looks at up to `most_states` states of `world`, and stops at the first that breaks an invariant."""
    return _Explorer(world, rules or Rules(), most_states).run()


def calm_state(world: SmallWorld, moves: Moves) -> State:
    """State in which every story begins: all is placed and healthy."""
    nowhere = (None,) * world.clusters
    bindings = tuple(BindingState(Plan(workload.replicas), nowhere, nowhere) for workload in world.workloads)
    state = State((ClusterState(),) * world.clusters, bindings)
    for _ in range(MOST_STEPS):
        move = moves.by_itself(state)
        if move is None:
            return state
        state = move.after
    raise AssertionError(f"the world {world.name!r} has no calm state")


class _Explorer:
    def __init__(self, world: SmallWorld, rules: Rules, most_states: int) -> None:
        self._world = world
        self._most_states = most_states
        self._moves = Moves(world, rules)
        self._symmetry = Symmetry(world)
        self._ending = Ending(world, self._moves, self._symmetry)
        self._arrivals: dict[State, _Arrival] = {}
        self._transitions = 0
        self._depth = 0
        self._finding: Finding | None = None

    def run(self) -> Search:
        start = self._symmetry.canonical(calm_state(self._world, self._moves))
        reached = {start: _Arrival(None, Step("start"), 0)}
        faults: int | None = None
        for number in range(self._world.most_faults + 1):
            reached = self._explore(reached)
            if self._is_over:
                break
            faults = number
            if not reached:
                break
        return Search(
            self._world, len(self._arrivals), self._transitions, self._depth, faults, not self._is_over, self._finding
        )

    @property
    def _is_over(self) -> bool:
        return self._finding is not None or len(self._arrivals) >= self._most_states

    def _explore(self, reached: dict[State, _Arrival]) -> dict[State, _Arrival]:
        """Sees all that follows from `reached` without a fault; returns what is reached with one more."""
        frontier: deque[State] = deque()
        disturbed: dict[State, _Arrival] = {}
        for state, arrival in reached.items():
            self._arrive(state, arrival, frontier)
        while frontier and not self._is_over:
            state = frontier.popleft()
            depth = self._arrivals[state].depth + 1
            for move in self._moves.all(state):
                self._transitions += 1
                after = self._symmetry.canonical(move.after)
                if move.problems:
                    self._tell(state, ((move.step, after),), move.problems)
                    return {}
                if not move.is_fault:
                    self._arrive(after, _Arrival(state, move.step, depth), frontier)
                elif after not in self._arrivals:
                    disturbed.setdefault(after, _Arrival(state, move.step, depth))
        return disturbed

    def _arrive(self, state: State, arrival: _Arrival, frontier: deque[State]) -> None:
        if state in self._arrivals or self._is_over:
            return
        self._arrivals[state] = arrival
        self._depth = max(self._depth, arrival.depth)
        frontier.append(state)
        path, problems = self._ending.follow(state)
        if problems:
            self._tell(state, path, problems)

    def _tell(self, state: State, more: tuple[tuple[Step, State], ...], problems: tuple[Problem, ...]) -> None:
        states = [after for _, after in reversed(more)]
        before: State | None = state
        while before is not None:
            states.append(before)
            before = self._arrivals[before].before
        start, *rest = reversed(states)
        self._finding = Finding(calm_state(self._world, self._moves), self._replayed(start, rest), problems)

    def _replayed(self, start: State, states: list[State]) -> tuple[tuple[Step, State], ...]:
        """Way to the same state on which no binding and no cluster changes its name."""
        raw = calm_state(self._world, self._moves)
        assert self._symmetry.canonical(raw) == start, "every way begins where all is calm"
        path: list[tuple[Step, State]] = []
        for state in states:
            move = next(m for m in self._moves.all(raw) if self._symmetry.canonical(m.after) == state)
            raw = move.after
            path.append((move.step, raw))
        return tuple(path)
