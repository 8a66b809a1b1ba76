"""Patience with a server that puts requests off (429 Too Many Requests): it is asked again when it wants to be.

Such a request was not carried out, whatever its method. kube-apiserver answers so while it has too much to do; since
1.34 also while the watch cache of a new definition fills (`storage is (re)initializing`), as after `leeward init`.

Each attempt goes through the whole transport: a limit gives it another turn, and a fence looks at the lease again
before a write (Holds: S8). Controllers come again by their own queues, and keep no worker waiting: `IMPATIENT`.
"""

import asyncio
import logging
from dataclasses import dataclass

from msgspec.structs import replace

from kubeapi.errors import TooManyRequests

log = logging.getLogger(__name__)

FIRST_REST_SECONDS, LAST_OWN_REST_SECONDS = 0.25, 4.0
"""Pauses of our own, twice as long each time, for a server that asks for shorter ones, or for none."""
LONGEST_REST_SECONDS = 30.0
"""Longest pause that a server is granted; kube-apiserver asks for no longer one."""
TOLD_SECONDS = 5.0
"""Seconds from which on it is worth a warning: who runs a verb wonders what it waits for."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Bounds of asking again: no attempt begins later than `seconds` after the first, and there are `attempts` at
    most."""

    seconds: float = 60.0
    attempts: int = 25


PATIENT = Patience()
IMPATIENT = Patience(seconds=0.0, attempts=1)
"""No patience, of those who come again by themselves."""


class Waiting:
    """Waiting of one request, from its first attempt on."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._begun_at = asyncio.get_running_loop().time()
        self._answers = 0

    async def wait(self, what: str, asked_seconds: float) -> bool:
        """Waits after an answer that puts `what` off, as long as it asks, within reason. Returns whether to ask again;
        False at once where patience would end before."""
        self._answers += 1
        own = min(FIRST_REST_SECONDS * 2 ** (self._answers - 1), LAST_OWN_REST_SECONDS)
        rest = max(min(asked_seconds, LONGEST_REST_SECONDS), own)
        if self._answers >= self._patience.attempts or self._spent_seconds + rest > self._patience.seconds:
            return False
        spent = self._spent_seconds
        level = logging.WARNING if spent < TOLD_SECONDS <= spent + rest else logging.INFO
        log.log(level, "%s was put off by the API server (429 Too Many Requests); it is sent again in %g s", what, rest)
        await asyncio.sleep(rest)
        return True

    def ended(self, error: TooManyRequests) -> TooManyRequests:
        """The error, which says for how long the server was asked, where it was asked more than once."""
        if self._answers <= 1:
            return error
        told = (
            f"{error} (429 Too Many Requests, {self._answers} times in {self._spent_seconds:.0f} s: the API server has "
            "too much to do, or is not ready yet; this request was not carried out, try again later)"
        )
        return TooManyRequests(replace(error.status, message=told))

    @property
    def _spent_seconds(self) -> float:
        return asyncio.get_running_loop().time() - self._begun_at
