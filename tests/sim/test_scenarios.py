"""Regressions as scenarios: known faults of other systems, each with a fixed seed."""

import pytest

from simulator.histories.playing import play
from tests.sim.scenarios import SCENARIOS, history


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_known_fault_is_not_ours(name: str) -> None:
    assert play(history(name)).violations == []
