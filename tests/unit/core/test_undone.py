"""Pauses between writes that somebody undoes, and who that is."""

from typing import Any

import pytest

from leeward.core.execution.undone import (
    LONGEST_PAUSE_SECONDS,
    QUIET_SECONDS,
    LastWrite,
    by_whom,
    note_write,
    pause_left,
)


def undone_at_once(times: int) -> list[float]:
    """Instants at which the same contents are written if each write is undone in the same instant."""
    now, last, writes = 0.0, None, list[float]()
    for _ in range(times):
        now += pause_left(last, "a", now)
        last = note_write(last, "a", now)
        writes.append(now)
    return writes


def test_the_first_drift_is_mended_at_once_and_then_each_pause_is_twice_as_long() -> None:
    assert undone_at_once(7) == [0, 0, 1, 3, 7, 15, 31]


def test_the_longest_pause_is_bounded() -> None:
    writes = undone_at_once(60)
    assert writes[-1] - writes[-2] == LONGEST_PAUSE_SECONDS


def test_when_the_pause_is_over_there_is_nothing_left_of_it() -> None:
    last = LastWrite("a", 100.0, undone=3)
    assert [pause_left(last, "a", now) for now in (100.0, 103.5, 104.0, 200.0)] == [4.0, 0.5, 0.0, 0.0]


def test_other_contents_do_not_wait() -> None:
    last = LastWrite("a", 0.0, undone=9)
    assert pause_left(last, "a", 1.0) > 0
    assert pause_left(last, "b", 1.0) == 0
    assert note_write(last, "b", 1.0).undone == 0


def test_a_write_that_has_stood_is_forgotten() -> None:
    last = LastWrite("a", 0.0, undone=9)
    assert note_write(last, "a", QUIET_SECONDS).undone == 10
    assert note_write(last, "a", QUIET_SECONDS + 1).undone == 0


def entry(manager: str, time: str = "", **more: str) -> dict[str, str]:
    return {"manager": manager, **({"time": time} if time else {}), **more}


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (None, ""),
        ([], ""),
        ([entry("kubectl", "2026-01-01T00:00:00Z")], " by kubectl"),
        ([entry("b", "2026-01-02T00:00:00Z"), entry("a", "2026-01-01T00:00:00Z")], " by b"),
        ([entry("b", "2026-01-01T00:00:00Z"), entry("a")], " by b"),
        ([entry("b", "2026-01-01T00:00:00Z"), entry("kubelet", "2026-01-02T00:00:00Z", subresource="status")], " by b"),
        ([entry("a"), entry("b", "2026-01-01T00:00:00Z")], " by b"),
        ([{"time": "2026-01-01T00:00:00Z"}], ""),
        ([entry("b", "2026-01-01T00:00:00Z"), {"time": "2026-01-02T00:00:00Z"}], ""),
        ([entry("kubelet", "2026-01-02T00:00:00Z", subresource="status")], ""),
    ],
)
def test_who_has_changed_an_object_last(entries: Any, said: str) -> None:
    assert by_whom({"metadata": {"managedFields": entries}}) == said


def test_of_an_object_whose_server_names_nobody_nothing_is_said() -> None:
    assert by_whom({"metadata": {}}) == ""
