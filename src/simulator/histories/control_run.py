"""Control run of a history: the same users want the same, and nothing fails. What they end up with must be the same.

Templates, policies and how many replicas each binding has in all must agree. Where they run may differ, since what was
evicted does not move back; so both have everything rebalanced in the end, and then it must agree, too: twice, since the
first application finds what the others have left where chance has put them. On a tie the template's uid decides, which
the two runs do not share: a replica, or a cluster as good as another, is no disagreement.
"""

from collections.abc import Iterator

import msgspec

from simulator.histories.model import (
    Deploy,
    Fault,
    History,
    HubIsRestored,
    Meddle,
    Rebalance,
    Rejoin,
    Relabel,
    Replan,
)
from simulator.histories.places import Place
from simulator.histories.playing import Run, play
from simulator.histories.timings import TIMINGS, bound_seconds

ROUNDS = 2
TOUCHED = 99
"""A label that no template has before."""
APART_SECONDS = 30.0
"""Seconds between the rebalancing of one application and the next, which finds the room that the first has left."""


def control_of(history: History) -> History:
    """History without what fails, at the same times."""
    steps = tuple(step for step in history.steps if not isinstance(step, Fault))
    return msgspec.structs.replace(history, steps=steps)


def rebalanced(history: History) -> History:
    """Everything is placed afresh when all is over and settled, and once more when the others have been. What lazy
    policies wait for happens before."""
    at = history.ends_at + bound_seconds(TIMINGS[history.pace])
    lazy = dict.fromkeys(step.app for step in history.steps if isinstance(step, Deploy | Replan) and step.plan.lazy)
    touched = (Relabel(at=round(at - APART_SECONDS, 3), app=app, value=TOUCHED) for app in lazy)
    apps = dict.fromkeys(step.app for step in history.steps if isinstance(step, Deploy))
    turns = enumerate([*apps] * ROUNDS)
    afresh = (Rebalance(at=round(at + number * APART_SECONDS, 3), app=app) for number, app in turns)
    return msgspec.structs.replace(history, steps=(*history.steps, *touched, *afresh))


def disagreements(run: Run) -> Iterator[str]:
    """Differences from the control run. Where clusters leave or members are meddled with, chance decides what is
    reached; a control plane that is restored has lost wishes of its users, as it must."""
    if any(isinstance(step, Meddle | Rejoin | HubIsRestored) for step in run.history.steps):
        return
    history = rebalanced(run.history)
    one, control = play(history), play(control_of(history))
    yield from (f"rebalanced in the end: {violation}" for violation in one.violations)
    yield from (f"the control run, without faults: {violation}" for violation in control.violations)
    if not one.violations and not control.violations:
        yield from differences(one, control)


def differences(run: Run, control: Run) -> Iterator[str]:
    """Places are compared where both runs tell of theirs."""
    for what in sorted({*run.outcome, *control.outcome}):
        here, there = run.outcome.get(what), control.outcome.get(what)
        if here != there:
            yield f"{what} is {here}; without faults it is {there}"
    if not run.places or not control.places:
        return
    for key in sorted({*run.places, *control.places}):
        here, there = run.places.get(key), control.places.get(key)
        if here is None or there is None or not here.agrees(there):
            yield f"{key} is rebalanced to {_told(here)}; without faults to {_told(there)}"


def _told(place: Place | None) -> str:
    return "nothing" if place is None else str(dict(place.replicas))
