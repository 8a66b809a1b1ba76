"""L1, from every state: left to itself it comes to rest, and healed it comes to rest as it should be.

Runs meet soon: what has been found to end well once is not followed again.
"""

from collections.abc import Iterator

from simulator.small.model import MAINTENANCE, BindingState, Plan, Problem, State, Step
from simulator.small.moves import Moves
from simulator.small.symmetry import Symmetry
from simulator.small.worlds import NAMES, SmallWorld, Workload

MOST_STEPS = 500
"""A run that is longer never comes to rest."""


class Ending:
    def __init__(self, world: SmallWorld, moves: Moves, symmetry: Symmetry) -> None:
        self._world = world
        self._moves = moves
        self._symmetry = symmetry
        self._good: set[State] = set()

    def follow(self, state: State) -> tuple[tuple[tuple[Step, State], ...], tuple[Problem, ...]]:
        """The way from `state` to a bad end, left to itself or healed, and what is bad there; else nothing."""
        for start in ([], self._healed(state)):
            path, problems = self._run(start[-1][1] if start else state)
            if problems:
                return (*start, *path), problems
        return (), ()

    def _healed(self, state: State) -> list[tuple[Step, State]]:
        """The way on which all that is broken is mended, at once."""
        path: list[tuple[Step, State]] = []
        while (move := next(self._moves.healing(state), None)) is not None:
            state = self._symmetry.canonical(move.after)
            path.append((move.step, state))
        return path

    def _run(self, state: State) -> tuple[list[tuple[Step, State]], tuple[Problem, ...]]:
        path: list[tuple[Step, State]] = []
        way: list[State] = []
        while state not in self._good:
            way.append(state)
            move = self._moves.by_itself(state)
            problems = move.problems if move else problems_at_rest(self._world, self._moves, state)
            if move is not None:
                state = self._symmetry.canonical(move.after)
                path.append((move.step, state))
            if problems:
                return path, problems
            if move is None:
                break
            if len(path) > MOST_STEPS:
                return path, (Problem("L1", f"after {MOST_STEPS} steps it has not come to rest"),)
        self._good.update(way)
        return [], ()


def problems_at_rest(world: SmallWorld, moves: Moves, state: State) -> tuple[Problem, ...]:
    """Problems of a state in which nothing happens any more."""
    problems: list[Problem] = []
    for index, (workload, binding) in enumerate(zip(world.workloads, state.bindings, strict=True)):
        held = moves.held(state, index)
        if binding.plan.tasks and not held:
            names = ", ".join(NAMES[task.cluster] for task in binding.plan.tasks)
            text = f"the eviction of app{index + 1} from {names} never ends, and nothing says why"
            problems.append(Problem("L3", text))
        if is_whole(state):
            problems += [Problem("L1", f"app{index + 1} {text}") for text in _unfinished(workload, binding, held)]
    return (*problems, *(_left_behind(state) if is_whole(state) else ()))


def _left_behind(state: State) -> Iterator[Problem]:
    """L3, of clusters that are all well."""
    if state.brake.engaged:
        yield Problem("L3", "the brake is never released")
    for index, cluster in enumerate(state.clusters):
        if cluster.object.taints:
            yield Problem("L3", f"{NAMES[index]} is well and keeps its taints")


def is_whole(state: State) -> bool:
    """Tells whether nothing is left that only a person or the world could heal."""
    return all(cluster.sight == "healthy" and MAINTENANCE not in cluster.object.taints for cluster in state.clusters)


def _unfinished(workload: Workload, binding: BindingState, held: str) -> list[str]:
    """Reasons for which a binding is not as it should be in a world that is whole."""
    if binding.deleted:
        left = [NAMES[i] for i, work in enumerate(binding.works) if work or binding.copies[i]]
        return [f"is deleted, and remains in {', '.join(left)}"] if left else []
    return [*_misplaced(workload, binding.plan, held), *_miscarried(binding)]


def _misplaced(workload: Workload, plan: Plan, held: str) -> list[str]:
    found: list[str] = []
    if workload.is_divided and sum(plan.assigned.values()) != plan.replicas:
        found.append(f"has places for {sum(plan.assigned.values())} of {plan.replicas} replicas")
    if workload.groups and not workload.groups[0] <= len(plan.targets) <= workload.groups[1]:
        found.append(f"is placed in {len(plan.targets)} clusters")
    if not workload.is_divided and any(replicas != plan.replicas for _, replicas in plan.targets):
        found.append("is not placed with all its replicas")
    if plan.tasks or held:
        found.append(f"keeps an eviction ({held or 'open'})")
    return found


def _miscarried(binding: BindingState) -> list[str]:
    """Members that do not run what is assigned to them."""
    assigned = binding.plan.assigned
    found: list[str] = []
    for index, copy in enumerate(binding.copies):
        runs = 0 if copy is None else copy.ready
        if runs != assigned.get(index, 0) or (copy is not None and index not in assigned):
            found.append(f"runs {runs} replicas in {NAMES[index]}, and is to run {assigned.get(index, 0)}")
        if copy is not None and copy.outdated:
            found.append(f"runs an old template in {NAMES[index]}")
    return found
