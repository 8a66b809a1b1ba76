"""States that differ in the names of equal bindings are one, and nothing is lost by that."""

from dataclasses import replace

from simulator.small import Rules, SmallWorld, Workload, search
from simulator.small.model import State
from simulator.small.moves import Moves
from simulator.small.search import calm_state
from simulator.small.symmetry import Symmetry
from simulator.small.worlds import duplicated

PAIR = SmallWorld("pair", 2, (Workload(duplicated(1), 1),) * 2, ("cut",))
UNEQUAL = replace(PAIR, workloads=(Workload(duplicated(1), 1), Workload(duplicated(1), 2)))


def swapped(state: State) -> State:
    return state._replace(bindings=state.bindings[::-1])


def reached(world: SmallWorld, steps: int) -> set[State]:
    """All states at most so many moves from where all is calm, by every name."""
    moves = Moves(world, Rules())
    seen = frontier = {calm_state(world, moves)}
    for _ in range(steps):
        frontier = {move.after for state in frontier for move in moves.all(state)} - seen
        seen = seen | frontier
    return seen


def test_what_can_happen_to_equal_bindings_that_change_places_is_the_same() -> None:
    moves = Moves(PAIR, Rules())
    for state in reached(PAIR, 7):
        assert {swapped(m.after) for m in moves.all(state)} == {m.after for m in moves.all(swapped(state))}


def test_one_state_stands_for_both_orders() -> None:
    symmetry = Symmetry(PAIR)
    for state in reached(PAIR, 7):
        assert symmetry.canonical(state) == symmetry.canonical(swapped(state))


def test_bindings_that_ask_for_different_things_keep_their_places() -> None:
    symmetry = Symmetry(UNEQUAL)
    assert all(symmetry.canonical(state) == state for state in reached(UNEQUAL, 7))


def test_equal_bindings_make_a_smaller_world() -> None:
    few = replace(PAIR, most_faults=1)
    assert search(few, 20_000).states < search(replace(UNEQUAL, most_faults=1), 20_000).states
