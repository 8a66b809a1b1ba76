"""Trying again calls that the outside world refuses: longer and longer pauses, and one line of the log for each change.

A server that has too much to do is asked no earlier than it wants to be, within reason.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from kubeclient import TooManyRequests, WorldError
from kubeclient.patience import LONGEST_REST_SECONDS


class Backoff:
    """Pauses in seconds: `first`, twice as long each time, at most `last`."""

    def __init__(self, first: float, last: float) -> None:
        self._first = self._next = first
        self._last = last

    def next_seconds(self) -> float:
        seconds, self._next = self._next, min(self._next * 2, self._last)
        return seconds

    def reset(self) -> None:
        self._next = self._first


class Trouble:
    """A failure that may go on for hours: it is told when it begins, when its reason changes, and when it is over."""

    def __init__(self, log: logging.Logger, what: str) -> None:
        self._log = log
        self._what = what
        self._told = ""

    def tell(self, reason: object) -> None:
        text = str(reason) or type(reason).__name__
        if text != self._told:
            self._told = text
            self._log.warning("%s: %s", self._what, text)

    def is_over(self) -> None:
        """Says so when there was one."""
        if self._told:
            self._told = ""
            self._log.info("%s: it works again", self._what)


def asked_seconds(error: WorldError) -> float:
    """Seconds for which a server wants to be left alone, as far as that is granted; 0 for any other failure."""
    return min(error.retry_after_seconds, LONGEST_REST_SECONDS) if isinstance(error, TooManyRequests) else 0.0


async def attempt(work: Callable[[], Awaitable[object]], pauses: Backoff, trouble: Trouble) -> None:
    """Does the work again and again until it succeeds; `trouble` is told of each WorldError."""
    while True:
        try:
            await work()
        except WorldError as error:
            trouble.tell(error)
            await asyncio.sleep(max(pauses.next_seconds(), asked_seconds(error)))
        else:
            trouble.is_over()
            return
