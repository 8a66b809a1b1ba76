"""D6 and D9 on journals that were written by hand: what may be forgotten, and what has to be."""

import pytest

from kubecluster.journal import Journal
from kubeserver.store import Record
from leeward.manager.timing import Timing
from simulator.histories.checkers import CompactionChecker, scene_of
from simulator.histories.ground_truth import HOME, GroundTruth
from simulator.histories.model import History

WEB, API = "//configmaps/default/web", "//configmaps/default/api"
WRITES = ((1, WEB, False), (2, API, False), (3, WEB, False), (4, API, True), (5, WEB, False))


def checked(revisions: int, *writes: tuple[int, str, bool]) -> CompactionChecker:
    journal = Journal(lambda: 0.0)
    scene = scene_of(History(seed=0, members=(), steps=()), Timing.karmada(), GroundTruth(journal))
    checker = CompactionChecker(scene, journal, revisions)
    for revision, key, deleted in writes:
        journal.write(HOME, Record(key, revision, b"{}", deleted))
    return checker


@pytest.mark.parametrize(
    ("forgotten", "compacted", "problem"),
    [
        ((1,), 3, ""),
        ((1, 2, 3, 4), 5, ""),
        ((1,), 2, "at 2, which can be read, it is there"),
        ((3,), 4, "at 4, which can be read, it is there"),
        ((2, 4), 3, "its deletion is later than 3"),
        ((4,), 5, "it hides earlier records"),
        ((5,), 5, "it is the newest record of all"),
    ],
)
def test_d6_what_can_still_be_read_is_not_forgotten(forgotten: tuple[int, ...], compacted: int, problem: str) -> None:
    found = [violation.message for violation in checked(10, *WRITES).forgets(HOME, forgotten, compacted)]
    assert any(problem in message for message in found) if problem else found == []


def test_d9_a_store_that_forgets_too_little_is_found() -> None:
    many = [(revision, WEB, False) for revision in range(1, 200)]
    small, large = checked(10, *many), checked(100, *many)
    assert [violation.invariant for violation in small.forgets(HOME, (), 1)] == ["D9"]
    assert list(large.forgets(HOME, (), 1)) == []
