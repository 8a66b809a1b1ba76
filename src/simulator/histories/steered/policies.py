"""Policies, quotas and stages: claims are taken over, wait, and are limited, and changes stop, while a cluster dies."""

from collections.abc import Sequence

import msgspec

from simulator.histories.model import (
    AnyStep,
    ApiServerIsKilled,
    ControllersAreKilled,
    LimitUsage,
    NodesAreCordoned,
    Override,
    Plan,
    Preempt,
    Relabel,
    Release,
    Replan,
    Retreat,
    Scale,
    Staging,
    SteerRollout,
    UnlimitUsage,
)
from simulator.histories.steered.casting import BEGINS, THREE, Casting, evenly, web

FOUR = (*THREE, "m4")


def governed(cast: Casting) -> Sequence[AnyStep]:
    """One application is taken over in the middle of its eviction, one waits for its template to change, and all have
    one quota, which is full. m2 runs nothing new until all that is over."""
    at = cast.begins()
    middle = round(at + cast.evicted, 3)
    killed = (ControllersAreKilled, ApiServerIsKilled)[cast.turn % 2]

    def lazily(*clusters: str) -> Replan:
        return Replan(at=72, app="shop", plan=msgspec.structs.replace(evenly(*clusters), lazy=True))

    return (
        LimitUsage(at=42, cpu=8, assigned=("m1", "m3")),
        web(evenly("m1", "m2"), 4),
        web(lazily("m1", "m2").plan, 2, "shop", 46),
        web(evenly("m1", "m2"), 2, "blog", 47),
        lazily("m1", "m2", "m3"),
        Scale(at=74, app="blog", replicas=4),
        NodesAreCordoned(at=BEGINS - 3, lasts=cast.evicted + 60, member="m2"),
        cast.death(at, cast.evicted + 70),
        Preempt(at=round(middle + 8, 3), app="web", name="above", plan=evenly("m2", "m3"), priority=5),
        killed(at=round(middle + 9, 3), lasts=3, steps=cast.draw.randrange(60)),
        Relabel(at=round(middle + 16, 3), app="shop", value=1),
        LimitUsage(at=round(middle + 80, 3), cpu=14, assigned=("m2",)),
        Preempt(at=round(middle + 95, 3), app="web", name="above", plan=evenly(*THREE), priority=2),
        LimitUsage(at=round(middle + 110, 3), cpu=5, assigned=("m2",)),
        Retreat(at=round(middle + 125, 3), name="above"),
        Scale(at=round(middle + 140, 3), app="blog", replicas=6),
        UnlimitUsage(at=round(middle + 155, 3)),
    )


def rolled_out(cast: Casting) -> Sequence[AnyStep]:
    """A change stops while its cluster is away, and the failover goes on with the one before; a bad one stops in its
    first stage, and a person takes it back. Another one is held by a person, and its override policy is changed."""
    cast.members = FOUR
    at, killed = cast.begins(), (ControllersAreKilled, ApiServerIsKilled)[cast.turn % 2]
    middle = round(at + cast.evicted, 3)
    two = Staging(stages=(("m2",), ()), approval=bool(cast.turn % 2), rollback=cast.turn % 4 == 3)
    moving = Plan(division="Duplicated", clusters=FOUR, terms=1, groups=(2, 2), staging=two)
    paired = msgspec.structs.replace(moving, clusters=("m1", "m2"), groups=(0, 0))
    three = Staging(stages=(("m1",), ("m2",), ()), healthy_seconds=15)
    spread = msgspec.structs.replace(evenly(*FOUR), staging=three)
    return (
        web(paired, 2),
        Replan(at=70, app="web", plan=moving),
        web(spread, 8, "shop", 46),
        Override(at=48, app="shop", name="tuned", version=1, clusters=FOUR),
        Release(at=round(at - 3, 3), app="web", version=2),
        cast.death(round(at + 4, 3), cast.evicted + 60),
        killed(at=round(at + 12, 3), lasts=3, steps=cast.draw.randrange(60)),
        SteerRollout(at=round(middle + 60, 3), app="web", wish="resume"),
        Release(at=round(middle + 150, 3), app="web", version=3, bad=True),
        Release(at=round(middle + 152, 3), app="shop", version=2),
        SteerRollout(at=round(middle + 160, 3), app="shop", wish="pause"),
        killed(at=round(middle + 165, 3), lasts=3, steps=cast.draw.randrange(60)),
        SteerRollout(at=round(middle + 200, 3), app="shop", wish="resume"),
        SteerRollout(at=round(middle + 240, 3), app="web", wish="undo"),
        Override(at=round(middle + 290, 3), app="shop", name="tuned", version=2, clusters=FOUR),
    )
