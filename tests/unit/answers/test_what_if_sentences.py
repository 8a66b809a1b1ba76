"""The headline of a what-if, in a grammar that fits the number of applications."""

from datetime import UTC, datetime

import pytest

from leeward.answers.return_losses import ReturnLosses
from leeward.answers.what_if import ApplicationFate, Fate, WhatIf, who_is
from leeward.answers.what_if_sentences import answer_of, brake_sentence

ONE = {
    Fate.CHANGED: "would serve with all replicas",
    Fate.MOVES: "would serve with all replicas",
    Fate.KEPT: "would not move",
    Fate.STAYS: "would stay where it is",
}
WELL, FEWER, NOBODY = 3, 1, 0
"""Replicas that serve, of three."""


def what_if(*served: tuple[Fate, int], waiting: int = 0, braked: bool = False) -> WhatIf:
    applications = [
        ApplicationFate(
            "Deployment default/web",
            "default/web",
            fate,
            {},
            {},
            3,
            3 - serves,
            serves=serves,
            waiting={"a": waiting} if waiting else {},
        )
        for fate, serves in served
    ]
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return WhatIf(
        "test",
        now,
        ["a"],
        [],
        [],
        applications,
        clusters=[],
        instants=[],
        losses=ReturnLosses({}),
        braked=braked,
        cut_off=False,
        settings_told=True,
    )


def answer(*served: tuple[Fate, int], waiting: int = 0) -> str:
    return answer_of(what_if(*served, waiting=waiting))


@pytest.mark.parametrize("fate", ONE)
def test_one_application_is_told_of_by_itself(fate: Fate) -> None:
    assert answer((fate, WELL)) == f"1 application is affected: it {ONE[fate]}"


@pytest.mark.parametrize("fate", Fate)
def test_whatever_becomes_of_an_application_its_service_is_what_is_told(fate: Fate) -> None:
    said = "1 application is affected: it would"
    assert answer((fate, NOBODY)) == f"{said} be down"
    assert answer((fate, FEWER), waiting=2) == f"{said} serve with 1 of 3 replicas, and 2 would wait for a node"


@pytest.mark.parametrize(
    ("served", "said"),
    [
        ((), "no application is affected"),
        (((Fate.MOVES, WELL), (Fate.STAYS, WELL)), "2 of 2 applications would serve with all replicas"),
        (
            ((Fate.MOVES, WELL), (Fate.KEPT, WELL)),
            "2 of 2 applications would serve with all replicas; 1 application would not move",
        ),
        (
            ((Fate.NO_ROOM, NOBODY), (Fate.MOVES, WELL)),
            "1 of 2 applications would be down; in total, 3 of 6 replicas would be missing",
        ),
        (
            ((Fate.STAYS, NOBODY), (Fate.MOVES, FEWER), (Fate.MOVES, WELL)),
            "1 of 3 applications would be down, 1 would serve with fewer replicas; in total, 5 of 9 replicas would be "
            "missing",
        ),
        (
            ((Fate.HELD, FEWER), (Fate.MOVES, WELL)),
            "1 of 2 applications would serve with fewer replicas; in total, 2 of 6 replicas would be missing",
        ),
    ],
)
def test_several_are_counted(served: tuple[tuple[Fate, int], ...], said: str) -> None:
    assert answer(*served) == said


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a"], "a is"),
        (["a", "b"], "a and b are"),
        (["a", "b", "c"], "a, b and c are"),
        (["a", "b", "c", "d"], "a and 3 more are"),
        ([""], " is"),
    ],
)
def test_clusters_are_named_as_in_a_sentence(names: list[str], said: str) -> None:
    assert who_is(names) == said


@pytest.mark.parametrize(
    ("braked", "said"),
    [
        (True, "in this simulation, the brake would stop automatic evictions"),
        (False, "the brake would not stop automatic evictions"),
    ],
)
def test_a_simulated_brake_is_not_taken_for_the_one_that_is(braked: bool, said: str) -> None:
    assert brake_sentence(what_if((Fate.HELD, NOBODY), braked=braked)) == said
