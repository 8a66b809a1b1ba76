"""Symmetry of states, of which some are one: bindings that ask for the same may change places, because a binding's name
decides nothing.

A cluster's name does: it breaks ties wherever replicas are divided or clusters are chosen, and even where every cluster
gets a copy it orders the eviction tasks that are opened together, of which the first is withdrawn first. So worlds
that differ in the names of their clusters are not the same.
"""

from simulator.small.model import BindingState, State
from simulator.small.worlds import SmallWorld


class Symmetry:
    def __init__(self, world: SmallWorld) -> None:
        alike: dict[int, list[int]] = {}
        for index, workload in enumerate(world.workloads):
            alike.setdefault(world.workloads.index(workload), []).append(index)
        self._alike = [indices for indices in alike.values() if len(indices) > 1]
        self._ranks: dict[BindingState, int] = {}

    def canonical(self, state: State) -> State:
        """State that stands for all that are the same as `state` but for names."""
        for alike in self._alike:
            state = self._with_sorted_bindings(state, alike)
        return state

    def _with_sorted_bindings(self, state: State, alike: list[int]) -> State:
        bindings = list(state.bindings)
        ordered = sorted((bindings[index] for index in alike), key=self._rank)
        for index, binding in zip(alike, ordered, strict=True):
            bindings[index] = binding
        return state._replace(bindings=tuple(bindings))

    def _rank(self, binding: BindingState) -> int:
        """Rank of bindings in the order in which they were met first, which is the same in every run."""
        return self._ranks.setdefault(binding, len(self._ranks))
