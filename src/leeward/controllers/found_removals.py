"""Removals that were found: Works that were being deleted already when this process first saw them.

Such a deletion may be as old as a backup, and what it rests on, too. Whoever may hold it, the binding controller, is
given time to do so, which begins when the heartbeat of the controllers was renewed since: an agent may follow a
restored control plane for long before they do (decisions 48 and 56). The heartbeat is asked for only while something
waits. Holds: S1, S13.
"""

import asyncio
from datetime import datetime, timedelta

from leeward.api.names import HEARTBEAT_NAME, SYSTEM_NAMESPACE
from leeward.api.resource import LEASES
from leeward.api.work import Work
from leeward.client import Forbidden, NotFound, NotServed
from leeward.controllers.member_objects import ROUNDING_SECONDS
from leeward.core.execution.settling import (
    RENEWAL_POLL_SECONDS,
    FoundRemoval,
    HeartbeatKept,
    HeartbeatSeen,
    found_left,
    note_heartbeat,
)
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.identity import version_of


class FoundRemovals:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._found: dict[str, tuple[str, FoundRemoval]] = {}
        """Removals, with the uid of the Work, by its name. As many as there are Works that are being deleted."""
        self._asking = asyncio.Lock()
        self._read: tuple[float, HeartbeatSeen] | None = None
        """The heartbeat, and when it was asked for."""
        self._was_kept = False

    def note(self, old: Work | None, new: Work) -> None:
        """A change of a Work, as the cache tells it.

        A Work in the place of another one, which is being deleted, may be from a backup: then nobody has seen it asked
        for either.
        """
        if new.metadata.deletion_timestamp is None:
            self.forget(new.name)
        elif old is None or old.metadata.uid != new.metadata.uid:
            self._found[new.name] = new.metadata.uid, FoundRemoval(self._plane.clock.monotonic())

    def forget(self, name: str) -> None:
        """Forgets the removal of a Work that is gone, or whose removal is carried out."""
        self._found.pop(name, None)

    def has(self, work: Work) -> bool:
        """Tells whether the removal of the Work was found."""
        return self._found.get(work.name, ("", None))[0] == work.metadata.uid

    async def look_at(self, work: Work) -> datetime | None:
        """Instant at which to look again at the deletion of the Work; None when it may be carried out.

        Nothing is carried out on what was read before somebody was asked: who asks looks again. Raises: WorldError.
        """
        uid, found = self._found.get(work.name, ("", None))
        if found is None or uid != work.metadata.uid:
            return None
        has_asked = found.watched_at is None
        if has_asked:
            seen = await self._heartbeat(found.at)
            found = note_heartbeat(found, seen, self._plane.clock.monotonic())
            if self._found.get(work.name, ("", None))[0] == uid:
                self._found[work.name] = uid, found
        left = found_left(found, self._plane.clock.monotonic())
        return self._plane.clock.now() + timedelta(seconds=left + ROUNDING_SECONDS) if has_asked or left > 0 else None

    async def _heartbeat(self, since: float) -> HeartbeatSeen:
        """Heartbeat as it was read after `since`, a moment ago or now. Raises: WorldError."""
        async with self._asking:
            asked_at = self._plane.clock.monotonic()
            if self._read is None or self._read[0] < max(since, asked_at - RENEWAL_POLL_SECONDS):
                self._read = asked_at, await self._ask()
            return self._read[1]

    async def _ask(self) -> HeartbeatSeen:
        """A Lease that was kept, and is gone, will be made again. Raises: WorldError."""
        try:
            lease = await self._plane.client.get(LEASES, HEARTBEAT_NAME, SYSTEM_NAMESPACE)
        except Forbidden:
            return HeartbeatSeen(HeartbeatKept.UNTOLD)
        except NotServed:
            raise
        except NotFound:
            return HeartbeatSeen(HeartbeatKept.KEPT if self._was_kept else HeartbeatKept.UNKEPT)
        self._was_kept = bool(lease.spec.holder_identity)
        return HeartbeatSeen(HeartbeatKept.KEPT if self._was_kept else HeartbeatKept.UNKEPT, version_of(lease))
