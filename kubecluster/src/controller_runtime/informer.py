"""A cache that follows one kind of one API server by list and watch.

The cache is what the server said last, never more: a failing request changes nothing in it, so an absence in a
synced cache is a fact and an outage is not (Holds: S5). Of an object that cannot be read it keeps what it knew of it
(`tolerant_reads`). `remember` lets a controller read its own writes at once.

When it lists again is said by its `Follower`.
A server of others is given a `CacheBudget`, and bounds on the time and size of a list. Beyond them what is known stays.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from controller_runtime.cache_budget import CacheBudget
from controller_runtime.change_handlers import ChangeHandler, ChangeHandlers
from controller_runtime.follower import Follower
from controller_runtime.identity import Key, is_over, key_of, uid_of, version_of
from controller_runtime.informer_cache import InformerCache, without_owned_fields
from controller_runtime.informer_limits import InformerLimits
from controller_runtime.list_bounds import EventPace, Listing, keyed, size_of
from controller_runtime.packing import CachedObject
from controller_runtime.tolerant_reads import TolerantReads
from kubeapi.errors import TooLarge
from kubeapi.loop import Randomness
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, Page, Unreachable, WatchEvent
from kubeclient.bounds import MAX_LIST_SECONDS

T = TypeVar("T")
log = logging.getLogger(__name__)

SYNC_TIMEOUT_SECONDS = 10.0


@dataclass(slots=True)
class Relist(Generic[T]):
    """A list that is becoming the cache.

    `known` are the entries from before it, up to `known_version`; `listed` are its keys so far. `is_restore_told`: that
    the server was restored is known, and was told.
    """

    known: Mapping[Key, CachedObject[T]]
    known_version: int
    listed: set[Key] = field(default_factory=set[Key])
    version: int = 0
    is_restore_told: bool = False

    @property
    def runs_back(self) -> bool:
        """Tells whether the server was restored, or is another one: it knew more before, and what was known counts no
        more. A list is never older than what its server has answered before."""
        return self.version < self.known_version

    def is_gone(self, key: Key, entry: CachedObject[T], *, outdated: bool) -> bool:
        """Tells whether an entry that the list does not have is gone: the list is as new, or the entry is from before
        it, by a version that says nothing any more (the list runs back, or the entry is `outdated`). Holds: S5."""
        is_from_before = entry is self.known.get(key)
        return entry.version <= self.version or (is_from_before and (self.runs_back or outdated))


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
        unread: Callable[[Resource[Any], Manifest], None] = lambda resource, manifest: None,
    ) -> None:
        """`restored` is called when a list shows that its server was restored, `unread` of what cannot be read."""
        limits = limits or InformerLimits()
        super().__init__(resource, randomness, budget, limits.turns)
        self._restored = restored
        self._bookmarks = bookmarks
        self._sizes: dict[Key, int] = {}
        self._client = TolerantReads(client, resource, partial(unread, resource))
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
        """Has the list seen again before the known state counts as complete."""
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
            self._put(obj, 0 if self._budget is None else size_of(obj))

    async def _list(self) -> None:
        """Makes the server's list the cache: that of the control plane page by page, since a long list takes four times
        as much memory as the cache; that of a member when all of it is within the bounds.

        Raises: TooLarge, after which nothing of a member's list is kept; WorldError.
        """
        entries = self._objects.entries()
        relist = Relist(entries, max((self._version, *(entry.version for entry in entries.values()))))
        if self._budget is None:
            async with aclosing(self._read_pages(relist)) as pages:
                async for objects, sizes in pages:
                    await self._adopt(relist, objects, sizes)
        else:
            await self._adopt(relist, *await self._read_within_bounds(relist))
        await self._remove_unlisted(relist)
        self._version = relist.version
        self._complete()

    async def _read_pages(self, relist: Relist[T]) -> AsyncGenerator[tuple[dict[Key, T], dict[Key, int]], None]:
        """Gives the objects of each page, and the size of each. Raises: TooLarge; WorldError."""
        listing = Listing(self._budget, sum(self._sizes.values()), len(self._sizes))
        token = ""
        while True:
            page = await self._pages.read(token)
            objects, sizes = await keyed(page.items, measured=self._budget is not None)
            listing.count(len(page.items), sum(sizes.values()), page.continue_token == token != "")
            relist.version = int(page.resource_version or 0)
            yield objects, sizes
            token = page.continue_token
            if not token:
                return

    async def _read_within_bounds(self, relist: Relist[T]) -> tuple[dict[Key, T], dict[Key, int]]:
        """All objects, and the size of each. Raises: TooLarge; WorldError."""
        found: dict[Key, T] = {}
        found_sizes: dict[Key, int] = {}
        try:
            async with asyncio.timeout(MAX_LIST_SECONDS), aclosing(self._read_pages(relist)) as pages:
                async for objects, sizes in pages:
                    found.update(objects)
                    found_sizes.update(sizes)
        except TimeoutError:
            raise TooLarge(f"a list that has no end after {MAX_LIST_SECONDS:g} s") from None
        return found, found_sizes

    async def _read_page(self, limit: int, token: str) -> Page[T]:
        return await self._client.list(self.resource, self._namespace, limit=limit, continue_token=token)

    async def _adopt(self, relist: Relist[T], found: dict[Key, T], sizes: dict[Key, int]) -> None:
        """Takes in the list, but for own writes since: piece by piece, each object in one go."""
        if relist.runs_back and not relist.is_restore_told:
            relist.is_restore_told = True
            self._restored()
        for key, obj in found.items():
            await self._turns.take()
            entry = self._objects.entry(key)
            old = None if entry is None else entry.read()
            is_from_before = old is not None and entry is relist.known.get(key)
            if old is not None and is_from_before and (relist.runs_back or is_over(old, obj, relist.version)):
                if not relist.is_restore_told and uid_of(old) == uid_of(obj):
                    relist.is_restore_told = True
                    self._restored()
                self._replace(key, obj, sizes.get(key, 0))
            else:
                self._put(obj, sizes.get(key, 0))
            relist.listed.add(key)

    async def _remove_unlisted(self, relist: Relist[T]) -> None:
        """Removes what is not in the list, but for own writes since, until nothing is left of it: the answer to an own
        write from before the list may come late. It follows the last page, so that nobody ever misses what is there.

        What is there and cannot be read stays as it was until something of it is read, or it is not there any more
        (Holds: S5).
        """
        while gone := [key for key, entry in self._objects.entries().items() if self._is_gone(relist, key, entry)]:
            for key in gone:
                await self._turns.take()
                entry = self._objects.entry(key)
                if entry is not None and self._is_gone(relist, key, entry):
                    self._remove(key)
        if relist.runs_back:
            self._outdated.update(key for key in self._client.unreadable if self._objects.entry(key) is not None)

    def _is_gone(self, relist: Relist[T], key: Key, entry: CachedObject[T]) -> bool:
        if key in relist.listed or key in self._client.unreadable:
            return False
        return relist.is_gone(key, entry, outdated=key in self._outdated)

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
