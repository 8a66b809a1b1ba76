"""The machine finds what is planted: each bug within 200 histories, cut down to a story that a person can read.

All lie far below 200; which seed is the first changes with every change of the product, so that it is looked for.
"""

import pytest

from simulator.histories.generator import draw_history
from simulator.histories.playing import Run, play
from simulator.histories.shrinking import Shrinking
from simulator.histories.story_text import tell
from tests.sim.planted import BUGS, planted

BREAKS = {
    "evict twice": {"C3"},
    "drop a finalizer": {"L1"},
    "act on a stale cache": {"S5"},
    "repeat after a conflict": {"S2", "S3", "S9"},
    "know late of clusters": {"S1", "S2", "S4", "S5"},
    "forget the threshold": {"C1"},
    "delete on an empty result": {"S1"},
}
"""Invariants that each bug breaks; one of them must be seen to be broken."""
WITHIN = 200
STORY_LINES = 40
STEERED = {"forget to evict"}
"""Bugs that `test_checkers.py` plants in a history that leads to them."""


@pytest.mark.parametrize("bug", BREAKS)
def test_a_planted_bug_is_found_and_cut_down_to_a_short_story(bug: str) -> None:
    with planted(bug):
        failed = first_failure(BREAKS[bug])
        shrunk = Shrinking(failed).shrink()
    assert BREAKS[bug] & broken(shrunk)
    assert len(shrunk.history.steps) < len(failed.history.steps)
    story = tell(shrunk, "python -m simulator --history story.json")
    assert len(story.splitlines()) <= STORY_LINES
    assert "Replay: python -m simulator --history story.json" in story
    assert not BREAKS[bug] & broken(play(shrunk.history)), "without the bug it holds"


def test_every_planted_bug_has_to_be_found() -> None:
    assert BUGS.keys() == BREAKS.keys() | STEERED


def first_failure(invariants: set[str]) -> Run:
    for seed in range(WITHIN):
        run = play(draw_history(seed))
        if invariants & broken(run):
            return run
    raise AssertionError(f"{invariants} hold in {WITHIN} histories")


def broken(run: Run) -> set[str]:
    return {violation.invariant for violation in run.violations}
