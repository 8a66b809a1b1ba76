"""Turns of the templates that get their first conditions."""

from datetime import UTC, datetime, timedelta

from controller_runtime.identity import Key
from leeward.controllers.binding.first_conditions import APART, LOOKS_AGAIN, SETTLES, FirstConditions

NOW = datetime(2026, 11, 22, tzinfo=UTC)
KEYS = [Key("default", f"app-{number}") for number in range(100)]


def turn_of(turns: FirstConditions, key: Key) -> datetime:
    at = turns.look_at(key, NOW)
    assert at is not None
    return at


def test_turns_begin_when_a_process_has_settled_and_come_five_in_a_second() -> None:
    turns = FirstConditions()
    assert not any(turns.take_turn(key, NOW, may_tell=True) for key in KEYS)
    assert [turn_of(turns, key) for key in KEYS] == [NOW + SETTLES + APART * number for number in range(100)]
    assert not any(turns.take_turn(key, NOW + SETTLES / 2, may_tell=True) for key in KEYS), (
        "asked again, none is sooner"
    )
    assert turn_of(turns, KEYS[99]) == NOW + SETTLES + APART * 99


def test_a_turn_in_which_nothing_may_be_told_is_followed_by_a_later_one() -> None:
    turns = FirstConditions()
    turns.take_turn(KEYS[0], NOW, may_tell=True)
    turn = turn_of(turns, KEYS[0])
    assert not turns.take_turn(KEYS[0], turn, may_tell=False)
    assert turn_of(turns, KEYS[0]) == turn + LOOKS_AGAIN, "never one that has passed, which would be asked for at once"
    assert not turns.take_turn(KEYS[0], turn + timedelta(seconds=1), may_tell=True)
    assert turns.take_turn(KEYS[0], turn + LOOKS_AGAIN, may_tell=True)
    assert turns.take_turn(KEYS[0], turn + LOOKS_AGAIN + timedelta(seconds=1), may_tell=True), "until it is written"


def test_who_takes_the_conditions_off_does_not_get_them_again_until_the_binding_is_another() -> None:
    turns = FirstConditions()
    turns.take_turn(KEYS[0], NOW, may_tell=True)
    assert turns.take_turn(KEYS[0], NOW + SETTLES, may_tell=True)
    turns.told(KEYS[0])
    assert not turns.take_turn(KEYS[0], NOW + timedelta(days=1), may_tell=True)
    assert turns.look_at(KEYS[0], NOW) is None
    turns.forget(KEYS[0])
    turns.take_turn(KEYS[0], NOW + timedelta(days=1), may_tell=True)
    assert turn_of(turns, KEYS[0]) > NOW + timedelta(days=1)
