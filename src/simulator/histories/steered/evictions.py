"""Evictions: what replaces a copy is slow, nowhere, or only a part of it, and users and the control plane interfere."""

from collections.abc import Sequence

from simulator.histories.model import (
    AnyStep,
    ApiServerIsKilled,
    ClockIsWrong,
    ControllersAreKilled,
    CutOff,
    Drain,
    Maintain,
    MemberIsUnready,
    MemberLosesData,
    MemberStops,
    NodesAreCordoned,
    Partition,
    Plan,
    Rebalance,
    Recreate,
    RecreatePolicy,
    Rejoin,
    Relabel,
    Release,
    Replan,
    RestartPod,
    Scale,
    TaintOnOutage,
    TwoLeaders,
    Withdraw,
)
from simulator.histories.steered.casting import BEGINS, THREE, Casting, evenly, web


def stuck(cast: Casting) -> Sequence[AnyStep]:
    """Story in which what replaces the old copy finds no node; past the grace period one unlucky instant follows the
    other."""
    cast.pushed = THREE
    leaving = (Maintain, Drain)[cast.turn % 2](at=BEGINS, cluster="m1", lasts=300)
    unseen: Sequence[AnyStep] = (
        MemberIsUnready(at=205, lasts=45, member="m1"),
        Partition(at=205, lasts=60, who="controllers", whom="m1"),
        CutOff(at=205, lasts=60),
    )
    return (
        web(evenly("m1", "m2")),
        NodesAreCordoned(at=BEGINS - 5, lasts=280, member="m2"),
        leaving,
        Relabel(at=160, app="web", value=1),
        RestartPod(at=175, app="web", cluster="m1"),
        Scale(at=190, app="web", replicas=8),
        unseen[cast.turn % len(unseen)],
        Release(at=285, app="web", version=2),
    )


def cut_off_while_stuck(cast: Casting) -> Sequence[AnyStep]:
    """The brake is engaged when the grace period of a drain ends."""
    cast.pushed = THREE
    return (
        web(evenly("m1", "m2")),
        NodesAreCordoned(at=BEGINS - 5, lasts=220, member="m2"),
        Drain(at=BEGINS, cluster="m1", lasts=230),
        CutOff(at=BEGINS + 5, lasts=150),
    )


def in_vain(cast: Casting) -> Sequence[AnyStep]:
    """Story in which nothing runs any more, here or there: time ends the eviction."""
    nowhere = [NodesAreCordoned(at=BEGINS - 5, lasts=260, member=name) for name in ("m1", "m2")]
    lost = MemberLosesData(at=BEGINS, lasts=cast.evicted + 5, member="m1")
    return web(evenly("m1", "m2")), *nowhere, lost


def in_part(cast: Casting) -> Sequence[AnyStep]:
    """Story in which only some of the replicas find another place: the other cluster has room for two."""
    first = Plan(division="Static", clusters=("m1", "m2"), weights=(2, 1))
    other = Replan(at=60, app="web", plan=Plan(division="Dynamic", clusters=("m1", "m2")))
    return web(first, 3, cpu=7), other, cast.death(cast.begins(), cast.evicted + 60)


def withdrawn(cast: Casting) -> Sequence[AnyStep]:
    """A cluster is back before what replaces it runs."""
    slow = NodesAreCordoned(at=BEGINS - 5, lasts=140, member="m2")
    return web(evenly("m1", "m2")), slow, cast.death(cast.begins(), cast.evicted + 5)


def wishes(cast: Casting) -> Sequence[AnyStep]:
    """Everything that users can want of an application, in the middle of its eviction."""
    at = cast.begins()
    middle = at + cast.evicted + 2
    times = iter(round(middle + 1.5 * number, 3) for number in range(8))
    apps = [web(evenly("m1", "m2"), 4, f"app{number}", 45.0 + number / 2) for number in range(7)]
    return (
        *apps,
        NodesAreCordoned(at=BEGINS - 5, lasts=130, member="m2"),
        cast.death(at, cast.evicted + 40),
        Scale(at=next(times), app="app0", replicas=cast.draw.randrange(0, 8)),
        Replan(at=next(times), app="app1", plan=evenly("m2", "m3")),
        Withdraw(at=next(times), app="app2"),
        Recreate(at=next(times), app="app3", replicas=2),
        Release(at=next(times), app="app4", version=2),
        Rebalance(at=next(times), app="app5"),
        RecreatePolicy(at=next(times), app="app6"),
    )


def interrupted(cast: Casting) -> Sequence[AnyStep]:
    """The control plane fails in the middle of an eviction."""
    at = cast.begins()
    middle = round(at + cast.evicted + 3, 3)
    faults: Sequence[AnyStep] = (
        ControllersAreKilled(at=middle, lasts=3, steps=cast.draw.randrange(100)),
        ClockIsWrong(at=middle + 4, lasts=20, who="controllers", seconds=cast.draw.choice((-45.0, 45.0, 3600.0))),
        TwoLeaders(at=middle + 6, lasts=15),
        ApiServerIsKilled(at=middle + 22, lasts=3, steps=5, power_cut=cast.turn % 2 == 0),
    )
    slow = NodesAreCordoned(at=BEGINS - 5, lasts=150, member="m2")
    return web(evenly("m1", "m2")), slow, cast.death(at, cast.evicted + 70), *faults


def left(cast: Casting) -> Sequence[AnyStep]:
    """A cluster leaves while it is dead, in the middle of its evictions."""
    at = cast.begins()
    cast.pulled = ("m1",) if cast.turn % 2 else ()
    gone = MemberStops(at=at, lasts=cast.evicted + 50, member="m1")
    slow = NodesAreCordoned(at=BEGINS - 5, lasts=120, member="m2")
    return web(evenly("m1", "m2")), slow, gone, Rejoin(at=round(at + cast.evicted + 8, 3), cluster="m1")


def two_dead(cast: Casting) -> Sequence[AnyStep]:
    cast.members = ("m1", "m2", "m3", "m4", "m5")
    cast.pulled = ("m2",)
    at, lasts = cast.begins(), cast.evicted + 40
    first = MemberStops(at=at, lasts=lasts, member="m1")
    second = MemberStops(at=round(at + 12, 3), lasts=lasts, member="m2")
    slow = [NodesAreCordoned(at=BEGINS - 5, lasts=110, member=name) for name in ("m3", "m4", "m5")]
    direct = web(evenly(*cast.members, directly=True), 10, "shop")
    return web(evenly(*cast.members), 10), direct, first, second, *slow


def by_policy(cast: Casting) -> Sequence[AnyStep]:
    return TaintOnOutage(at=60), web(evenly(*THREE)), cast.death(cast.begins(), 90)
