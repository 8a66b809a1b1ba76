"""Handlers of changes: each is told what it is for, and nothing else."""

import logging

import pytest

from controller_runtime.change_handlers import ChangeHandler, ChangeHandlers
from controller_runtime.identity import Key

A_B, A_C, B_B = Key("a", "b"), Key("a", "c"), Key("b", "b")


def noting(name: str, told: list[str]) -> ChangeHandler[str]:
    return lambda old, new: told.append(f"{name}: {old} -> {new}")


def test_those_of_an_object_of_its_namespace_and_of_everything_are_told_and_no_others() -> None:
    handlers, told = ChangeHandlers[str]("things"), list[str]()
    handlers.add(noting("all", told), None, ())
    for scope in (Key("a", ""), Key("b", ""), A_B, A_C, B_B):
        handlers.add(noting(str(scope), told), scope, ())
    handlers.tell(A_B, "old", "new")
    assert told == ["all: old -> new", "a/: old -> new", "a/b: old -> new"]


def test_of_a_kind_without_namespaces_those_of_the_object_are_told() -> None:
    handlers, told = ChangeHandlers[str]("things"), list[str]()
    handlers.add(noting("m1", told), Key("", "m1"), ())
    handlers.add(noting("m2", told), Key("", "m2"), ())
    handlers.tell(Key("", "m1"), None, "new")
    assert told == ["m1: None -> new"]


def test_a_new_one_is_told_what_is_there_and_one_that_ended_nothing_more() -> None:
    handlers, told = ChangeHandlers[str]("things"), list[str]()
    end = handlers.add(noting("a/", told), Key("a", ""), ("one", "two"))
    stays = handlers.add(noting("stays", told), Key("a", ""), ())
    end()
    handlers.tell(A_B, "one", None)
    assert told == ["a/: None -> one", "a/: None -> two", "stays: one -> None"]
    stays()
    handlers.tell(A_B, None, "three")
    assert told[3:] == []


def test_one_that_ends_while_it_is_told_hides_the_change_from_no_other() -> None:
    def ending(old: str | None, new: str | None) -> None:
        ends[0]()

    handlers, told = ChangeHandlers[str]("things"), list[str]()
    ends = [handlers.add(ending, A_B, ())]
    handlers.add(noting("next", told), A_B, ())
    handlers.tell(A_B, "old", "new")
    assert told == ["next: old -> new"]


def test_what_one_raises_is_logged_and_hides_the_change_from_no_other(caplog: pytest.LogCaptureFixture) -> None:
    def broken(old: str | None, new: str | None) -> None:
        raise ValueError("broken")

    handlers, told = ChangeHandlers[str]("things"), list[str]()
    handlers.add(broken, None, ())
    handlers.add(noting("next", told), None, ())
    with caplog.at_level(logging.ERROR):
        handlers.tell(A_B, "old", "new")
    assert told == ["next: old -> new"]
    assert "a handler of things failed" in caplog.text
