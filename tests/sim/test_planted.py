"""The machine finds what is planted: each bug within 200 histories, cut down to a story that a person can read.

The seeds are the first that find them, so that the tests are quick; all lie far below 200.
"""

import pytest

from leeward.sim.histories.drawing import draw_history
from leeward.sim.histories.playing import play
from leeward.sim.histories.shrinking import Shrinking
from leeward.sim.histories.telling import tell
from tests.sim.planted import planted

FOUND_BY = {
    "evict twice": (1, "C3"),
    "drop a finalizer": (1, "L1"),
    "act on a stale cache": (0, "S5"),
    "know late of clusters": (26, "S1"),
    "forget the threshold": (4, "C1"),
    "delete on an empty result": (6, "S1"),
}
STORY_LINES = 40


@pytest.mark.parametrize("bug", FOUND_BY)
def test_a_planted_bug_is_found(bug: str) -> None:
    seed, invariant = FOUND_BY[bug]
    with planted(bug):
        run = play(draw_history(seed))
    assert invariant in {violation.invariant for violation in run.violations}
    assert play(draw_history(seed)).violations == []


@pytest.mark.parametrize("bug", FOUND_BY)
def test_a_failure_is_cut_down_to_a_short_story(bug: str) -> None:
    seed, invariant = FOUND_BY[bug]
    with planted(bug):
        failed = play(draw_history(seed))
        shrunk = Shrinking(failed).shrink()
    assert invariant in {violation.invariant for violation in shrunk.violations}
    assert len(shrunk.history.steps) < len(failed.history.steps)
    story = tell(shrunk, "python -m leeward.sim --history story.json")
    assert len(story.splitlines()) <= STORY_LINES
    assert "Replay: python -m leeward.sim --history story.json" in story
