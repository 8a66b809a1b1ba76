"""Casting: who plays in a steered history, and what there is one after the other instead of by chance."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from simulator.histories.model import AnyFault, Deploy, MemberHangs, MemberIsUnready, MemberStops, Mode, Plan
from simulator.histories.outage_scenarios import moments
from simulator.histories.timings import TIMINGS

THREE = ("m1", "m2", "m3")
BEGINS = 80.0
"""Instant at which the first fault strikes: everything runs by then."""


@dataclass(slots=True)
class Casting:
    """`turn` is how often the same has been played before: what there are few ways of is not left to chance.

    `members` have the modes that are drawn, unless they are `pushed` or `pulled`; `revisions` and `sync_seconds` are
    those of the history.
    """

    draw: random.Random
    turn: int
    members: Sequence[str] = THREE
    pushed: Sequence[str] = ()
    pulled: Sequence[str] = ()
    revisions: int = 0
    sync_seconds: float = 0.0

    @property
    def evicted(self) -> float:
        """Seconds from the death of its cluster until a copy leaves that tolerates an outage for the default time."""
        return moments(TIMINGS["brisk"])[3]

    def begins(self) -> float:
        return round(BEGINS + self.draw.uniform(0, 3), 3)

    def fleet(self) -> dict[str, Mode]:
        modes: Sequence[Mode] = ("Push", "Push", "Pull")
        fleet: dict[str, Mode] = {name: self.draw.choice(modes) for name in self.members}
        fleet.update(dict.fromkeys(self.pushed, "Push"))
        fleet.update(dict.fromkeys(self.pulled, "Pull"))
        return fleet

    def death(self, at: float, lasts: float, member: str = "m1") -> AnyFault:
        deaths = (MemberStops, MemberHangs, MemberIsUnready)
        return self.draw.choice(deaths)(at=at, lasts=round(lasts, 3), member=member)


def evenly(*clusters: str, directly: bool = False, toleration_seconds: int = 0, failback: bool = False) -> Plan:
    """Replicas shared out by equal weights: who loses one of the clusters knows where they go."""
    weights = (1,) * len(clusters)
    return Plan(
        division="Static",
        clusters=clusters,
        weights=weights,
        directly=directly,
        toleration_seconds=toleration_seconds,
        failback=failback,
    )


def in_turn(*clusters: str, application_seconds: int = 0) -> Plan:
    """Plan on the first of the clusters that can be: each is an affinity term."""
    return Plan(division="Duplicated", clusters=clusters, terms=len(clusters), application_seconds=application_seconds)


def web(plan: Plan, replicas: int = 6, app: str = "web", at: float = 45.0, cpu: int = 1) -> Deploy:
    return Deploy(at=at, app=app, plan=plan, replicas=replicas, cpu=cpu)
