"""Companions of applications: override policies, scripts, and what templates name, drawn into a history by themselves.

What is drawn here is no part of the other draws, so that the rest of a history stays as it is.
"""

import random
from collections.abc import Callable, Sequence
from typing import get_args

import msgspec

from simulator.histories.model import (
    AnyStep,
    AnyUserStep,
    BreakOverride,
    BreakScript,
    Deploy,
    Explain,
    Fault,
    History,
    Override,
    Provide,
    Provided,
    Question,
    Read,
    Replan,
    Trouble,
    Unoverride,
)

OVERRIDES_SHARE, DEPENDENCIES_SHARE, SCRIPTS_SHARE = 0.15, 0.15, 0.1
OBJECTS: tuple[tuple[str, Provided], ...] = (
    ("settings", "ConfigMap"),
    ("password", "Secret"),
    ("data", "PersistentVolumeClaim"),
)
EVERYTHING_RUNS = 76.0
BEHIND = (-5.0, 90.0)
"""Seconds around a fault until what it has moved has come to rest."""


def with_companions(history: History) -> History:
    """Adds companions to some histories."""
    draw = random.Random(f"companions {history.seed}")
    apps = [step for step in history.steps if isinstance(step, Deploy)]
    moments = [step.at for step in history.steps if isinstance(step, Fault)]
    if not apps or not moments:
        return history
    steps: list[AnyStep] = [*history.steps]
    if draw.random() < OVERRIDES_SHARE:
        steps += _overrides(draw, history, apps, moments)
    if draw.random() < DEPENDENCIES_SHARE:
        steps = _followed(draw, history, [app for app in apps if not app.config], moments, steps)
    if draw.random() < SCRIPTS_SHARE:
        steps = _scripted(draw, [app for app in apps if not app.config and app.cpu == 1], moments, steps)
    return msgspec.structs.replace(history, steps=tuple(sorted(steps, key=lambda step: step.at)))


def _scripted(
    draw: random.Random, apps: Sequence[Deploy], moments: Sequence[float], steps: Sequence[AnyStep]
) -> list[AnyStep]:
    """One application is of a kind that only scripts understand; these change, and give no answer for a while."""
    chosen = draw.choice(apps).app if apps else None
    if chosen is None:
        return [*steps]

    def at() -> float:
        return round(max(EVERYTHING_RUNS, draw.choice(moments) + draw.uniform(*BEHIND)), 3)

    def broken() -> BreakScript:
        question, trouble = draw.choice(get_args(Question)), draw.choice(get_args(Trouble))
        return BreakScript(at=at(), question=question, trouble=trouble, lasts=round(draw.uniform(2, 60), 3))

    later: Sequence[AnyStep] = (broken(), broken(), Explain(at=at(), version=2))
    made = [
        msgspec.structs.replace(step, scripted=True) if isinstance(step, Deploy) and step.app == chosen else step
        for step in steps
    ]
    return [Explain(at=36.0), *made, *draw.sample(later, draw.choice((1, 2, 3)))]


def _followed(
    draw: random.Random, history: History, apps: Sequence[Deploy], moments: Sequence[float], steps: list[AnyStep]
) -> list[AnyStep]:
    """One or two applications name one to three objects; they come to name others, and the objects change."""
    readers = {app.app for app in draw.sample(apps, min(len(apps), draw.choice((1, 2))))}
    objects = OBJECTS[: draw.choice((1, 2, 3))]
    names = [name for name, _ in objects]

    def some() -> tuple[str, ...]:
        return tuple(draw.sample(names, draw.randint(1, len(names))))

    def at() -> float:
        return round(max(EVERYTHING_RUNS, draw.choice(moments) + draw.uniform(*BEHIND)), 3)

    made = [Provide(at=38.0 + number, name=name, what=what) for number, (name, what) in enumerate(objects)]
    if draw.random() < 0.3:
        beside = tuple(sorted(draw.sample([name for name, _ in history.members], 1)))
        made[0] = msgspec.structs.replace(made[0], clusters=beside)
    more: list[AnyStep] = [Provide(at=at(), name=names[0], what=objects[0][1], version=2)]
    more += [Read(at=at(), app=app, reads=some()) for app in sorted(readers)]
    later = draw.sample(more, min(len(more), draw.choice((0, 1, 2))))
    return [*made, *(_following(step, readers, some) for step in steps), *later]


def _following(step: AnyStep, readers: set[str], some: Callable[[], tuple[str, ...]]) -> AnyStep:
    """Step as it is where what the readers name is to follow them."""
    match step:
        case Deploy() if step.app in readers:
            return msgspec.structs.replace(step, plan=msgspec.structs.replace(step.plan, follows=True), reads=some())
        case Replan() if step.app in readers:
            return msgspec.structs.replace(step, plan=msgspec.structs.replace(step.plan, follows=True))
        case _:
            return step


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
