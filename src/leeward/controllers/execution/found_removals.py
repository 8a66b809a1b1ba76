"""Removals that nobody who decides is known to stand behind.

    found      the Work was being deleted already when this process first saw it: the order may be as old as a backup
    unordered  an agent sees the deletion begin, and the controllers have not said that it is theirs: somebody has
               deleted the Work by hand, or its namespace, and its binding may want it

Whoever may hold it, the binding controller, is given time to do so, which begins when the heartbeat of the controllers
was renewed since: an agent may follow a control plane for long before they do (decisions 48, 164). Holds: S1, S5, S13.
"""

import asyncio
from datetime import datetime, timedelta

from controller_runtime import version_of
from kubeapi.core import LEASES
from kubeclient import Forbidden, NotFound, NotServed
from leeward.api.names import HEARTBEAT_NAME, SYSTEM_NAMESPACE, cluster_of_execution_space
from leeward.api.resource import WORKS
from leeward.api.work import Work
from leeward.controllers.execution.member_objects import ROUNDING_SECONDS
from leeward.core.execution.settling import (
    RENEWAL_POLL_SECONDS,
    FoundRemoval,
    HeartbeatKept,
    HeartbeatSeen,
    found_left,
    needs_order,
    note_heartbeat,
)
from leeward.runtime.controller_context import ControlPlane


class FoundRemovals:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._recorder = plane.recorder("execution-controller")
        self._found: dict[str, tuple[str, FoundRemoval]] = {}
        """Removals, with the uid of the Work, by its name. As many as there are Works that are being deleted."""
        self._asking = asyncio.Lock()
        self._read: tuple[float, HeartbeatSeen] | None = None
        """The heartbeat, and when it was asked for: only while something waits."""
        self._was_kept = False

    def note(self, old: Work | None, new: Work, *, pulled: bool = False) -> None:
        """A change of a Work, as the cache tells it; where its cluster is `pulled` its controllers say what they order.

        A Work in the place of another one, which is being deleted, may be from a backup: then nobody has seen it asked
        for either.
        """
        now, uid = self._plane.clock.monotonic(), new.metadata.uid
        if new.metadata.deletion_timestamp is None:
            self.forget(new.name)
        elif old is None or old.metadata.uid != uid:
            self._found[new.name] = uid, FoundRemoval(now)
        elif new.is_removal_ordered and not old.is_removal_ordered:
            self.forget(new.name)
        elif pulled and needs_order(old, new):
            self._found[new.name] = uid, FoundRemoval(now, unordered=True)

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
            if found.unordered and found.version is None and seen.kept is not HeartbeatKept.UNKEPT:
                self._recorder.warning(WORKS, work, "RemovalNotOrdered", _not_ordered(work))
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


def _not_ordered(work: Work) -> str:
    cluster = cluster_of_execution_space(work.namespace)
    return (
        f"Its deletion is no order of the controllers. Its objects stay in cluster {cluster} until these have looked "
        "at it; see that the controller manager runs."
    )
