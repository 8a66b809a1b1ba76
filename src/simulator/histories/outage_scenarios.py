"""Outage scenarios: a member dies for long enough that what it runs has to leave, and something happens in the middle.

Left to chance alone, few faults are long enough, few applications run where they strike, and next to nothing falls
into the half minute in which an eviction is open. Everything else about a scenario is drawn.

A burst of edits is another one: users change their minds within a second while writes are on a slow way, so that one
decision overtakes the other.
"""

import random
from collections.abc import Callable, Mapping, Sequence

from leeward.manager.timing import Timing
from simulator.histories.model import (
    AnyFault,
    AnyStep,
    AnyUserStep,
    ApiServerIsKilled,
    ClockIsWrong,
    ControllersAreKilled,
    CutOff,
    Deploy,
    MemberHangs,
    MemberIsUnready,
    MemberStops,
    Mode,
    Rejoin,
    Storm,
    TwoLeaders,
)

FIRST, LAST = 85.0, 200.0
"""Instants between which a scenario may begin: its application runs by then."""
KILL_STEPS = 150
CUT_OFF_SHARE = 0.15


class OutageScenarios:
    """Draws them for one fleet. `wishes` are what users may want of the application at a moment."""

    def __init__(self, draw: random.Random, timing: Timing, members: Mapping[str, Mode]) -> None:
        self._draw = draw
        self._timing = timing
        self._members = members

    def outage(self, deploy: Deploy, wishes: Callable[[float], Sequence[AnyUserStep]]) -> tuple[AnyStep, ...]:
        at = round(self._draw.uniform(FIRST, LAST), 3)
        if self._draw.random() < CUT_OFF_SHARE:
            return self._brake(at)
        victim = self._draw.choice(deploy.plan.clusters)
        left_at = at + self._seconds_until_eviction(deploy)
        lasts = left_at - at + self._draw.uniform(10, self._timing.graceful_eviction_timeout + 20)
        middle = round(left_at + self._draw.uniform(-2, self._timing.pod_startup_seconds), 3)
        wish, fault = self._draw.choice(wishes(middle)), self._fault(victim, middle)
        interruptions = self._draw.choice(((wish,), (fault,), (wish, fault)))
        return self._death(at, round(lasts, 3), victim), *interruptions

    def burst_of_edits(self, wishes: Callable[[float], Sequence[AnyUserStep]]) -> tuple[AnyStep, ...]:
        """Four to eight wishes in a row, while requests of the controllers take about as long as lies between them."""
        at = round(self._draw.uniform(FIRST, LAST), 3)
        lag, jitter = self._draw.choice((0.0, 0.0, 0.5)), self._draw.choice((0.1, 0.3, 1.0))
        storm = Storm(
            at=at, lasts=20.0, who="controllers", whom="control-plane", lag_seconds=lag, jitter_seconds=jitter
        )
        steps: list[AnyStep] = [storm]
        for _ in range(self._draw.randint(4, 8)):
            at = round(at + self._draw.uniform(0.02, jitter), 3)
            steps.append(self._draw.choice(wishes(at)))
        return tuple(steps)

    def _seconds_until_eviction(self, deploy: Deploy) -> float:
        timing = self._timing
        toleration = deploy.plan.toleration_seconds or timing.default_not_ready_toleration_seconds
        return moments(timing)[2] + toleration

    def _brake(self, at: float) -> tuple[AnyStep, ...]:
        """The control plane is cut off, and its controllers are killed while the brake holds everything."""
        _, noticed, tainted, evicted, *_ = moments(self._timing)
        lasts = round(self._draw.uniform(tainted, evicted + 30), 3)
        killed_at = round(at + self._draw.uniform(noticed + 5, lasts), 3)
        kill = ControllersAreKilled(at=killed_at, lasts=self._draw.choice((1.0, 20.0)), steps=self._steps())
        return CutOff(at=at, lasts=lasts), kill

    def _death(self, at: float, lasts: float, victim: str) -> AnyFault:
        deaths: list[AnyFault] = [
            MemberStops(at=at, lasts=lasts, member=victim),
            MemberStops(at=at, lasts=lasts, member=victim),
            MemberHangs(at=at, lasts=lasts, member=victim),
            MemberIsUnready(at=at, lasts=lasts, member=victim),
        ]
        return self._draw.choice(deaths)

    def _fault(self, victim: str, at: float) -> AnyStep:
        """Fault in the middle of it: somebody else fails; or the victim, or another cluster, is to leave for good."""
        lasts = round(self._draw.uniform(1, 90), 3)
        other = self._draw.choice(sorted({*self._members} - {victim}))
        skew = self._draw.choice((-3600.0, -45.0, 45.0, 3600.0))
        faults: list[AnyStep] = [
            ControllersAreKilled(at=at, lasts=lasts, steps=self._steps()),
            ControllersAreKilled(at=at, lasts=1.0, steps=self._steps()),
            ApiServerIsKilled(at=at, lasts=lasts, steps=self._steps(), power_cut=self._draw.random() < 0.5),
            TwoLeaders(at=at, lasts=lasts),
            ClockIsWrong(at=at, lasts=lasts, who=self._draw.choice(("controllers", f"agent-{other}")), seconds=skew),
            MemberStops(at=at, lasts=lasts + self._timing.failover_eviction_timeout, member=other),
            MemberHangs(at=at, lasts=lasts + self._timing.failover_eviction_timeout, member=other),
            Rejoin(at=at, cluster=self._draw.choice((victim, other))),
        ]
        return self._draw.choice(faults)

    def _steps(self) -> int:
        return self._draw.randrange(KILL_STEPS)


def moments(timing: Timing) -> tuple[float, ...]:
    """Seconds after a member's death: hardly noticed, Ready is False, tainted, evicted, past the grace."""
    noticed = timing.cluster_status_update_frequency + timing.cluster_failure_threshold
    tainted = noticed + timing.failover_eviction_timeout
    evicted = tainted + timing.default_not_ready_toleration_seconds
    return (5.0, noticed, tainted, evicted, evicted + 10, evicted + timing.graceful_eviction_timeout)
