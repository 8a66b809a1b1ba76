"""Rare situations: a campaign that never reached them has tested less than it says."""

from collections import Counter

from leeward.sim.histories.model import Step
from leeward.sim.histories.truth import Change, Truth


class RareSituations:
    """Counts what is reached, by name."""

    def __init__(self, reached: Counter[str], truth: Truth) -> None:
        self._reached = reached
        self._truth = truth

    def told(self, mishap: str) -> None:
        self._reached[f"weather: {mishap}"] += 1

    def step(self, step: Step) -> None:
        self._reached[f"step: {type(step).__name__}"] += 1

    def heal(self) -> None:
        self._reached["healed"] += 1

    def look(self, change: Change) -> None:
        """Derives situations from a write."""
