"""Bounds on what is taken in from one server of others: how long a list is, and how fast a watch tells.

The bounds themselves are in `kubeclient.bounds`; what is kept of all kinds together is in `cache_budget.py`.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from controller_runtime.cache_budget import CacheBudget
from controller_runtime.identity import Key, key_of
from kubeapi import codec
from kubeapi.errors import TooLarge
from kubeapi.loop import run_beside
from kubeclient import Page, TooManyRequests
from kubeclient.bounds import MAX_EVENTS_PER_SECOND, MAX_LIST_OBJECTS, MAX_LIST_PAGES
from kubeclient.patience import IMPATIENT, PATIENT, Waiting

T = TypeVar("T")

SMALLEST_PAGE = 4
FEW = 50
"""Objects that are measured on the loop."""
BURST_EVENTS = 10 * MAX_EVENTS_PER_SECOND
PAUSE_SECONDS = 0.05


class Listing:
    """Counts what a list has brought, against the bounds of a list and the budget of its server, where it has one.

    `known_bytes` and `known_objects` are in the budget already, and are replaced by the list.
    """

    def __init__(self, budget: CacheBudget | None, known_bytes: int, known_objects: int) -> None:
        self._budget = budget
        self._known_bytes, self._known_objects = known_bytes, known_objects
        self._pages = self._objects = self._bytes = 0

    def count(self, objects: int, size: int, repeats: bool) -> None:
        """One page more. Raises: TooLarge."""
        self._pages += 1
        self._objects += objects
        self._bytes += size
        if repeats:
            raise TooLarge("a list whose next page is the one that was just given")
        if self._pages > MAX_LIST_PAGES:
            raise TooLarge(f"a list of more than {MAX_LIST_PAGES} pages")
        if self._budget is None:
            return
        if self._objects > MAX_LIST_OBJECTS:
            raise TooLarge(f"a list of more than {MAX_LIST_OBJECTS} objects")
        self._budget.check(self._bytes - self._known_bytes, self._objects - self._known_objects)


class Pages(Generic[T]):
    """Reads a list page by page: `read` with a limit and a token. Of a server that is not believed to be reasonable
    pages `shrink` until they fit."""

    def __init__(self, read: Callable[[int, str], Awaitable[Page[T]]], size: int, *, shrink: bool) -> None:
        self._read = read
        self._size = size
        self._smallest = SMALLEST_PAGE if shrink else size

    async def read(self, token: str) -> Page[T]:
        """A page that is too large is asked for again as a smaller one. One that is put off (429) is asked for again
        after a while, but for the first: there is nothing yet that would have to be read again.

        Raises: TooLarge when it cannot be smaller.
        """
        waiting = Waiting(PATIENT if token else IMPATIENT)
        while True:
            try:
                return await self._read(self._size, token)
            except TooManyRequests as error:
                if not await waiting.wait("a page of a list", error.retry_after_seconds):
                    raise
            except TooLarge:
                if self._size <= self._smallest:
                    raise
                self._size = max(self._size // 5, SMALLEST_PAGE)


class EventPace:
    """A pause for a server that tells more than can be of use, so that it takes no turns of others (Holds: L4)."""

    def __init__(self, limited: bool) -> None:
        self._left = float(BURST_EVENTS) if limited else math.inf
        self._at = asyncio.get_running_loop().time()

    async def wait(self) -> None:
        self._left -= 1
        if self._left >= 0:
            return
        now = asyncio.get_running_loop().time()
        self._left = min((now - self._at) * MAX_EVENTS_PER_SECOND, BURST_EVENTS)
        self._at = now
        if self._left < 1:
            await asyncio.sleep(PAUSE_SECONDS)


def size_of(obj: object) -> int:
    """Size of an object as it is kept, in bytes of compact JSON."""
    return len(codec.encode(obj))


async def keyed(objects: tuple[T, ...], *, measured: bool) -> tuple[dict[Key, T], dict[Key, int]]:
    """Objects by key, and their sizes where they are `measured`; of many, beside the loop."""

    def found() -> tuple[dict[Key, T], dict[Key, int]]:
        by_key = {key_of(obj): obj for obj in objects}
        return by_key, {key: size_of(obj) for key, obj in by_key.items()} if measured else {}

    return await run_beside(found) if len(objects) > FEW and measured else found()
