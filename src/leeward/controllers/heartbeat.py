"""The heartbeat controller: renews the Lease `karmada-system/leeward-heartbeat` as long as this process watches.

It runs beside the cluster controller. A process that starts begins another heartbeat, and so does one that finds that
it was away; what nobody watched meanwhile is written into the Lease. Of two processes at the same time, as for a moment
after a change of the leader, both renew the later heartbeat. Where none is kept, one that was kept before is released,
so that agents do not wait for it. Holds: S13.
"""

import asyncio
import logging
from datetime import datetime

from controller_runtime import version_of
from kubeapi.core import LEASES, NAMESPACES, Lease
from kubeapi.meta import Manifest, format_micro_time
from kubeclient import AlreadyExists, NotFound, NotServed, WorldError
from leeward.api.names import HEARTBEAT_NAME, SETTINGS_ANNOTATION, SYSTEM_NAMESPACE, UNWATCHED_ANNOTATION
from leeward.api.resource import CLUSTERS
from leeward.core.cluster_health.watched_time import (
    ALWAYS,
    BEGINNING,
    STEP,
    Gap,
    bounded,
    gap_between,
    render_gaps,
    was_away,
    watched_time_in,
)
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.heartbeat import HeartbeatView

log = logging.getLogger(__name__)


class HeartbeatController:
    def __init__(self, plane: ControlPlane, view: HeartbeatView, settings: str) -> None:
        """`settings` are told with it, see `core.settings_in_force`."""
        self._plane = plane
        self._view = view
        self._settings = settings
        self._last: tuple[datetime, float] | None = None
        """Beginning of the last renewal that succeeded, by the wall clock and the monotonic one."""
        self._version = 0
        """Version of the Lease that it wrote last."""

    def start(self) -> None:
        self._plane.supervisor.start(self._run(), "heartbeat")

    async def _run(self) -> None:
        while True:
            try:
                await self.renew()
            except WorldError as error:
                log.warning("heartbeat: %s", error)
            except Exception:
                log.exception("heartbeat: the renewal failed")
            await asyncio.sleep(self._view.settings.interval_seconds)

    async def renew(self) -> None:
        """Renews it, or begins another one. Raises: WorldError."""
        await self._view.wait_synced()
        now = self._plane.clock.now(), self._plane.clock.monotonic()
        lease = self._view.object
        begins, gap = self._missed(lease, now)
        if lease is None and self._last is None:
            gap = await self._unknown(now[0])
        try:
            renewed = await self._write(lease, self._renewal(lease, now[0], gap, begins=begins or lease is None))
        except NotServed:
            raise
        except NotFound:
            gap = self._forgotten(lease, now[0])
            renewed = await self._write(None, self._renewal(lease, now[0], gap, begins=True))
        self._view.renewed(renewed, now[1])
        self._version = version_of(renewed)
        if gap is not None:
            log.warning("heartbeat: nobody watched the clusters from %s to %s", gap.start, gap.end)
        self._last = now

    def _missed(self, lease: Lease | None, now: tuple[datetime, float]) -> tuple[bool, Gap | None]:
        """Tells whether another heartbeat begins, and what was not watched. Only processes that go on compare clocks;
        of what this process has seen since its backup a control plane that was restored knows nothing."""
        settings = self._view.settings
        is_restored = lease is not None and version_of(lease) < self._version
        if self._last is not None and not is_restored:
            begins = was_away(self._last, now, settings.fresh_seconds)
            still = self._plane.lag.since(self._last[1])
            return begins, gap_between(self._last, now, settings.longest_seconds, still)
        renewed = lease.spec.renew_time if lease is not None else None
        is_long = renewed is not None and (now[0] - renewed).total_seconds() > settings.longest_seconds
        return True, Gap(renewed, now[0]) if renewed is not None and is_long else None

    def _forgotten(self, lease: Lease | None, now: datetime) -> Gap | None:
        """Time that is not known to have been watched where the Lease is gone: it may be a control plane restored from
        a backup that has none, which knows nothing of what this process has done since."""
        known = lease.spec.renew_time if lease is not None else None
        since = self._last[0] if self._last is not None else known
        return Gap(since, now) if since is not None and since < now else None

    async def _unknown(self, now: datetime) -> Gap | None:
        """Time before now as one gap, where nobody has kept a heartbeat: it may be restored from a backup without one,
        or be another's until now. How old that is says no object: who restores one by one makes each anew. Where the
        control plane is as new as this process, and no cluster has joined, there was nothing. Raises: WorldError.
        """
        namespace = await self._plane.client.get(NAMESPACES, SYSTEM_NAMESPACE)
        made = namespace.metadata.creation_timestamp
        is_old = made is not None and now - made > STEP
        if is_old or (await self._plane.client.list(CLUSTERS, limit=1)).items:
            return Gap(BEGINNING, now)
        return None

    def _renewal(self, lease: Lease | None, now: datetime, gap: Gap | None, *, begins: bool) -> Manifest:
        time = ALWAYS if lease is None else watched_time_in(lease)
        spec = {"renewTime": format_micro_time(now), "leaseDurationSeconds": self._duration_seconds()}
        if begins:
            spec |= {"holderIdentity": self._plane.randomness.uid(), "acquireTime": format_micro_time(now)}
        time = bounded(time if gap is None else time.missing(gap), now)
        annotations = {UNWATCHED_ANNOTATION: render_gaps(time.gaps) or None}
        if lease is None or lease.metadata.annotations.get(SETTINGS_ANNOTATION) != self._settings:
            annotations[SETTINGS_ANNOTATION] = self._settings
        return {"metadata": {"annotations": annotations}, "spec": spec}

    def _duration_seconds(self) -> int:
        return max(1, int(self._view.settings.longest_seconds))

    async def _write(self, lease: Lease | None, renewal: Manifest) -> Lease:
        """Writes the Lease with the resourceVersion that was read: of two that renew it, one reads again. Without one
        it is made.

        Raises: WorldError; NotFound where the Lease is gone.
        """
        if lease is not None:
            version = lease.metadata.resource_version
            return await self._plane.client.patch(
                LEASES, HEARTBEAT_NAME, renewal, SYSTEM_NAMESPACE, resource_version=version
            )
        made = {"metadata": {"name": HEARTBEAT_NAME, "namespace": SYSTEM_NAMESPACE}, "spec": renewal["spec"]}
        annotations = {k: v for k, v in renewal["metadata"]["annotations"].items() if v is not None}
        try:
            return await self._plane.client.create(
                LEASES, {**made, "metadata": {**made["metadata"], "annotations": annotations}}, SYSTEM_NAMESPACE
            )
        except AlreadyExists:
            return await self._plane.client.get(LEASES, HEARTBEAT_NAME, SYSTEM_NAMESPACE)


class HeartbeatRelease:
    """Ends the heartbeat of an earlier configuration, once: who renews none lets nobody wait for it."""

    def __init__(self, plane: ControlPlane, interval_seconds: float) -> None:
        self._plane = plane
        self._interval_seconds = interval_seconds

    def start(self) -> None:
        self._plane.supervisor.start(self._run(), "heartbeat release")

    async def _run(self) -> None:
        while True:
            try:
                await self.release()
                return
            except WorldError as error:
                log.warning("heartbeat: it cannot be released yet: %s", error)
            await asyncio.sleep(self._interval_seconds)

    async def release(self) -> None:
        """Raises: WorldError."""
        client = self._plane.client
        lease = await client.find(LEASES, HEARTBEAT_NAME, SYSTEM_NAMESPACE)
        if lease is None:
            return
        if lease.spec.holder_identity:
            version = lease.metadata.resource_version
            released = {"spec": {"holderIdentity": ""}}
            await client.patch(LEASES, HEARTBEAT_NAME, released, SYSTEM_NAMESPACE, resource_version=version)
