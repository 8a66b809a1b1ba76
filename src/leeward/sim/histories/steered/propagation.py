"""Propagation: what clusters get differs, and what an application needs goes along, while clusters and people fail."""

from collections.abc import Sequence

from leeward.sim.histories.model import (
    AnyStep,
    ApiServerIsKilled,
    BreakOverride,
    ControllersAreKilled,
    Override,
    Release,
    Unoverride,
)
from leeward.sim.histories.steered.casting import THREE, Casting, evenly, in_turn, web


def overridden(cast: Casting) -> Sequence[AnyStep]:
    """Each cluster gets its own; policies change, break and go while an application moves and the hub restarts."""
    at = cast.begins()
    middle = round(at + cast.evicted, 3)
    killed = (ControllersAreKilled, ApiServerIsKilled)[cast.turn % 2]
    return (
        Override(at=42, app="web", name="one", version=1, clusters=THREE, wide=True),
        Override(at=43, app="web", name="one", version=1, clusters=("m2",)),
        Override(at=44, app="shop", name="two", version=1, clusters=("m1", "m3"), wide=bool(cast.turn % 2)),
        web(in_turn(*THREE), 2),
        web(evenly(*THREE), 3, "shop", 46),
        cast.death(at, cast.evicted + 40),
        BreakOverride(at=round(middle - 6, 3), name="one", lasts=12),
        Override(at=round(middle + 4, 3), app="shop", name="two", version=2, clusters=THREE, wide=bool(cast.turn % 2)),
        killed(at=round(middle + 8, 3), lasts=3, steps=cast.draw.randrange(60)),
        Release(at=round(middle + 14, 3), app="web", version=2),
        Unoverride(at=round(middle + 20, 3), name="one"),
    )
