"""Longer and longer pauses, and one line for each change."""

import asyncio
import logging
from itertools import pairwise

import pytest

from controller_runtime.retrying import Backoff, Trouble, attempt
from kubeapi.loop.virtual import run_virtual
from kubeapi.status import Status, StatusDetails
from kubeclient import TooManyRequests, Unreachable


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


def test_work_is_attempted_until_it_succeeds_and_told_of_meanwhile(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    attempted: list[float] = []

    async def work() -> None:
        attempted.append(asyncio.get_running_loop().time())
        if len(attempted) < 4:
            raise Unreachable("no route")

    async def story() -> None:
        await attempt(work, Backoff(1.0, 2.0), Trouble(logging.getLogger("test"), "joining"))

    run_virtual(story())
    assert [at - attempted[0] for at in attempted] == [0, 1, 3, 5]
    assert caplog.messages == ["joining: no route", "joining: it works again"]


def test_a_fault_of_our_own_is_not_attempted_again() -> None:
    async def work() -> None:
        raise ValueError("a mistake")

    with pytest.raises(ValueError, match="a mistake"):
        run_virtual(attempt(work, Backoff(1.0, 2.0), Trouble(logging.getLogger("test"), "joining")))


def test_a_server_that_has_too_much_to_do_is_asked_no_earlier_than_it_wants() -> None:
    attempted: list[float] = []

    async def work() -> None:
        attempted.append(asyncio.get_running_loop().time())
        if len(attempted) < 4:
            asked = (0, 7, 86_400)[len(attempted) - 1]
            raise TooManyRequests(Status(code=429, details=StatusDetails(retry_after_seconds=asked)))

    async def story() -> None:
        await attempt(work, Backoff(1.0, 2.0), Trouble(logging.getLogger("test"), "joining"))

    run_virtual(story())
    assert [later - earlier for earlier, later in pairwise(attempted)] == [1, 7, 30]
