"""The hub: cut off, away, killed at work, led by somebody else, forgetful, or out in a storm."""

from collections.abc import Sequence

from kubecluster.network_faults import MISHAPS
from simulator.histories.model import (
    AnyStep,
    ApiServerIsKilled,
    ControllersAreKilled,
    CutOff,
    HubIsSuspended,
    LeaderIsPaused,
    MemberStops,
    Scale,
    ShardIsPaused,
    Storm,
)
from simulator.histories.steered.casting import THREE, Casting, evenly, web


def cut_off(cast: Casting) -> Sequence[AnyStep]:
    at = cast.begins()
    kill = ControllersAreKilled(at=at + 45, lasts=5, steps=cast.draw.randrange(100))
    return web(evenly(*THREE)), CutOff(at=at, lasts=cast.evicted + 15), kill


def braked(cast: Casting) -> Sequence[AnyStep]:
    """A toleration ends while the brake is engaged."""
    at = cast.begins()
    cut = CutOff(at=round(at + cast.evicted + 5, 3), lasts=110)
    return web(evenly(*THREE, toleration_seconds=60)), MemberStops(at=at, lasts=150, member="m1"), cut


def away(cast: Casting) -> Sequence[AnyStep]:
    """The hub is away for longer than a toleration, and the member comes back meanwhile."""
    at = cast.begins()
    kinds = (ControllersAreKilled, HubIsSuspended)
    hub = kinds[cast.turn % 2](at=round(at + 62, 3), lasts=80)
    return web(evenly(*THREE, toleration_seconds=40)), cast.death(at, 68), hub


def leader(cast: Casting) -> Sequence[AnyStep]:
    """Story in which a leader is paused, and later a shard."""
    paused = LeaderIsPaused(at=60, lasts=70, after=10, pause_seconds=30)
    shard = ShardIsPaused(at=150, lasts=80, who="shard 0", after=20, pause_seconds=30)
    scales = [Scale(at=round(70 + 0.02 * 3**n, 3), app=f"app{n % 3}", replicas=5 + n) for n in range(5)]
    scales += [Scale(at=round(169.94 + 0.02 * n, 3), app=f"app{n % 3}", replicas=3 + n) for n in range(6)]
    return *(web(evenly(*THREE), 4, f"app{number}") for number in range(3)), paused, shard, *scales


def forgetful(cast: Casting) -> Sequence[AnyStep]:
    """Story in which more is written than the control plane remembers, while it is heard late, and watches break."""
    cast.revisions = 10
    busy = [Scale(at=round(81 + number / 2, 3), app="web", replicas=1 + number % 5) for number in range(40)]
    late = Storm(at=80, lasts=30, who="controllers", whom="control-plane", lag_seconds=2.0, breaks=0.2)
    return web(evenly(*THREE)), late, *busy


def killed_at_work(cast: Casting) -> Sequence[AnyStep]:
    """Story in which who is killed has just begun to write."""
    cast.sync_seconds = 0.02
    scales = [
        Scale(at=round(80 + 20 * n + 0.01 * m, 3), app=f"app{m}", replicas=2 + n) for n in range(6) for m in range(3)
    ]
    kills = (ControllersAreKilled, ApiServerIsKilled)
    killed = [kills[n % 2](at=round(80.03 + 20 * n + 0.01 * cast.draw.random(), 3), lasts=3, steps=n) for n in range(6)]
    return *(web(evenly(*THREE), 4, f"app{number}") for number in range(3)), *scales, *killed


def stormy(cast: Casting) -> Sequence[AnyStep]:
    """Everything that can go wrong with a request or a line."""
    ways = (("controllers", "control-plane"), ("controllers", "m1"), ("agent-m2", "control-plane"))
    storms = [
        Storm(at=66, lasts=60, who=who, whom=whom, rate=0.4, mishaps=MISHAPS, lag_seconds=0.3, repeats=0.3, breaks=0.3)
        for who, whom in ways
    ]
    cast.pushed, cast.pulled = ("m1",), ("m2",)
    scales = [Scale(at=70 + 8 * number, app="web", replicas=2 + number) for number in range(6)]
    return web(evenly(*THREE)), *storms, *scales
