"""Surroundings of a control plane: tools that write what it writes, too, and fleets that are as small as can be."""

from collections.abc import Sequence

import msgspec

from simulator.histories.model import (
    AnyStep,
    ApiServerIsKilled,
    Autoscale,
    ControllersAreKilled,
    CutOff,
    Deploy,
    Drain,
    GitWrite,
    MemberHangs,
    MemberStops,
    Override,
    Plan,
    Provide,
    Release,
    Squat,
    SyncClusters,
    Withdraw,
)
from simulator.histories.steered.casting import THREE, Casting, evenly, in_turn, web

TWO = ("m1", "m2")
WRITES: Sequence[GitWrite] = ("patch", "put", "apply")
PERIODS = (5.0, 30.0, 0.0, 120.0, 290.0)


def kept_in_git(cast: Casting) -> Sequence[AnyStep]:
    """A cluster dies whose list of taints a git tool writes, often or just once while a taint is tolerated."""
    at, every = cast.begins(), PERIODS[cast.turn % len(PERIODS)]
    is_often = 0 < every < cast.evicted
    first = at - 30 if is_often else at + cast.evicted + cast.draw.uniform(-8, 20)
    sync = SyncClusters(
        at=round(first, 3),
        clusters=THREE,
        how=WRITES[cast.turn % len(WRITES)],
        every=every,
        lasts=200,
        own=cast.turn % 2 == 1,
    )
    return web(evenly(*THREE)), web(evenly(*THREE, toleration_seconds=40), 4, "shop", 46), sync, cast.death(at, 130)


def resized(cast: Casting) -> Sequence[AnyStep]:
    """Copies have other replicas than they are assigned: an autoscaler wants more in one cluster, a policy in another
    one; a cluster dies, and is back."""
    at = cast.begins()
    scaled = msgspec.structs.replace(web(evenly(*THREE), 6), autoscaled=True)
    return (
        scaled,
        Override(at=44, app="shop", name="size", version=1, clusters=("m2",), wide=cast.turn % 2 == 0, replicas=8),
        web(evenly("m1", "m2"), 4, "shop", 46),
        Autoscale(at=76, app="web", cluster="m1", replicas=5),
        Autoscale(at=77, app="web", cluster="m2", replicas=8),
        cast.death(at, cast.evicted + 40),
        Autoscale(at=round(at + cast.evicted + 20, 3), app="web", cluster="m3", replicas=9),
        Release(at=round(at + cast.evicted + 25, 3), app="web", version=2),
    )


def tasks(cast: Casting) -> Sequence[AnyStep]:
    """A cluster dies in which one Job has ended, one runs, and a CronJob starts one each minute."""
    at, plan = cast.begins(), in_turn(*THREE)
    return (
        Deploy(at=40, app="migration", plan=plan, job="Job", seconds=5),
        Deploy(at=42, app="bill", plan=plan, job="Job", seconds=cast.draw.choice((60, 180))),
        Deploy(at=44, app="report", plan=plan, job="CronJob", seconds=30),
        web(plan, 2),
        MemberStops(at=at, lasts=round(cast.evicted + 60, 3), member="m1"),
    )


def taken_names(cast: Casting) -> Sequence[AnyStep]:
    """A cluster is drained, or dies, while the next one has somebody else's objects under the names of what follows."""
    at, plan = cast.begins(), msgspec.structs.replace(in_turn(*THREE), follows=True)
    leaving = Drain(at=at, cluster="m1", lasts=round(cast.evicted + 120, 3))
    return (
        Squat(at=36, app="settings", cluster="m2", named="ConfigMap"),
        Squat(at=37, app="password", cluster="m2", named="Secret"),
        Provide(at=41, name="settings", what="ConfigMap"),
        Provide(at=42, name="password", what="Secret"),
        Deploy(at=45, app="web", plan=plan, replicas=2, reads=("settings", "password")),
        leaving if cast.turn % 2 else cast.death(at, cast.evicted + 60),
    )


def operated(cast: Casting) -> Sequence[AnyStep]:
    """A cluster dies, and is back, in which an operator keeps a claim for one custom resource, and none for another
    one. Nothing but the operators tells how these are."""
    at, plan = cast.begins(), in_turn(*THREE)
    return (
        Deploy(at=42, app="orders", plan=plan, operated="claiming"),
        Deploy(at=44, app="cache", plan=plan, operated="plain"),
        web(evenly(*THREE)),
        cast.death(at, cast.evicted + 60),
    )


def one_of_two(cast: Casting) -> Sequence[AnyStep]:
    """One cluster of two dies, and then the other one, when the first is back."""
    cast.members = TWO
    at = cast.begins()
    both = Plan(division="Duplicated", clusters=TWO, groups=(1, 1))
    first = MemberStops(at=at, lasts=cast.evicted + 45, member="m1")
    second = cast.death(round(first.ends_at + 60, 3), cast.evicted + 30, "m2")
    return web(evenly(*TWO)), web(both, 2, "shop", 46), first, second


def two_of_two(cast: Casting) -> Sequence[AnyStep]:
    """Both clusters of a fleet are gone at once, or the way to them is."""
    cast.members = TWO
    at, lasts = cast.begins(), round(cast.evicted + 30, 3)
    lost: Sequence[Sequence[AnyStep]] = (
        [MemberHangs(at=at, lasts=lasts, member=name) for name in TWO],
        [CutOff(at=at, lasts=lasts)],
        [MemberStops(at=round(at + 4 * n, 3), lasts=lasts, member=name) for n, name in enumerate(TWO)],
    )
    return web(evenly(*TWO)), web(evenly(*TWO, directly=True), 2, "shop", 46), *lost[cast.turn % len(lost)]


def preserved(cast: Casting) -> Sequence[AnyStep]:
    """Applications go whose copies stay, one of them while a cluster is away; others of their names come, and go."""
    at = cast.begins()
    kept = msgspec.structs.replace(evenly("m1", "m2"), preserve=True)
    killed = (ControllersAreKilled, ApiServerIsKilled)[cast.turn % 2]
    return (
        web(kept, 2),
        web(kept, 4, "shop", 46),
        Withdraw(at=round(at - 6, 3), app="web"),
        cast.death(at, 40),
        Withdraw(at=round(at + 12, 3), app="shop"),
        killed(at=round(at + 13, 3), lasts=3, steps=cast.draw.randrange(60)),
        web(evenly(*THREE), 3, at=round(at + 90, 3)),
        web(evenly(*THREE), 3, "shop", round(at + 92, 3)),
        Release(at=round(at + 120, 3), app="web", version=2),
        Withdraw(at=round(at + 140, 3), app="web"),
        Withdraw(at=round(at + 142, 3), app="shop"),
    )
