"""Longer and longer pauses, and one line for each change."""

import logging

import pytest

from leeward.runtime.retrying import Backoff, Trouble


def test_pauses_grow_to_a_bound_and_begin_anew() -> None:
    pauses = Backoff(1.0, 5.0)
    assert [pauses.next_seconds() for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    pauses.reset()
    assert pauses.next_seconds() == 1.0


def test_a_failure_is_told_when_it_begins_when_it_changes_and_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    trouble = Trouble(logging.getLogger("test"), "joining")
    trouble.is_over()
    for reason in ("refused", "refused", TimeoutError(), "refused"):
        trouble.tell(reason)
    trouble.is_over()
    trouble.is_over()
    assert caplog.messages == [
        "joining: refused",
        "joining: TimeoutError",
        "joining: refused",
        "joining: it works again",
    ]
