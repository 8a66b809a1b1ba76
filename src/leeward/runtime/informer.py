"""A cache that follows one kind of one API server by list and watch.

The cache is what the server said last, never more: a failing request changes nothing in it, so an absence in a
synced cache is a fact and an outage is not (Holds: S5). Of an object that cannot be read it keeps what it knew of it
(`tolerant_reads`). `remember` lets a controller read its own writes at once.

When it lists again is said by its `Follower`.
A server of others is given a `CacheBudget`, and bounds on the time and size of a list. Beyond them what is known stays.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kubeapi.errors import TooLarge
from kubeapi.loop.randomness import Randomness
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.client import Client, Page, Unreachable, WatchEvent
from leeward.client.bounds import MAX_LIST_SECONDS
from leeward.runtime.cache_budget import CacheBudget
from leeward.runtime.change_handlers import ChangeHandler, ChangeHandlers
from leeward.runtime.follower import Follower
from leeward.runtime.identity import Key, is_over, key_of, uid_of, version_of
from leeward.runtime.informer_cache import InformerCache, without_owned_fields
from leeward.runtime.informer_limits import InformerLimits
from leeward.runtime.list_bounds import EventPace, Listing, keyed, size_of
from leeward.runtime.packing import CachedObject
from leeward.runtime.tolerant_reads import TolerantReads

T = TypeVar("T")
log = logging.getLogger(__name__)

SYNC_TIMEOUT_SECONDS = 10.0


@dataclass(slots=True)
class ListAdoption(Generic[T]):
    """A list that is being taken in: `known` are the entries from before it, `found` its keys so far.

    `has_told` says whether the server is known to have been restored, and that was told.
    """

    known: Mapping[Key, CachedObject[T]]
    found: set[Key] = field(default_factory=set[Key])
    listed_at: int = 0
    restored: bool = False
    has_told: bool = False

    def begin(self, listed_at: int, version: int) -> None:
        """A page has come that is of the revision `listed_at`, where all up to `version` was known before."""
        self.listed_at, self.restored = listed_at, listed_at < version


class Informer(Follower[Resource[T]], Generic[T]):
    """Start `run` as a task; handlers are called with (old, new), None for an absence, in the server's order."""

    def __init__(
        self,
        client: Client,
        resource: Resource[T],
        randomness: Randomness,
        namespace: str = "",
        budget: CacheBudget | None = None,
        bookmarks: bool = True,
        restored: Callable[[], None] = lambda: None,
        limits: InformerLimits | None = None,
    ) -> None:
        """`restored` is called when a list shows that its server was restored."""
        limits = limits or InformerLimits()
        super().__init__(resource, randomness, budget, limits.turns)
        self._restored = restored
        self._bookmarks = bookmarks
        self._sizes: dict[Key, int] = {}
        self._client = TolerantReads(client, resource)
        self._namespace = namespace
        self._objects = InformerCache(resource.object_type, limits.recent)
        self._outdated: set[Key] = set()
        """Keys of what a restored server has in a state that cannot be read: known by versions that say nothing now."""
        self._version = 0
        self._handlers = ChangeHandlers[T](resource.plural)

    @property
    def synced(self) -> bool:
        """Tells whether the server's whole list has been seen once."""
        return self._synced.is_set()

    @property
    def current(self) -> bool:
        """Tells whether nothing that is known has to be listed again (`wait_current`)."""
        return self._listed.is_set()

    @property
    def version(self) -> int:
        """The server's revision up to which all is known here."""
        return self._version

    def doubt(self) -> None:
        """Has the list seen again before what is known counts as complete."""
        self._listed.clear()
        self._synced.clear()

    @property
    def unreadable(self) -> Mapping[Key, Manifest]:
        """Objects that are there and cannot be read; of those that could be once, the last state is kept."""
        return self._client.unreadable

    async def wait_synced(self, timeout_seconds: float = SYNC_TIMEOUT_SECONDS) -> None:
        """Raises: Unreachable when the server's list has not been seen in time."""
        if self.synced:
            return
        await self._wait(self._synced, timeout_seconds)

    async def wait_current(self, timeout_seconds: float = SYNC_TIMEOUT_SECONDS) -> None:
        """Waits until nothing that is known has to be listed again: a server that could not be reached for a while may
        be another one by now. Raises: Unreachable."""
        await self._wait(self._listed, timeout_seconds)

    async def _wait(self, event: asyncio.Event, timeout_seconds: float) -> None:
        if event.is_set():
            return
        try:
            async with asyncio.timeout(timeout_seconds):
                await event.wait()
        except TimeoutError:
            raise Unreachable(f"no list of {self.resource.plural} yet") from None

    def get(self, name: str, namespace: str = "") -> T | None:
        return self._objects.get(Key(namespace, name))

    def list(self, namespace: str | None = None) -> Iterator[T]:
        """All objects, or those of one namespace."""
        return self._objects.list(namespace)

    def list_outlines(self, needed: Callable[[T], bool]) -> Iterator[T]:
        """All objects, without what is packed of them (`packing.py`) but where it is `needed`."""
        return self._objects.list_outlines(needed)

    def all_keys(self) -> Sequence[Key]:
        """Keys of all objects, which costs less than the objects."""
        return self._objects.all_keys()

    def on_change(self, handler: ChangeHandler[T], scope: Key | None = None) -> Callable[[], None]:
        """Calls `handler` for every later change, and now for every object that is there.

        `scope` is the one object that it is for, or with an empty name the one namespace. Returns a function that ends
        this. What a handler raises is logged and goes no further.
        """
        return self._handlers.add(handler, scope, self._within(scope))

    def _within(self, scope: Key | None) -> Iterator[T]:
        if scope is None or not scope.name:
            return self.list(None if scope is None else scope.namespace)
        found = self.get(scope.name, scope.namespace)
        return iter(() if found is None else (found,))

    def remember(self, obj: T) -> None:
        """Takes in the answer to an own write, unless the watch has told as much already."""
        if version_of(obj) > self._version:
            self._put(obj)

    async def _list(self) -> None:
        """Takes in a list of the control plane page by page: all of a long one in memory takes four times as much room
        as the cache has in the end. A list of others is taken in when it is known to be within the bounds.

        Raises: TooLarge, after which nothing of a list of others is kept.
        """
        adoption: ListAdoption[T] = ListAdoption(self._objects.entries())
        found: dict[Key, T] = {}
        sizes: dict[Key, int] = {}
        listing = Listing(self._budget, sum(self._sizes.values()), len(self._sizes))
        token = ""
        try:
            async with asyncio.timeout(None if self._budget is None else MAX_LIST_SECONDS):
                while True:
                    page = await self._pages.read(token)
                    objects, object_sizes = await keyed(page.items, measured=self._budget is not None)
                    listing.count(len(page.items), sum(object_sizes.values()), page.continue_token == token != "")
                    adoption.begin(int(page.resource_version or 0), self._version)
                    if self._budget is None:
                        await self._adopt(adoption, objects, object_sizes)
                    else:
                        found.update(objects)
                        sizes.update(object_sizes)
                    token = page.continue_token
                    if not token:
                        break
        except TimeoutError:
            raise TooLarge(f"a list that has no end after {MAX_LIST_SECONDS:g} s") from None
        await self._adopt(adoption, found, sizes)
        await self._leave_out(adoption)
        self._version = adoption.listed_at
        self._complete()

    async def _read_page(self, limit: int, token: str) -> Page[T]:
        return await self._client.list(self.resource, self._namespace, limit=limit, continue_token=token)

    async def _adopt(self, adoption: ListAdoption[T], found: dict[Key, T], sizes: dict[Key, int]) -> None:
        """Takes in what is in a list, but for own writes since: piece by piece, each object in one go. After versions
        that ran backwards (a server restored from a backup, or another one) nothing of what was known counts."""
        if adoption.restored and not adoption.has_told:
            adoption.has_told = True
            self._restored()
        for key, obj in found.items():
            await self._turns.take()
            entry = self._objects.entry(key)
            old = None if entry is None else entry.read()
            is_known = old is not None and entry is adoption.known.get(key)
            if old is not None and is_known and (adoption.restored or is_over(old, obj, adoption.listed_at)):
                if not adoption.has_told and uid_of(old) == uid_of(obj):
                    adoption.has_told = True
                    self._restored()
                self._replace(key, obj, sizes.get(key, 0))
            else:
                self._put(obj, sizes.get(key, 0))
            adoption.found.add(key)

    async def _leave_out(self, adoption: ListAdoption[T]) -> None:
        """Removes what is not in the list, but for own writes since. It comes last, so that whoever runs in between
        never misses what is there.

        What is there and cannot be read stays as it was until something of it is read, or it is not there any more
        (Holds: S5).
        """
        for key, old in self._objects.entries().items():
            await self._turns.take()
            if key in adoption.found:
                continue
            if key in self._client.unreadable:
                self._outdated.update((key,) if adoption.restored else ())
                continue
            counts_no_more = old is adoption.known.get(key) and (adoption.restored or key in self._outdated)
            is_gone = counts_no_more or old.version <= adoption.listed_at
            if is_gone and self._objects.entry(key) is old:
                self._remove(key)

    async def _watch(self) -> bool:
        """Takes in events until the server ends the stream. Returns whether any came."""
        told = False
        self.health.begins()
        pace = EventPace(self._budget is not None)
        version, opened = str(self._version), self.health.opens
        events = self._client.watch(
            self.resource, self._namespace, resource_version=version, bookmarks=self._bookmarks, opened=opened
        )
        async with aclosing(events):
            async for event in events:
                told = True
                await self._hear()
                self._take(event)
                await pace.wait()
        return told

    def _take(self, event: WatchEvent[T]) -> None:
        """Raises: TooLarge when the object is beyond the budget."""
        version = int(event.resource_version or 0)
        if event.object is not None and event.type == "DELETED":
            self._delete(key_of(event.object), version)
        elif event.object is not None:
            key, size = key_of(event.object), 0 if self._budget is None else size_of(event.object)
            if self._budget is not None:
                self._budget.check(max(size - self._sizes.get(key, 0), 0), key not in self._objects)
            self._put(event.object, size)
        self._version = max(self._version, version)

    def _put(self, obj: T, size: int = 0) -> None:
        key = key_of(obj)
        known = self._objects.entry(key)
        if known is not None and key in self._outdated:
            self._remove(key)
            known = None
        if known is not None and known.version >= version_of(obj):
            return
        old, obj = None if known is None else known.read(), without_owned_fields(obj)
        self._objects.put(key, obj)
        if self._budget is not None:
            self._budget.take(size - self._sizes.get(key, 0), old is None)
            self._sizes[key] = size
        self._handlers.tell(key, old, obj)

    def _replace(self, key: Key, obj: T, size: int) -> None:
        """Replaces an object, whatever the versions say. It is told as the end of the one and the beginning of the
        other, in one go: what was done about the old state may be undone in this one."""
        self._remove(key)
        self._put(obj, size)

    def _delete(self, key: Key, version: int) -> None:
        """Removes the object unless it has been made anew since, and is remembered."""
        old = self._objects.entry(key)
        if old is not None and old.version <= version:
            self._remove(key)

    def _remove(self, key: Key) -> None:
        old = self._objects.pop(key)
        self._outdated.discard(key)
        if self._budget is not None:
            self._budget.take(-self._sizes.pop(key, 0), -1)
        self._handlers.tell(key, old, None)
