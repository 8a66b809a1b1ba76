"""People: what they share and own, drain and suspend, and what else their policies ask for."""

from collections.abc import Sequence

from simulator.histories.model import (
    AnyStep,
    Drain,
    Meddle,
    NodesAreCordoned,
    Own,
    Plan,
    Replan,
    RestartPod,
    Share,
    Shared,
    Squat,
    Suspend,
)
from simulator.histories.steered.casting import BEGINS, THREE, Casting, evenly, in_turn, web


def shared(cast: Casting) -> Sequence[AnyStep]:
    """Story in which others live in what is propagated, to a cluster that is not ready for a while."""
    kinds: Sequence[Shared] = ("Namespace", "CustomResourceDefinition", "Service", "PersistentVolumeClaim")
    shares = [
        Share(at=45 + number, app=f"shared{number}", what=what, clusters=("m1", "m2"))
        for number, what in enumerate(kinds)
    ]
    owns = [Own(at=66 + number, app=f"shared{number}", cluster="m1") for number in range(2)]
    at = cast.begins()
    return *shares, web(Plan(division="Duplicated", clusters=("m1", "m2")), 2, at=50), *owns, cast.death(at, 75)


def shared_with_room(cast: Casting) -> Sequence[AnyStep]:
    """Story in which there would be another cluster for what others live in."""
    kinds: Sequence[Shared] = ("Namespace", "CustomResourceDefinition", "PersistentVolumeClaim")
    shares = [
        Share(at=45 + number, app=f"shared{number}", what=what, clusters=THREE, groups=(1, 2))
        for number, what in enumerate(kinds)
    ]
    owns = [Own(at=66 + n, app=f"shared{number}", cluster=name) for n, (number, name) in enumerate(_pairs(2))]
    return *shares, *owns, cast.death(cast.begins(), 100, cast.draw.choice(THREE))


def _pairs(most: int) -> list[tuple[int, str]]:
    return [(number, name) for number in range(most) for name in THREE]


def drained(cast: Casting) -> Sequence[AnyStep]:
    apps = [web(evenly("m1", "m2"), 2, f"app{number}", 45.0 + number) for number in range(4)]
    return *apps, Drain(at=cast.begins(), cluster="m1", lasts=150, budget=1)


def suspended(cast: Casting) -> Sequence[AnyStep]:
    """Users suspend before, and in the middle of, an outage."""
    at = cast.begins()
    left_at = round(at + cast.evicted + 3, 3)
    return (
        web(evenly("m1", "m2")),
        web(evenly("m1", "m2"), 2, "shop", 46),
        web(evenly("m1", "m2"), 2, "blog", 47),
        NodesAreCordoned(at=BEGINS - 5, lasts=150, member="m2"),
        Suspend(at=BEGINS - 3, app="shop", what="scheduling", lasts=140),
        Suspend(at=BEGINS - 2, app="blog", what="dispatching", lasts=140),
        cast.death(at, cast.evicted + 10),
        Suspend(at=left_at, app="web", what="scheduling", lasts=90),
    )


def failing(cast: Casting) -> Sequence[AnyStep]:
    """An application cannot run in a cluster that is well."""
    plan = in_turn("m1", "m2", application_seconds=20)
    restarts = [RestartPod(at=BEGINS + number, app="web", cluster="m1") for number in range(2)]
    return web(plan, 2), NodesAreCordoned(at=BEGINS - 3, lasts=200, member="m1"), *restarts


def returning(cast: Casting) -> Sequence[AnyStep]:
    at = cast.begins()
    other = Plan(division="Dynamic", clusters=THREE, failback=True)
    return web(evenly("m1", "m2", failback=True)), web(other, 6, "shop"), cast.death(at, cast.evicted + 30)


def other_term(cast: Casting) -> Sequence[AnyStep]:
    """A copy that is well leaves with the one that is lost, because another term takes over."""
    cast.members = ("m1", "m2", "m3", "m4")
    plan = Plan(division="Dynamic", clusters=("m1", "m2", "m3", "m4"), terms=2)
    large = web(plan, 3, cpu=7)
    return large, web(in_turn("m1", "m2"), 2, "shop"), cast.death(cast.begins(), cast.evicted + 40)


def taken_up_again(cast: Casting) -> Sequence[AnyStep]:
    """A term is left and taken up again, and the next one has a copy of it, too."""
    cast.members = ("m1", "m2", "m3", "m4")
    plan = Plan(division="Duplicated", clusters=cast.members, terms=2, overlap=True, groups=(2, 3))
    full = [NodesAreCordoned(at=BEGINS - 3, lasts=200, member=name) for name in ("m2", "m4")]
    return web(plan, 2), *full, cast.death(cast.begins(), cast.evicted + 8, "m3")


def nowhere(cast: Casting) -> Sequence[AnyStep]:
    """Story in which there is no place to go to; and somebody is there already, or meddles."""
    both = Plan(division="Duplicated", clusters=("m1", "m2"), groups=(2, 2))
    return (
        Squat(at=42, app="shop", cluster="m3"),
        web(both, 2),
        web(evenly(*THREE), 3, "shop"),
        web(evenly("m3"), 2, "blog"),
        Replan(at=70, app="blog", plan=Plan(division="Aggregated", clusters=("m1", "m2"), groups=(2, 2))),
        Meddle(at=76, app="web", cluster="m2"),
        cast.death(cast.begins(), cast.evicted + 30),
        Replan(at=170, app="blog", plan=Plan(division="Duplicated", clusters=("m1",), groups=(2, 2))),
        Replan(at=250, app="blog", plan=evenly("m3")),
    )
