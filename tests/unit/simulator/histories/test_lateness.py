"""Lateness that a fault excuses: as much as it can explain, while it can."""

import pytest

from simulator.histories.checkers.lateness import (
    ANSWER_SECONDS,
    CONTROLLERS,
    PROMPT_SECONDS,
    RESUME_SECONDS,
    lateness_of,
    undisturbed,
)
from simulator.histories.model import (
    AnyStep,
    ApiServerIsKilled,
    ControllersAreKilled,
    CutOff,
    History,
    MemberIsSlow,
    MemberStops,
    Partition,
    Rejoin,
    Storm,
)


def history(*steps: AnyStep) -> History:
    return History(seed=0, members=(("m1", "Push"), ("m2", "Pull")), steps=steps)


SLOW_LINES = Storm(at=100, lasts=50, who="controllers", whom="control-plane", lag_seconds=0.5)
LOST_ANSWERS = Storm(at=100, lasts=50, who="controllers", whom="control-plane", rate=0.1, mishaps=("lost",))
REFUSALS = Storm(at=100, lasts=50, who="controllers", whom="control-plane", rate=0.1, mishaps=("busy",))
GONE = ApiServerIsKilled(at=100, lasts=50)


@pytest.mark.parametrize(
    ("step", "since", "due"),
    [
        (MemberStops(at=100, lasts=50, member="m1"), 120, 120 + PROMPT_SECONDS),
        (SLOW_LINES, 90, 90 + PROMPT_SECONDS),
        (SLOW_LINES, 120, 120 + 4 * 0.5 + PROMPT_SECONDS),
        (SLOW_LINES, 149.9, 150 + 4 * 0.5),
        (LOST_ANSWERS, 120, 120 + RESUME_SECONDS + 2 * ANSWER_SECONDS + 0.05 + 0.1 + PROMPT_SECONDS),
        (REFUSALS, 120, 120 + RESUME_SECONDS + 0.05 + 0.1 + PROMPT_SECONDS),
        (GONE, 99.8, 150 + RESUME_SECONDS),
        (GONE, 157, 157 + PROMPT_SECONDS),
        (Partition(at=100, lasts=50, who="agent-m2", whom="control-plane"), 120, 120 + PROMPT_SECONDS),
    ],
)
def test_controllers_are_excused_for_what_lies_on_their_way(step: AnyStep, since: float, due: float) -> None:
    assert lateness_of(history(step)).due(since, CONTROLLERS) == pytest.approx(due)


def test_what_is_known_may_be_as_old_as_the_fault_that_hides_what_is_new() -> None:
    lateness = lateness_of(history(GONE))
    assert lateness.oldest(99, CONTROLLERS) == 99 - PROMPT_SECONDS
    assert lateness.oldest(140, CONTROLLERS) == 100 - PROMPT_SECONDS


def test_who_is_cut_off_from_its_members_cannot_know_of_push_and_pull_members_alike() -> None:
    lateness = lateness_of(history(CutOff(at=100, lasts=50)))
    assert lateness.due(120, CONTROLLERS) == 120 + PROMPT_SECONDS
    assert [lateness.due(120, CONTROLLERS, name) for name in ("m1", "m2")] == [150 + RESUME_SECONDS] * 2


def test_where_most_requests_fail_nobody_must_know_anything_soon() -> None:
    storm = Storm(at=100, lasts=50, who="controllers", whom="m1", rate=0.7, mishaps=("lost",))
    assert lateness_of(history(storm)).due(120, "m1") > 150 + 10 * ANSWER_SECONDS


def test_a_slow_member_makes_only_its_own_work_late() -> None:
    lateness = lateness_of(history(MemberIsSlow(at=100, lasts=50, member="m1", seconds=3)))
    assert lateness.due(120, CONTROLLERS) == 120 + PROMPT_SECONDS
    assert lateness.due(120, CONTROLLERS, "m1") == 120 + 9 + PROMPT_SECONDS


@pytest.mark.parametrize(
    ("step", "calm"),
    [
        (MemberStops(at=1, lasts=1, member="m1"), {"m2"}),
        (Partition(at=1, lasts=1, who="agent-m2", whom="control-plane"), {"m1"}),
        (Partition(at=1, lasts=1, who="controllers", whom="m1"), {"m2"}),
        (Rejoin(at=1, cluster="m1"), {"m2"}),
        (CutOff(at=1, lasts=1), set[str]()),
        (ControllersAreKilled(at=1, lasts=1), set[str]()),
        (SLOW_LINES, set[str]()),
    ],
)
def test_a_member_is_calm_when_nothing_lies_on_its_way(step: AnyStep, calm: set[str]) -> None:
    assert undisturbed(history(step)) == calm
