"""Propagation: what clusters get differs, and what an application needs goes along, while clusters and people fail."""

from collections.abc import Sequence

import msgspec

from simulator.histories.model import (
    AnyStep,
    ApiServerIsKilled,
    BreakOverride,
    BreakScript,
    ControllersAreKilled,
    Deploy,
    Explain,
    Override,
    Provide,
    Read,
    Release,
    Scale,
    Trouble,
    Unoverride,
)
from simulator.histories.steered.casting import THREE, Casting, evenly, in_turn, web


def dependent(cast: Casting) -> Sequence[AnyStep]:
    """Story in which what two applications share moves with them, while one of them comes to name something else."""
    at = cast.begins()
    middle = round(at + cast.evicted, 3)
    killed = (ControllersAreKilled, ApiServerIsKilled)[cast.turn % 2]
    moving = msgspec.structs.replace(in_turn(*THREE), follows=True)
    staying = msgspec.structs.replace(evenly("m1", "m2"), follows=True)
    return (
        Provide(at=41, name="settings", what="ConfigMap", clusters=() if cast.turn % 4 == 3 else ("m3",)),
        Provide(at=42, name="password", what="Secret"),
        Provide(at=43, name="data", what="PersistentVolumeClaim"),
        Deploy(at=45, app="web", plan=moving, replicas=2, reads=("settings", "password", "data")),
        Deploy(at=46, app="shop", plan=staying, replicas=4, reads=("settings",)),
        cast.death(at, cast.evicted + 40),
        Provide(at=round(middle - 3, 3), name="settings", what="ConfigMap", version=2),
        killed(at=round(middle + 1, 3), lasts=3, steps=cast.draw.randrange(60)),
        Read(at=round(middle + 9, 3), app="web", reads=("password", "data")),
        Read(at=round(middle + 35, 3), app="shop", reads=("settings", "password")),
    )


def scripted(cast: Casting) -> Sequence[AnyStep]:
    """Story in which what only scripts understand moves while one after the other of them gives no answer."""
    at = cast.begins()
    middle = round(at + cast.evicted, 3)
    troubles: Sequence[Trouble] = ("fails", "endless", "absurd")
    trouble, other = troubles[cast.turn % 3], troubles[(cast.turn + 1) % 3]
    moving = msgspec.structs.replace(in_turn(*THREE), follows=True)
    return (
        Explain(at=36),
        Provide(at=41, name="settings", what="ConfigMap"),
        Deploy(at=45, app="web", plan=moving, replicas=2, reads=("settings",), scripted=True),
        Deploy(at=46, app="shop", plan=evenly("m1", "m2"), replicas=4, scripted=True),
        cast.death(at, cast.evicted + 60),
        BreakScript(at=round(middle - 6, 3), question="health", trouble=trouble, lasts=24),
        Scale(at=round(middle + 2, 3), app="shop", replicas=6),
        BreakScript(at=round(middle + 8, 3), question="health", trouble=other, lasts=10),
        BreakScript(at=round(middle + 20, 3), question="replicas", trouble=other, lasts=15),
        Scale(at=round(middle + 24, 3), app="web", replicas=3),
        BreakScript(at=round(middle + 40, 3), question="revision", trouble=trouble, lasts=12),
        Scale(at=round(middle + 42, 3), app="web", replicas=4),
        Explain(at=round(middle + 60, 3), version=2),
    )


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
