"""Policies and quotas: what is claimed is taken over, waits, and is limited, while a cluster dies."""

from collections.abc import Sequence

import msgspec

from simulator.histories.model import (
    AnyStep,
    ApiServerIsKilled,
    ControllersAreKilled,
    LimitUsage,
    NodesAreCordoned,
    Preempt,
    Relabel,
    Replan,
    Retreat,
    Scale,
    UnlimitUsage,
)
from simulator.histories.steered.casting import BEGINS, THREE, Casting, evenly, web


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
