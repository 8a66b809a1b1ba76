"""A reflector follows one kind of one API server by list and watch into a table, and keeps no object itself.

    table   what was read, as little of it as its owner needs; None until the first list is complete

It is for kinds of which a server has too many to keep, and of which only sums are asked for. Where objects are needed,
and their changes, an `Informer` follows them; what becomes of an outage is the same: a failing request changes nothing
in the table, and a list makes another one, which takes the place of the old when it is complete (Holds: S5). A server
that could not be reached for a while is listed again, since it may be another one by now.

Lists come in pages. `resourceVersion=0` would have the server answer from memory, but without regard to the limit
(kube-apiserver's watch cache knows no pages): all of a large cluster in one answer, which is beyond the bounds of one.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import aclosing, suppress
from typing import Any, Generic, Protocol, TypeVar

from kubeapi.errors import TooLarge
from kubeapi.loop.offloading import run_beside
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.turns import Turns
from kubeapi.resource import Resource
from leeward.client import Client, Expired, NotFound, Page, Unreachable, WatchEvent, WorldError
from leeward.client.bounds import MAX_LIST_SECONDS
from leeward.runtime.cache_budget import CacheBudget
from leeward.runtime.informer import (
    FIRST_EXCESS_RETRY_SECONDS,
    FIRST_RETRY_SECONDS,
    LAST_EXCESS_RETRY_SECONDS,
    LAST_RETRY_SECONDS,
    PAGE_SIZE,
)
from leeward.runtime.list_bounds import FEW, EventPace, Listing, Pages
from leeward.runtime.watch_health import WatchHealth

T = TypeVar("T", contravariant=True)
log = logging.getLogger(__name__)


class Table(Protocol[T]):
    """What a reflector fills. `count` and `size`: how many objects it stands for, and its bytes, about."""

    @property
    def count(self) -> int: ...

    @property
    def size(self) -> int: ...

    def put(self, obj: T, /) -> None:
        """Takes in an object, new or changed."""
        ...

    def remove(self, obj: T, /) -> None:
        """Forgets it, in whatever state it is told."""
        ...


B = TypeVar("B", bound=Table[Any])


class Reflector(Generic[B]):
    """Start `run` as a task. `select`: a field selector, so that the server leaves out what nobody counts."""

    def __init__(
        self,
        client: Client,
        resource: Resource[Any],
        make: Callable[[], B],
        randomness: Randomness,
        budget: CacheBudget | None = None,
        select: str = "",
    ) -> None:
        self.resource = resource
        self.table: B | None = None
        self.health = WatchHealth()
        self._client = client
        self._make = make
        self._select = select
        self._randomness = randomness
        self._budget = budget
        self._known = (0, 0)
        """Bytes and objects that the budget was told of."""
        self._pages = Pages(self._read_page, PAGE_SIZE, shrink=True)
        self._is_excessive = False
        self._is_listed = False
        self._version = ""
        self._misses = 0
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._hurry = asyncio.Event()
        self._synced = asyncio.Event()
        self._turns = Turns()

    async def synced(self, timeout_seconds: float) -> B:
        """The table. Raises: Unreachable when the server's list has not been seen in time."""
        if self.table is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_seconds):
                    await self._synced.wait()
        if self.table is None:
            raise Unreachable(f"no list of {self.resource.plural} yet")
        return self.table

    def hurry(self) -> None:
        """As `Informer.hurry`."""
        if not self._is_excessive:
            self._retry_seconds = FIRST_RETRY_SECONDS
            self._hurry.set()

    async def run(self) -> None:
        """Follows the server until cancelled."""
        while True:
            try:
                if not self._is_listed:
                    await self._list()
                self._recovered()
                if await self._watch():
                    continue
            except (Expired, NotFound) as error:
                self._is_listed = False
                log.debug("must list %s again: %s", self.resource.plural, error)
            except Unreachable as error:
                self._misses += 1
                self._is_listed = self._is_listed and self._misses == 1
                log.debug("cannot follow %s: %s", self.resource.plural, error)
            except TooLarge as error:
                self._exceeded(error)
            except WorldError as error:
                log.warning("cannot follow %s: %s", self.resource.plural, error)
            except Exception:
                self._is_listed = False
                log.exception("cannot follow %s", self.resource.plural)
            await self._pause()

    async def _list(self) -> None:
        """Raises: TooLarge, after which nothing of the list is kept."""
        table = self._make()
        listing = Listing(self._budget, *self._known)
        token = ""
        try:
            async with asyncio.timeout(MAX_LIST_SECONDS):
                while True:
                    page = await self._pages.read(token)
                    before = table.size
                    await _fill(table, page.items)
                    repeats = page.continue_token == token != ""
                    listing.count(len(page.items), table.size - before, repeats)
                    token = page.continue_token
                    if not token:
                        break
        except TimeoutError:
            raise TooLarge(f"a list that has no end after {MAX_LIST_SECONDS:g} s") from None
        self._adopt(table, page.resource_version)

    async def _read_page(self, limit: int, token: str) -> Page[Any]:
        return await self._client.list(self.resource, field_selector=self._select, limit=limit, continue_token=token)

    def _adopt(self, table: B, version: str) -> None:
        self.table = table
        self._account(table)
        self._version = version
        self._is_listed = True
        self._misses = 0
        self._synced.set()

    async def _watch(self) -> bool:
        """Takes in events until the server ends the stream. Returns whether any came."""
        table, is_told = self.table, False
        assert table is not None, "what is listed has a table"
        self.health.begins()
        pace = EventPace(self._budget is not None)
        events = self._client.watch(self.resource, resource_version=self._version, field_selector=self._select)
        async with aclosing(events):
            async for event in events:
                is_told = True
                self._answered()
                self._retry_seconds = FIRST_RETRY_SECONDS
                await self._turns.take()
                self._take(table, event)
                await pace.wait()
        self._answered()
        return is_told

    def _answered(self) -> None:
        self.health.succeeds()
        self._misses = 0

    def _take(self, table: B, event: WatchEvent[Any]) -> None:
        """Raises: TooLarge when the table is beyond the budget with it."""
        if event.object is not None:
            (table.remove if event.type == "DELETED" else table.put)(event.object)
            self._account(table)
        self._version = event.resource_version or self._version
        if self._budget is not None:
            self._budget.check(0, 0)

    def _account(self, table: B) -> None:
        known, self._known = self._known, (table.size, table.count)
        if self._budget is not None:
            self._budget.take(self._known[0] - known[0], self._known[1] - known[1])

    def _exceeded(self, error: TooLarge) -> None:
        """Lists again after a pause; until then what is known stays."""
        self._is_listed = False
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

    async def _pause(self) -> None:
        self.health.fails()
        self._hurry.clear()
        delay = self._randomness.jitter(self._retry_seconds)
        last = LAST_EXCESS_RETRY_SECONDS if self._is_excessive else LAST_RETRY_SECONDS
        self._retry_seconds = min(self._retry_seconds * 2, last)
        with suppress(TimeoutError):
            async with asyncio.timeout(delay):
                await self._hurry.wait()


async def _fill(table: Table[Any], objects: Sequence[Any]) -> None:
    """Of many objects beside the loop; nobody else has the table yet."""

    def put_all() -> None:
        for obj in objects:
            table.put(obj)

    await run_beside(put_all) if len(objects) > FEW else put_all()
