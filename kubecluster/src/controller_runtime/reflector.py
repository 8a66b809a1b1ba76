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

from controller_runtime.cache_budget import CacheBudget
from controller_runtime.follower import Follower
from controller_runtime.list_bounds import FEW, EventPace, Listing
from kubeapi.errors import TooLarge
from kubeapi.loop import Randomness, Turns, run_beside
from kubeapi.resource import Resource
from kubeclient import Client, Page, Unreachable, WatchEvent
from kubeclient.bounds import MAX_LIST_SECONDS

T = TypeVar("T", contravariant=True)
log = logging.getLogger(__name__)


class Table(Protocol[T]):
    """Table that a reflector fills. `count` and `size`: how many objects it stands for, and its bytes, about."""

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


class Reflector(Follower[Resource[Any]], Generic[B]):
    """Start `run` as a task. `select`: a field selector, so that the server leaves out what nobody counts."""

    def __init__(
        self,
        client: Client,
        resource: Resource[Any],
        make: Callable[[], B],
        randomness: Randomness,
        budget: CacheBudget | None = None,
        select: str = "",
        turns: Turns | None = None,
    ) -> None:
        super().__init__(resource, randomness, budget, turns)
        self.table: B | None = None
        self._client = client
        self._make = make
        self._select = select
        self._known = (0, 0)
        """Bytes and objects that the budget was told of."""
        self._version = ""

    async def synced(self, timeout_seconds: float) -> B:
        """The table. Raises: Unreachable when the server's list has not been seen in time."""
        if self.table is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_seconds):
                    await self._synced.wait()
        if self.table is None:
            raise Unreachable(f"no list of {self.resource.plural} yet")
        return self.table

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
        self._complete()

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
                await self._hear()
                self._take(table, event)
                await pace.wait()
        return is_told

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


async def _fill(table: Table[Any], objects: Sequence[Any]) -> None:
    """Fills the table, of many objects beside the loop; nobody else has the table yet."""

    def put_all() -> None:
        for obj in objects:
            table.put(obj)

    await run_beside(put_all) if len(objects) > FEW else put_all()
