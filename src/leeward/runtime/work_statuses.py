"""Writes the status of Works: what several controllers have to say of one Work within a moment is one write.

A change is a function from status to status, so that it can be made to whatever is there when it is written. Changes
of one Work are made in the order in which they came.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from leeward.api.diff import status_patch
from leeward.api.resource import WORKS
from leeward.api.work import Work, WorkStatus
from leeward.client import Client, NotFound, WorldError
from leeward.loop.supervisor import Supervisor
from leeward.runtime.informer import Informer

MOMENT_SECONDS = 0.1
Change = Callable[[WorkStatus], WorkStatus]


@dataclass(slots=True)
class _Batch:
    written: asyncio.Future[None]
    changes: list[Change] = field(default_factory=list[Change])


class WorkStatuses:
    """It holds at most one batch for each Work. Writing ends with the supervisor."""

    def __init__(self, client: Client, works: Informer[Work], supervisor: Supervisor) -> None:
        self._client = client
        self._works = works
        self._supervisor = supervisor
        self._batches: dict[tuple[str, str], _Batch] = {}

    async def change(self, work: Work, change: Change) -> None:
        """Returns when it is written; at once where there is nothing to write. Raises: Conflict, and other WorldErrors.

        A Work that is gone, or replaced by another, has no status to write any more.
        """
        key = (work.namespace, work.name)
        batch = self._batches.get(key)
        if batch is None:
            if change(work.status) == work.status:
                return
            batch = self._batches[key] = _Batch(asyncio.get_running_loop().create_future())
            self._supervisor.start(self._write_soon(work, batch), f"status of work {work.namespace}/{work.name}")
        batch.changes.append(change)
        await asyncio.shield(batch.written)

    async def _write_soon(self, work: Work, batch: _Batch) -> None:
        try:
            await asyncio.sleep(MOMENT_SECONDS)
            del self._batches[work.namespace, work.name]
            await self._write(work, batch.changes)
        except WorldError as error:
            _fail(batch.written, error)
        except asyncio.CancelledError:
            batch.written.cancel()
            raise
        else:
            batch.written.set_result(None)

    async def _write(self, work: Work, changes: list[Change]) -> None:
        latest = self._works.get(work.name, work.namespace)
        if latest is None or latest.metadata.uid != work.metadata.uid:
            return
        status = latest.status
        for change in changes:
            status = change(status)
        patch = status_patch(latest.status, status)
        if not patch:
            return
        version = latest.metadata.resource_version
        try:
            written = await self._client.patch(
                WORKS, work.name, patch, work.namespace, subresource="status", resource_version=version
            )
        except NotFound:
            return
        self._works.remember(written)


def _fail(future: asyncio.Future[None], error: WorldError) -> None:
    future.set_exception(error)
    future.exception()
