"""Systematic modes: one scenario, with one more fault at each place where it can be.

`killed_everywhere` has the controllers die at every await of a stretch; `broken_everywhere` breaks the controllers'
watches of the control plane once, before each line of a stretch. Every history of a mode has to hold all invariants.
"""

from collections.abc import Iterator, Sequence

import msgspec

from leeward.sim.histories.model import AnyFault, ControllersAreKilled, History, Storm

DOWN_SECONDS = 5.0


def killed_everywhere(history: History, at: float, awaits: Sequence[int]) -> Iterator[History]:
    """The controllers die that many awaits after `at`, and are started again."""
    for steps in awaits:
        yield _with(history, ControllersAreKilled(at=at, lasts=DOWN_SECONDS, steps=steps))


def broken_everywhere(history: History, at: float, lasts: float, lines: Sequence[int]) -> Iterator[History]:
    """From `at` on, the stream that brings the line of that number breaks before it."""
    for line in lines:
        yield _with(history, Storm(at=at, lasts=lasts, who="controllers", whom="control-plane", break_at=line))


def _with(history: History, fault: AnyFault) -> History:
    steps = tuple(sorted((*history.steps, fault), key=lambda step: step.at))
    return msgspec.structs.replace(history, steps=steps)
