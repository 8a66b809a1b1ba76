"""Members: one that takes nothing, one that comes and goes, one that lies, and some with other contents."""

from collections.abc import Sequence

from simulator.histories.model import (
    AnyStep,
    MemberComesBackOld,
    MemberFlaps,
    MemberLies,
    MemberLosesData,
    MemberRefusesWrites,
    Release,
)
from simulator.histories.steered.casting import BEGINS, THREE, Casting, evenly, in_turn, web


def refusing(cast: Casting) -> Sequence[AnyStep]:
    """Story in which nothing can be written where an application moves to."""
    refuses = MemberRefusesWrites(at=BEGINS - 10, lasts=330, member="m2", code=(500, 403)[cast.turn % 2])
    return web(in_turn(*THREE), 2), web(evenly(*THREE), 6, "shop"), refuses, cast.death(cast.begins(), 300)


def flapping(cast: Casting) -> Sequence[AnyStep]:
    return web(evenly(*THREE)), MemberFlaps(at=cast.begins(), lasts=260, member="m1", period=45)


def liar(cast: Casting) -> Sequence[AnyStep]:
    return web(evenly(*THREE)), MemberLies(at=cast.begins(), lasts=40, member="m1")


def contents(cast: Casting) -> Sequence[AnyStep]:
    lost = MemberLosesData(at=cast.begins(), lasts=25, member="m1")
    old = MemberComesBackOld(at=cast.begins(), lasts=60, member="m2")
    return web(evenly(*THREE)), lost, old, Release(at=100, app="web", version=2)
