"""Policies of others, policies that wait, and quotas, drawn into a history by themselves.

What is drawn here is no part of the other draws, so that the rest of a history stays as it is.
"""

import random
from collections.abc import Sequence

import msgspec

from simulator.histories.companions import BEHIND, EVERYTHING_RUNS
from simulator.histories.model import (
    AnyStep,
    ControllersAreKilled,
    Deploy,
    Fault,
    History,
    HubIsRestored,
    LimitUsage,
    Override,
    Plan,
    Preempt,
    Read,
    Relabel,
    Release,
    Replan,
    Retreat,
    Staging,
    SteerRollout,
    UnlimitUsage,
)

PREEMPTION_SHARE, LAZY_SHARE, QUOTA_SHARE, STAGED_SHARE, GROUP_SHARE = 0.12, 0.12, 0.12, 0.15, 0.12
BAD_SHARE = 0.4
ABOVE = "above"
QUOTA_AT = (36.0, 90.0)


def with_policies(history: History) -> History:
    """Adds policies to some histories."""
    draw = random.Random(f"policies {history.seed}")
    apps = [step for step in history.steps if isinstance(step, Deploy)]
    moments = [step.at for step in history.steps if isinstance(step, Fault)]
    if not apps or not moments:
        return history
    drawing = _Policies(draw, [name for name, _ in history.members], moments)
    steps: list[AnyStep] = [*history.steps]
    if draw.random() < PREEMPTION_SHARE:
        steps += drawing.preemption(draw.choice(apps))
    if draw.random() < LAZY_SHARE:
        steps = drawing.lazy(draw.choice(apps), steps)
    if draw.random() < QUOTA_SHARE:
        steps += drawing.quota()
    return msgspec.structs.replace(history, steps=tuple(sorted(steps, key=lambda step: step.at)))


def with_rollouts(history: History) -> History:
    """Gives an application of some histories stages, and changes that go through them."""
    draw = random.Random(f"rollouts {history.seed}")
    apps = [step for step in history.steps if isinstance(step, Deploy) and _is_plain(step)]
    moments = [step.at for step in history.steps if isinstance(step, Fault)]
    if not apps or not moments or draw.random() >= STAGED_SHARE:
        return history
    app, fleet = draw.choice(apps), [name for name, _ in history.members]
    staging = Staging(
        stages=((draw.choice(app.plan.clusters),), *draw.choice(((), ((draw.choice(fleet),),))), ()),
        healthy_seconds=draw.choice((15, 25, 40)),
        unavailable=draw.choice((1, 1, 2)),
        approval=draw.random() < 0.2,
        rollback=draw.random() < 0.3,
    )
    steps = [_in_stages(step, staging) if _is_plan_of(step, app.app) else step for step in history.steps]
    is_mended = any(isinstance(step, HubIsRestored) or _reads(step, app.app) for step in history.steps)
    steps += _changes(draw, app, moments, 0.0 if is_mended else BAD_SHARE)
    return msgspec.structs.replace(history, steps=tuple(sorted(steps, key=lambda step: step.at)))


def with_groups(history: History) -> History:
    """Has applications of some histories move together: all of them, or one with a companion."""
    draw = random.Random(f"groups {history.seed}")
    apps = [step for step in history.steps if isinstance(step, Deploy) and not step.plan.staging]
    if not apps or draw.random() >= GROUP_SHARE:
        return history
    beside = [msgspec.structs.replace(draw.choice(apps), app="beside", at=round(apps[-1].at + 2, 3))]
    names = {step.app for step in (*apps, *beside)}
    steps = [
        _in_group(step) if isinstance(step, Deploy | Replan) and step.app in names else step for step in history.steps
    ]
    steps += map(_in_group, beside)
    return msgspec.structs.replace(history, steps=tuple(sorted(steps, key=lambda step: step.at)))


def _in_group(step: AnyStep) -> AnyStep:
    """Step with a plan for one cluster at a time, in a group."""
    assert isinstance(step, Deploy | Replan)
    division = "Aggregated" if step.plan.division == "Static" else step.plan.division
    plan = msgspec.structs.replace(step.plan, division=division, weights=(), groups=(1, 1), group="shop", staging=None)
    return msgspec.structs.replace(step, plan=plan)


def _changes(draw: random.Random, deployed: Deploy, moments: Sequence[float], bad_share: float) -> Sequence[AnyStep]:
    """A change or two around a fault, some of them bad, and a person's words to them. Where a person clears up behind a
    restore, or it comes to name other objects, none is bad: what was there before stays while nothing else serves."""
    app, clusters = deployed.app, deployed.plan.clusters

    def near() -> float:
        return round(max(EVERYTHING_RUNS, draw.choice(moments) + draw.uniform(-30, 40)), 3)

    steps: list[AnyStep] = [
        Release(at=near(), app=app, version=draw.randrange(10, 19), bad=draw.random() < bad_share)
        for _ in range(draw.choice((1, 2, 2, 3)))
    ]
    others: Sequence[AnyStep] = (
        Override(at=near(), app=app, name="staged", version=1, clusters=clusters),
        Relabel(at=near(), app=app, value=draw.randrange(20, 29)),
        ControllersAreKilled(at=near(), lasts=3, steps=draw.randrange(60)),
    )
    wish = draw.choice(("pause", "undo", "resume"))
    steps += [*draw.sample(others, draw.choice((0, 1, 2))), SteerRollout(at=near(), app=app, wish=wish)]
    if wish == "pause":
        steps.append(SteerRollout(at=round(max(moments) + draw.uniform(50, 120), 3), app=app, wish="resume"))
    return steps


class _Policies:
    def __init__(self, draw: random.Random, fleet: Sequence[str], moments: Sequence[float]) -> None:
        self._draw = draw
        self._fleet = fleet
        self._moments = moments

    def preemption(self, app: Deploy) -> list[AnyStep]:
        """A policy takes the application over, and another one that one's place in some; they change, and go."""
        later: Sequence[AnyStep] = (
            self._above(app, ABOVE, self._draw.randrange(1, 9)),
            self._above(app, "beyond", self._draw.randrange(10, 19)),
            Retreat(at=self._at(), name=ABOVE),
        )
        return [self._above(app, ABOVE, 5), *self._draw.sample(later, self._draw.choice((0, 1, 2)))]

    def lazy(self, app: Deploy, steps: Sequence[AnyStep]) -> list[AnyStep]:
        """The policy of the application is lazy, whatever it says; it changes, and so does the template."""
        waiting = [_lazily(step) if _is_plan_of(step, app.app) else step for step in steps]
        plan = msgspec.structs.replace(self._elsewhere(app.plan), lazy=True)
        changes: list[AnyStep] = [Replan(at=self._at(), app=app.app, plan=plan)]
        if self._draw.random() < 0.7:
            changes.append(Relabel(at=self._at(), app=app.app, value=self._draw.randrange(10, 19)))
        return [*waiting, *changes]

    def quota(self) -> list[AnyStep]:
        """Steps of a quota, which is there first, or comes to what runs; it is raised, lowered below what is used, and
        goes."""
        first = LimitUsage(at=round(self._draw.uniform(*QUOTA_AT), 3), cpu=self._cpu(), assigned=self._some())
        later: Sequence[AnyStep] = (
            LimitUsage(at=self._at(), cpu=self._cpu(), assigned=self._some()),
            LimitUsage(at=self._at(), cpu=self._cpu(), assigned=self._some()),
            UnlimitUsage(at=self._at()),
        )
        return [first, *self._draw.sample(later, self._draw.choice((0, 1, 2)))]

    def _above(self, app: Deploy, name: str, priority: int) -> Preempt:
        plan = self._elsewhere(app.plan)
        return Preempt(at=self._at(), app=app.app, name=name, plan=plan, priority=priority)

    def _elsewhere(self, plan: Plan) -> Plan:
        """Plan over as many clusters, by other weights."""
        clusters = tuple(sorted(self._draw.sample(self._fleet, len(plan.clusters))))
        weights = tuple(self._draw.randint(1, 3) for _ in plan.weights)
        return msgspec.structs.replace(plan, clusters=clusters, weights=weights)

    def _cpu(self) -> int:
        return self._draw.choice((2, 4, 6, 12, 40))

    def _some(self) -> tuple[str, ...]:
        return tuple(sorted(self._draw.sample(self._fleet, self._draw.randint(0, len(self._fleet)))))

    def _at(self) -> float:
        return round(max(EVERYTHING_RUNS, self._draw.choice(self._moments) + self._draw.uniform(*BEHIND)), 3)


def _is_plan_of(step: AnyStep, app: str) -> bool:
    return isinstance(step, Deploy | Replan) and step.app == app


def _reads(step: AnyStep, app: str) -> bool:
    return isinstance(step, Read) and step.app == app


def _is_plain(step: Deploy) -> bool:
    """Tells whether it is a Deployment that nobody else changes, and that stays when it does not serve."""
    others = (step.config, step.scripted, step.job, step.operated, step.autoscaled)
    return not any(others) and not step.plan.application_seconds and not step.plan.lazy


def _in_stages(step: AnyStep, staging: Staging) -> AnyStep:
    assert isinstance(step, Deploy | Replan)
    plan = msgspec.structs.replace(step.plan, staging=staging, application_seconds=0)
    return msgspec.structs.replace(step, plan=plan)


def _lazily(step: AnyStep) -> AnyStep:
    assert isinstance(step, Deploy | Replan)
    return msgspec.structs.replace(step, plan=msgspec.structs.replace(step.plan, lazy=True))
