"""The loop in which one kind of one API server is followed: a list, watches from there, and a pause where that fails.

A server that could not be reached for a while may come back with other contents (restored from a backup, or made
anew), whose versions may have passed the last known one by then. So it is listed again, where one that only broke a
stream is followed from where it was. client-go trusts the version in both cases.

What is listed and watched is kept by an `Informer` or a `Reflector`. Keeps no object itself.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from contextlib import nullcontext, suppress
from typing import Any, Generic, TypeVar

from controller_runtime.cache_budget import CacheBudget
from controller_runtime.list_bounds import Pages
from controller_runtime.retrying import asked_seconds
from controller_runtime.watch_health import WatchHealth
from kubeapi.errors import TooLarge
from kubeapi.loop import Randomness, Turns
from kubeapi.resource import Resource
from kubeclient import Expired, NotFound, Page, TooManyRequests, Unreachable, WorldError

R = TypeVar("R", bound=Resource[Any])
log = logging.getLogger(__name__)

PAGE_SIZE = 500
FIRST_RETRY_SECONDS = 0.1
LAST_RETRY_SECONDS = 5.0
FIRST_EXCESS_RETRY_SECONDS, LAST_EXCESS_RETRY_SECONDS = 30.0, 300.0
"""Seconds of the first and the last pause after a list that was too large: to read it again costs as much again."""


class Follower(ABC, Generic[R]):
    """Start `run` as a task. A `budget` is for a server of others; `turns` are those of all followers."""

    def __init__(self, resource: R, randomness: Randomness, budget: CacheBudget | None, turns: Turns | None) -> None:
        self.resource = resource
        self.health = WatchHealth()
        self._budget = budget
        self._pages = Pages(self._read_page, PAGE_SIZE, shrink=budget is not None)
        self._randomness = randomness
        self._listed = asyncio.Event()
        """Set while what is known is followed from a list; cleared when it has to be listed again."""
        self._is_excessive = False
        self._misses = 0
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._hurry = asyncio.Event()
        self._synced = asyncio.Event()
        self._turns = turns or Turns()
        self._fails = False
        self._is_new = True
        """Tells whether nothing was ever listed, nor was it tried."""

    @property
    def is_failing(self) -> bool:
        """Tells whether the last attempt to list, or to watch, came to nothing."""
        return self._fails

    def hurry(self) -> None:
        """Ends a pause between two attempts: there is reason to believe that the server answers again.

        One that has answered too much is not asked earlier for that.
        """
        if self._is_excessive:
            return
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._hurry.set()

    async def run(self) -> None:
        """Follows the server until cancelled."""
        while True:
            try:
                if not self._listed.is_set():
                    await self._list_before_late()
                self._recovered()
                is_told = await self._watch()
                self.health.succeeds()
                self._misses = 0
                if is_told:
                    continue
            except (Expired, NotFound) as error:
                self._listed.clear()
                log.debug("must list %s again: %s", self.resource.plural, error)
            except Unreachable as error:
                self._misses += 1
                if self._misses > 1:
                    self._listed.clear()
                log.debug("cannot follow %s: %s", self.resource.plural, error)
            except TooLarge as error:
                self._exceeded(error)
            except TooManyRequests as error:
                log.info("cannot follow %s yet: %s", self.resource.plural, error)
                await self._pause(asked_seconds(error))
                continue
            except WorldError as error:
                log.warning("cannot follow %s: %s", self.resource.plural, error)
            except Exception:
                self._listed.clear()
                log.exception("cannot follow %s", self.resource.plural)
            await self._pause()

    async def _list_before_late(self) -> None:
        """Lists. The first list of each kind holds late work, which needs most of them. Raises: as `_list`."""
        is_first, self._is_new = self._is_new, False
        with self._turns.late_hold.held() if is_first else nullcontext():
            await self._list()

    @abstractmethod
    async def _list(self) -> None:
        """Makes what the server lists the known state, and says so (`_complete`). Raises: TooLarge, after which nothing
        of a list of others is kept; WorldError."""

    @abstractmethod
    async def _watch(self) -> bool:
        """Takes in events until the server ends the stream. Returns whether any came. Raises: TooLarge; WorldError."""

    @abstractmethod
    async def _read_page(self, limit: int, token: str) -> Page[Any]: ...

    def _complete(self) -> None:
        """The list has been taken in."""
        self._listed.set()
        self._misses = 0
        self._fails = False
        self._synced.set()

    async def _hear(self) -> None:
        """An event has come; others have a turn before it is taken in."""
        self.health.succeeds()
        self._misses = 0
        self._fails = False
        self._retry_seconds = FIRST_RETRY_SECONDS
        await self._turns.take()

    def _exceeded(self, error: TooLarge) -> None:
        """Lists again after a pause; until then the known state stays."""
        self._listed.clear()
        self._is_excessive = True
        self._retry_seconds = min(max(self._retry_seconds, FIRST_EXCESS_RETRY_SECONDS), LAST_EXCESS_RETRY_SECONDS)
        log.warning("cannot follow %s: %s", self.resource.plural, error)
        if self._budget is not None:
            self._budget.exceed(self.resource.plural, str(error))

    def _recovered(self) -> None:
        if self._is_excessive:
            self._is_excessive = False
            self._retry_seconds = FIRST_RETRY_SECONDS
        if self._budget is not None:
            self._budget.recover(self.resource.plural)

    async def _pause(self, asked: float = 0.0) -> None:
        """Pauses before the next attempt; for the seconds that the server has asked for, nobody hurries it."""
        self.health.fails()
        self._fails = True
        self._hurry.clear()
        delay = self._randomness.jitter(self._retry_seconds)
        last = LAST_EXCESS_RETRY_SECONDS if self._is_excessive else LAST_RETRY_SECONDS
        self._retry_seconds = min(self._retry_seconds * 2, last)
        if asked:
            await asyncio.sleep(asked)
        with suppress(TimeoutError):
            async with asyncio.timeout(max(delay - asked, 0.0)):
                await self._hurry.wait()
