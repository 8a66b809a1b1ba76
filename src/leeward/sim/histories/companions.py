"""Companions of applications: override policies, drawn into a history by themselves.

What is drawn here is no part of the other draws, so that the rest of a history stays as it is.
"""

import random
from collections.abc import Sequence

import msgspec

from leeward.sim.histories.model import (
    AnyStep,
    AnyUserStep,
    BreakOverride,
    Deploy,
    Fault,
    History,
    Override,
    Unoverride,
)

OVERRIDES_SHARE = 0.2
BEHIND = (-5.0, 90.0)
"""Around a fault, in seconds: until what it has moved has come to rest."""


def with_companions(history: History) -> History:
    """Some histories with them."""
    draw = random.Random(f"companions {history.seed}")
    apps = [step for step in history.steps if isinstance(step, Deploy)]
    moments = [step.at for step in history.steps if isinstance(step, Fault)]
    if not apps or not moments:
        return history
    more = _overrides(draw, history, apps, moments) if draw.random() < OVERRIDES_SHARE else []
    steps: list[AnyStep] = sorted((*history.steps, *more), key=lambda step: step.at)
    return msgspec.structs.replace(history, steps=tuple(steps))


def _overrides(
    draw: random.Random, history: History, apps: Sequence[Deploy], moments: Sequence[float]
) -> list[AnyUserStep]:
    """One or two policies for one application, of one name in one history of three; changed, broken, and deleted."""
    app, by_chance = draw.choice(apps), draw.random() < 0.5
    policies = draw.choice(
        ((("one", by_chance),), (("one", by_chance), ("two", True)), (("one", True), ("one", False)))
    )
    fleet = [name for name, _ in history.members]
    steps: list[AnyUserStep] = []
    for name, wide in policies:
        first = _override(draw, app.app, name, fleet, round(app.at + draw.uniform(-5, 5), 3), wide)
        at = round(max(first.at + 1, draw.choice(moments) + draw.uniform(*BEHIND)), 3)
        later: Sequence[AnyUserStep] = (
            _override(draw, app.app, name, fleet, at, wide),
            BreakOverride(at=at, name=name, lasts=round(draw.uniform(2, 40), 3), wide=wide),
            Unoverride(at=at, name=name, wide=wide),
        )
        steps += [first, *draw.sample(later, draw.choice((0, 1, 1)))]
    return steps


def _override(draw: random.Random, app: str, name: str, fleet: Sequence[str], at: float, wide: bool) -> Override:
    clusters = tuple(sorted(draw.sample(fleet, draw.randint(1, len(fleet)))))
    return Override(at=at, app=app, name=name, version=draw.randrange(1, 9), clusters=clusters, wide=wide)
