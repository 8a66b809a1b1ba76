"""Writes statuses: what several controllers have to say of one object, and soon say anew, is one write.

A change is a function from status to status, so that it can be made to whatever is there when it is written. What a
writer has said and is not written yet is replaced by what it says next. Everything is written within a moment, unless
it is one of a burst: then progress and bookkeeping, which nobody acts upon, wait for what comes of them. An object is
written once at a time. Nothing is remembered beyond that: who is told of a failure reconciles again.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

import msgspec

from controller_runtime.burst_detector import BurstDetector
from controller_runtime.identity import Key, key_of, uid_of, version_of
from controller_runtime.informer import Informer
from controller_runtime.informers import Informers
from kubeapi.diff import status_patch
from kubeapi.loop import Supervisor
from kubeapi.meta import Manifest, TypedObject
from kubeapi.resource import Resource
from kubeclient import Client, NotFound, NotServed, WorldError

T = TypeVar("T")

NEWS_SECONDS = 0.1
PROGRESS_SECONDS = 20.0
"""A copy is mostly up sooner, and all that led to it is told in one write: that it is well, or has failed, is news."""
BOOKKEEPING_SECONDS = 60.0
"""Seconds that may pass, at most, before it is written that something was seen, or that nothing is known of it yet."""
BURST_SIZE, BURST_SECONDS = 16, 10.0
"""Number of objects of a kind, and seconds, that make a burst where something is said of so many within this time, or
waits: a mass failover, no idle fleet. It is one until there have been fewer for as long.
"""
AT_ONCE = 8
"""Number of statuses of a kind that are written at once. The others go on to collect what is said: a busy server
hears less of progress, and sooner of what has to be done.
"""
Change = Callable[[Any], Any]
"""Function from status to status, of the kind's own type."""


@dataclass(frozen=True)
class StatusChange(Generic[T]):
    """Change of a status, with callbacks for a failure and for the write: `on_written` gets the object before and
    after."""

    change: Change
    on_failure: Callable[[WorldError], None]
    on_written: Callable[[T, T], None] | None = None


@dataclass(slots=True)
class _Batch(Generic[T]):
    """Statuses of one object that wait to be written, by writer, until `due` (in a burst: `due_in_burst`) by the loop's
    clock. `written`: no more."""

    uid: str
    due: float
    due_in_burst: float
    sooner: asyncio.Event = field(default_factory=asyncio.Event)
    written: asyncio.Event = field(default_factory=asyncio.Event)
    by_writer: dict[str, StatusChange[T]] = field(default_factory=dict[str, Any])
    _before: T | None = None
    _expected: T | None = None
    """State of `_before` with all that was said."""

    @property
    def changes(self) -> list[Change]:
        return [each.change for each in self.by_writer.values()]

    def add(self, writer: str, change: StatusChange[T]) -> None:
        self.by_writer[writer] = change
        self._before = self._expected = None

    def begin(self, writer: str, change: StatusChange[T], obj: T, status: Any) -> None:
        """Says the first of the batch, of which it is known that it gives `obj` this `status`."""
        self.by_writer[writer] = change
        self._before, self._expected = obj, _with_status(obj, status)

    def expected(self, obj: T) -> T:
        """`obj` with the status that it is to have. Many ask for it between two words about it."""
        if self._expected is None or self._before is not obj:
            self._before, self._expected = obj, _with_status(obj, _after(obj, self.changes))
        return self._expected


class Statuses(Generic[T]):
    """Writer of the statuses of one kind. It holds at most one batch for each object; writing ends with the
    supervisor."""

    def __init__(
        self,
        client: Client,
        resource: Resource[T],
        informer: Informer[T],
        supervisor: Supervisor,
        burst: int = BURST_SIZE,
    ) -> None:
        self._client = client
        self._resource = resource
        self._informer = informer
        self._supervisor = supervisor
        self._batches: dict[Key, _Batch[T]] = {}
        self._under_way: dict[Key, _Batch[T]] = {}
        self._most = burst
        self._burst = BurstDetector(burst, BURST_SECONDS)
        self._burst_until = 0.0
        self._turns = asyncio.Semaphore(AT_ONCE)

    def post(
        self,
        obj: T,
        writer: str,
        change: StatusChange[T],
        *,
        within: float,
        is_paced: bool = False,
        left_for: float = 0.0,
    ) -> None:
        """Has the change made to the object's status, where it changes anything; in a burst `within` so many seconds.

        An object that is gone, or replaced by another, has no status to write any more. `is_paced`: it makes no burst,
        since its writer spreads what it says. `left_for`: seconds in which another process is expected to write it.
        """
        now = asyncio.get_running_loop().time()
        key, due_in_burst = key_of(obj), now + within
        due = due_in_burst if self._is_burst(now) else min(due_in_burst, now + NEWS_SECONDS)
        due, due_in_burst = due + left_for, due_in_burst + left_for
        batch = self._batches.get(key)
        if batch is None or batch.uid != uid_of(obj):
            expected = self.expected(obj)
            status = change.change(_status_of(expected))
            if not status_patch(_status_of(expected), status):
                return
            batch = self._batches[key] = _Batch[T](uid_of(obj), due, due_in_burst)
            batch.begin(writer, change, expected, status)
            if not is_paced:
                self._burst.add(key, now)
            self._supervisor.start(self._write_when_due(key, batch), f"status of {self._resource.kind} {key}")
        else:
            batch.add(writer, change)
        batch.due_in_burst = min(batch.due_in_burst, due_in_burst)
        if due < batch.due:
            batch.due = due
            batch.sooner.set()

    def expect_burst(self) -> None:
        """Has the next ones count as a burst: who decides about many at once knows it before the first is written."""
        self._burst_until = asyncio.get_running_loop().time() + BURST_SECONDS

    @property
    def is_burst(self) -> bool:
        """Tells whether much is being said of this kind, so that whoever has time had better wait."""
        return self._is_burst(asyncio.get_running_loop().time())

    def _is_burst(self, now: float) -> bool:
        """Tells whether there are many, for as long as they wait for a slow server, and for a moment after."""
        if self._burst.is_there(now) or len(self._batches) >= self._most:
            self._burst_until = now + BURST_SECONDS
        return now < self._burst_until

    def expected(self, obj: T) -> T:
        """`obj`, of a type of ours, with its status after all pending writes."""
        key = key_of(obj)
        for batch in (self._under_way.get(key), self._batches.get(key)):
            if batch is not None and batch.uid == uid_of(obj):
                obj = batch.expected(obj)
        return obj

    async def _write_when_due(self, key: Key, batch: _Batch[T]) -> None:
        await self._wait_until_due(batch)
        while (earlier := self._under_way.get(key)) is not None:
            await earlier.written.wait()
        async with self._turns:
            if self._batches.get(key) is batch:
                del self._batches[key]
            self._under_way[key] = batch
            try:
                await self._write(key, batch)
            except WorldError as error:
                for change in batch.by_writer.values():
                    change.on_failure(error)
            finally:
                if self._under_way.get(key) is batch:
                    del self._under_way[key]
                batch.written.set()

    async def _wait_until_due(self, batch: _Batch[T]) -> None:
        """Waits until the batch is due. The first of a burst are not known to be such before others follow, and wait as
        they do."""
        loop = asyncio.get_running_loop()
        while loop.time() < batch.due:
            batch.sooner.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(batch.due):
                    await batch.sooner.wait()
            if loop.time() >= batch.due and self._is_burst(loop.time()):
                batch.due = max(batch.due, batch.due_in_burst)

    async def _write(self, key: Key, batch: _Batch[T]) -> None:
        latest = self._informer.get(key.name, key.namespace)
        if latest is None or uid_of(latest) != batch.uid:
            return
        patch = status_patch(_status_of(latest), _status_of(batch.expected(latest)))
        if not patch:
            return
        version = str(version_of(latest))
        try:
            written = await self._client.patch(
                self._resource, key.name, patch, key.namespace, subresource="status", resource_version=version
            )
        except NotServed:
            raise
        except NotFound:
            return
        self._informer.remember(written)
        for change in batch.by_writer.values():
            if change.on_written is not None:
                change.on_written(latest, written)


def _after(obj: object, changes: Iterable[Change]) -> Any:
    status = _status_of(obj)
    for change in changes:
        status = change(status)
    return status


def _status_of(obj: object) -> Any:
    return cast(Any, obj).status if isinstance(obj, TypedObject) else cast(Manifest, obj).get("status", {})


def _with_status(obj: T, status: Any) -> T:
    if isinstance(obj, TypedObject):
        return cast(T, msgspec.structs.replace(cast(Any, obj), status=status))
    return cast(T, {**cast(Manifest, obj), "status": status})


class StatusWriters:
    """Writers of statuses, one for each kind of one API server, shared by all controllers of a process.

    `processes` divide the objects of a kind among them: each of them sees its part of a burst.
    """

    def __init__(self, client: Client, informers: Informers, supervisor: Supervisor, processes: int = 1) -> None:
        self._client = client
        self._informers = informers
        self._supervisor = supervisor
        self._burst = -(-BURST_SIZE // processes)
        self._writers: dict[tuple[str, str, str], Statuses[Any]] = {}

    def expect_burst(self) -> None:
        """Expects a burst: so many objects are about to change, of whatever kind."""
        for writer in self._writers.values():
            writer.expect_burst()

    def of(self, resource: Resource[T], namespace: str = "") -> Statuses[T]:
        """Statuses of a kind in all namespaces, or in one."""
        key = (resource.api_version, resource.plural, namespace)
        if key not in self._writers:
            informer = self._informers.of(resource, namespace)
            burst = BURST_SIZE if namespace else self._burst
            self._writers[key] = Statuses(self._client, resource, informer, self._supervisor, burst)
        return cast(Statuses[T], self._writers[key])
