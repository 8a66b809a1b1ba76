"""Surroundings of a control plane: tools that write what it writes, too, and fleets that are as small as can be."""

from collections.abc import Sequence

from leeward.sim.histories.model import AnyStep, CutOff, GitWrite, MemberHangs, MemberStops, Plan, SyncClusters
from leeward.sim.histories.steered.casting import THREE, Casting, evenly, web

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
