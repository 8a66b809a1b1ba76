"""The moment after a cluster's return in which nothing that was pending is deleted."""

from datetime import UTC, datetime, timedelta

import pytest

from leeward.core.execution.settling import (
    LONGEST_SETTLE_SECONDS,
    POLL_SECONDS,
    SETTLE_SECONDS,
    Return,
    note_return,
    settling_left,
)

BACK = datetime(2026, 1, 1, tzinfo=UTC)


def test_it_begins_when_the_taints_of_the_outage_are_gone() -> None:
    tainted = note_return(None, BACK, tainted=True, now=10.0)
    assert settling_left(tainted, 10.0) == POLL_SECONDS
    clear = note_return(tainted, BACK, tainted=False, now=11.0)
    assert clear == Return(BACK, 10.0, 11.0)
    assert settling_left(clear, 11.0) == pytest.approx(SETTLE_SECONDS)
    assert settling_left(clear, 11.001 + SETTLE_SECONDS) == 0
    assert note_return(clear, BACK, tainted=True, now=11.1) == clear, "it begins once"


def test_it_is_bounded_whatever_taints_there_are() -> None:
    tainted = note_return(None, BACK, tainted=True, now=10.0)
    assert settling_left(tainted, 10.0 + LONGEST_SETTLE_SECONDS - 0.05) == pytest.approx(0.05)
    assert settling_left(tainted, 10.0 + LONGEST_SETTLE_SECONDS) == 0
    late = note_return(tainted, BACK, tainted=False, now=14.9)
    assert settling_left(late, 15.0) == 0


def test_each_return_has_its_own() -> None:
    first = note_return(None, BACK, tainted=False, now=10.0)
    second = note_return(first, BACK + timedelta(seconds=60), tainted=False, now=70.0)
    assert settling_left(first, 70.0) == 0
    assert settling_left(second, 70.0) == pytest.approx(SETTLE_SECONDS)
