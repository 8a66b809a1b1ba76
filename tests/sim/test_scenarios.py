"""Regressions as scenarios, and one scenario with a further fault at many places."""

import pytest

from leeward.sim.histories.playing import play
from leeward.sim.histories.systematic import broken_everywhere, killed_everywhere
from tests.sim.scenarios import SCENARIOS, history

OUTAGE = "8.4 an eviction task does not outlive the outage"
DECIDED_AT = 140.0


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_known_fault_is_not_ours(name: str) -> None:
    assert play(history(name)).violations == []


@pytest.mark.parametrize("awaits", range(0, 60, 15))
def test_controllers_that_are_killed_around_an_eviction_change_nothing_about_its_end(awaits: int) -> None:
    for killed in killed_everywhere(history(OUTAGE), DECIDED_AT, [awaits]):
        assert play(killed).violations == []


@pytest.mark.parametrize("line", range(1, 10, 3))
def test_a_watch_that_breaks_before_any_line_of_an_eviction_loses_nothing(line: int) -> None:
    for broken in broken_everywhere(history(OUTAGE), DECIDED_AT - 2, 20, [line]):
        assert play(broken).violations == []
