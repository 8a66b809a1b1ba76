"""The headline of a what-if, in a grammar that fits the number of applications."""

from datetime import UTC, datetime

import pytest

from leeward.answers.return_losses import ReturnLosses
from leeward.answers.what_if import ApplicationFate, Fate, WhatIf
from leeward.answers.what_if_sentences import answer_of

ONE = {
    Fate.NO_ROOM: "finds no room (2 of 3 replicas)",
    Fate.HELD: "is held (2 of 3 replicas)",
    Fate.CHANGED: "finds room",
    Fate.MOVES: "finds room",
    Fate.KEPT: "is kept in place",
    Fate.STAYS: "stays where it is",
}


def answer(*fates: Fate) -> str:
    applications = [ApplicationFate("Deployment default/web", "default/web", fate, {}, {}, 3, 2) for fate in fates]
    now = datetime(2026, 1, 1, tzinfo=UTC)
    told = WhatIf(
        "test",
        now,
        ["a"],
        [],
        [],
        applications,
        clusters=[],
        instants=[],
        losses=ReturnLosses({}),
        braked=False,
        cut_off=False,
        settings_told=True,
    )
    return answer_of(told)


@pytest.mark.parametrize("fate", Fate)
def test_one_application_is_told_of_by_itself(fate: Fate) -> None:
    assert answer(fate) == f"1 application is concerned: it {ONE[fate]}"


@pytest.mark.parametrize(
    ("fates", "said"),
    [
        ((), "no application is concerned"),
        ((Fate.MOVES, Fate.STAYS), "all of 2 applications find room or stay"),
        ((Fate.MOVES, Fate.KEPT), "all of 2 applications find room or stay; 1 of them is kept in place"),
        ((Fate.NO_ROOM, Fate.MOVES), "1 of 2 applications finds no room (2 of 6 replicas)"),
        ((Fate.HELD, Fate.HELD, Fate.MOVES), "2 of 3 applications are held (4 of 9 replicas)"),
    ],
)
def test_several_are_counted(fates: tuple[Fate, ...], said: str) -> None:
    assert answer(*fates) == said
