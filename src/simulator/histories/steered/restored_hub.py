"""Restores: the control plane is as it was some time ago, and members are not."""

from collections.abc import Sequence

import msgspec

from simulator.histories.model import AnyStep, Deploy, HubIsRestored, NodesAreCordoned, Provide, Replan, Withdraw
from simulator.histories.parts import MOST_SECONDS_AFTER
from simulator.histories.steered.casting import BEGINS, THREE, Casting, evenly, web

LATE_TURN = 2


def forgotten(cast: Casting) -> Sequence[AnyStep]:
    """Story in which what was placed after the backup runs on; one of it is deployed once more, and one is nobody's for
    good."""
    backup = HubIsRestored(at=75, lasts=70, controllers_stay=cast.turn % 2 == 1)
    return (
        web(evenly(*THREE)),
        backup,
        web(evenly("m1", "m2"), 4, "late", 80),
        web(evenly("m2", "m3"), 2, "later", 82),
        cast.death(100, cast.draw.choice((20, 70, 120))),
        web(evenly("m1", "m2"), 4, "late", 165),
    )


def in_the_middle(cast: Casting) -> Sequence[AnyStep]:
    """The backup is taken while a cluster is being left, and users have moved the application since."""
    death = cast.death(BEGINS, cast.evicted + 40)
    back = (evenly("m1"), evenly("m1", "m2"), evenly("m3"))[cast.turn % 3]
    return (
        web(evenly("m1", "m2")),
        NodesAreCordoned(at=BEGINS - 5, lasts=90, member="m2"),
        death,
        HubIsRestored(at=BEGINS + cast.evicted + 10, lasts=150, controllers_stay=cast.turn % 2 == 1),
        Replan(at=240, app="web", plan=back),
    )


def second_life(cast: Casting) -> Sequence[AnyStep]:
    """Story in which an application is deleted while a cluster of it is away, so that its removal there is pending when
    the backup is taken. It is done when the cluster is back; then the application is deployed anew, under its name."""
    named = (Provide(at=40, name="settings", what="ConfigMap"), Provide(at=41, name="password", what="Secret"))
    plan = msgspec.structs.replace(evenly("m1", "m2"), follows=True)
    reads = ("settings", "password")
    return (
        *named,
        Deploy(at=45, app="web", plan=plan, replicas=6, reads=reads),
        cast.death(BEGINS, cast.evicted + 20),
        Withdraw(at=BEGINS + 10, app="web"),
        HubIsRestored(at=BEGINS + 20, lasts=cast.evicted + 150, controllers_stay=cast.turn % 2 == 1),
        Deploy(at=BEGINS + cast.evicted + 60, app="web", plan=plan, replicas=4, reads=reads),
    )


def overtaken(cast: Casting) -> Sequence[AnyStep]:
    """Story in which a copy is to be removed, when the backup is taken, from a cluster that is away; by now it is the
    only one.

    Where the controllers begin anew, sometimes late, nothing new runs in the other cluster for a while."""
    away = cast.evicted + 70
    steps: tuple[AnyStep, ...] = (
        web(evenly("m1", "m2")),
        NodesAreCordoned(at=BEGINS - 5, lasts=75, member="m2"),
        cast.death(BEGINS, away),
        Replan(at=BEGINS + away + 60, app="web", plan=evenly("m1")),
    )
    restore = HubIsRestored(at=BEGINS + away - 15, lasts=170, controllers_stay=cast.turn % 2 == 1)
    if restore.controllers_stay:
        return *steps, restore
    if cast.turn % 4 == LATE_TURN:
        after = round(cast.draw.uniform(0, MOST_SECONDS_AFTER), 3)
        restore = msgspec.structs.replace(restore, controllers_after=after)
    return *steps, restore, NodesAreCordoned(at=restore.back_at - 5, lasts=120, member="m2")
