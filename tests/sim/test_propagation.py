"""Propagation: dependencies of applications, overrides for clusters, and the policies that decide over applications.

The histories are led there.
"""

import pytest

from simulator.histories.playing import play
from simulator.histories.rare_policies import POLICIES_REACHED, ROLLOUTS_REACHED
from simulator.histories.rare_propagation import DEPENDENCIES_REACHED, OVERRIDES_REACHED, SCRIPTS_REACHED
from simulator.histories.steered import SURROUNDED, SURROUNDED_AT, SURROUNDED_EVERY, steer
from simulator.histories.steered.policies import governed, rolled_out
from simulator.histories.steered.propagation import dependent, overridden, scripted
from tests.sim.planted_harm import steered


def test_s14_each_cluster_gets_its_own_while_policies_break_and_the_hub_restarts() -> None:
    run = play(steered(overridden, 1))
    assert run.violations == []
    assert set(OVERRIDES_REACHED) <= set(run.reached)


def test_s15_what_a_copy_needs_comes_before_it_and_leaves_after_it() -> None:
    run = play(steered(dependent, 1))
    assert run.violations == []
    assert set(DEPENDENCIES_REACHED) <= set(run.reached)


def test_s16_no_answer_of_a_script_makes_anything_healthy_or_none() -> None:
    run = play(steered(scripted, 1))
    assert run.violations == []
    assert set(SCRIPTS_REACHED) <= set(run.reached)


@pytest.mark.parametrize("turn", [0, 1])
def test_s17_s18_policies_take_over_and_wait_and_a_full_quota_takes_nothing_away(turn: int) -> None:
    run = play(steered(governed, turn))
    assert run.violations == []
    assert set(POLICIES_REACHED) <= set(run.reached)


@pytest.mark.parametrize("turn", [0, 1])
def test_s20_a_change_goes_from_stage_to_stage_and_a_bad_one_stops_in_an_outage_too(turn: int) -> None:
    number = turn * len(SURROUNDED) + SURROUNDED.index(rolled_out)
    history = steer(SURROUNDED_EVERY * number + SURROUNDED_AT, lambda history: history)
    assert history is not None
    run = play(history)
    assert run.violations == []
    assert set(ROLLOUTS_REACHED) <= set(run.reached)
