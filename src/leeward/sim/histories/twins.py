"""The twin of a history: the same users want the same, and nothing fails. What they end up with must be the same.

Templates, policies and how many replicas each binding has in all must agree. Where they run may differ: what was
evicted does not move back.
"""

from collections.abc import Iterator

import msgspec

from leeward.sim.histories.model import Fault, History, Meddle, Rejoin
from leeward.sim.histories.playing import Run, play


def twin_of(history: History) -> History:
    """Without what fails, at the same times."""
    steps = tuple(step for step in history.steps if not isinstance(step, Fault))
    return msgspec.structs.replace(history, steps=steps)


def disagreements(run: Run) -> Iterator[str]:
    """What differs from the twin. Where clusters leave or members are meddled with, chance decides what is reached."""
    if any(isinstance(step, Meddle | Rejoin) for step in run.history.steps):
        return
    twin = play(twin_of(run.history))
    yield from (f"the twin, without faults: {violation}" for violation in twin.violations)
    for what in sorted({*run.outcome, *twin.outcome}):
        here, there = run.outcome.get(what), twin.outcome.get(what)
        if here != there and not twin.violations:
            yield f"{what} is {here}; without faults it is {there}"
