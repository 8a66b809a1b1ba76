"""Each decision of a history is taken again on what is recorded of it: what a record does not say must not decide."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from leeward.planning import fleet
from leeward.planning.reservations import Reservations
from simulator.histories.model import Deploy, History, MemberStops, Plan
from simulator.histories.playing import Run, play
from tests.sim.scenarios import FLEET

BY_ROOM = Plan(division="Aggregated", clusters=("m1", "m2", "m3"))
EVERYWHERE = Plan(division="Duplicated", clusters=("m1", "m2", "m3"))
AT_ONCE = History(
    seed=3, members=FLEET, steps=tuple(Deploy(at=45, app=app, plan=BY_ROOM, replicas=6) for app in ("a", "b", "c"))
)
"""Three applications share the room there is."""
LOST = History(
    seed=3,
    members=FLEET,
    steps=(
        Deploy(at=45, app="before", plan=EVERYWHERE),
        MemberStops(at=60, lasts=100, member="m1"),
        Deploy(at=110, app="after", plan=EVERYWHERE),
    ),
)
"""The second application comes while m1 has a taint, which it had not when the first one came."""


def _record_no_reservations() -> Any:
    """Reservations for others are in no record."""
    return mock.patch.object(Reservations, "all", return_value={})


def _keep_what_clusters_were() -> Any:
    """Meanings of placements for a cluster are kept when the cluster changes."""
    return mock.patch.object(fleet, "_places_alike", return_value=True)


def otherwise(run: Run) -> list[str]:
    return [str(violation) for violation in run.violations if "is decided otherwise from" in violation.message]


@pytest.mark.parametrize(("plant", "history"), [(_record_no_reservations, AT_ONCE), (_keep_what_clusters_were, LOST)])
def test_what_no_record_says_is_found_where_it_decides(plant: Callable[[], Any], history: History) -> None:
    with plant():
        run = play(history)
    assert otherwise(run)
    sound = play(history)
    assert sound.violations == []
    assert sound.decisions >= len(history.steps) - 1
