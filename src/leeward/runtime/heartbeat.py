"""Heartbeat of who watches the clusters, as every controller sees it: the Lease `karmada-system/leeward-heartbeat`.

    HeartbeatView   whether it was renewed a moment ago, by our own monotonic clock; the gaps; who was away ourselves
    FailedProbes    when a probe of this process found a cluster failing

Whose clock shows what does not matter: a renewal counts when it is received. But when a control plane is back, one of
long ago may be news: it comes later after the one before than who made them let pass between them, and counts as so
much older. Who was away ourselves (a machine that was suspended, a process that was stopped or busy, a wall clock that
has stepped) finds renewals of long ago in its sockets; so one counts again only when half an interval has passed.
Holds: S13.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isinf

from controller_runtime import Informers, version_of
from kubeapi.core import LEASES, Lease
from kubeapi.loop import Clock, EventLoopLag
from leeward.api.names import HEARTBEAT_NAME, SYSTEM_NAMESPACE
from leeward.core.cluster_health.watched_time import STEP, UNKEPT, Attention, Gap, was_away, watched_time_in


@dataclass(frozen=True, slots=True)
class HeartbeatSettings:
    """A renewal is believed for `fresh_seconds`, and who was away for longer, or stood still for an interval, has to
    look again. Time that was not watched does not count when it is longer than `longest_seconds`, nor any in which the
    process that watches stood still. After `settle_seconds` all was looked at again.

    `kept_here`: this process renews it. `enabled` False: no heartbeat counts, as in Karmada.
    """

    interval_seconds: float = 5
    fresh_seconds: float = 15
    longest_seconds: float = 40
    settle_seconds: float = 20
    kept_here: bool = False
    enabled: bool = True


class HeartbeatView:
    def __init__(
        self, informers: Informers, clock: Clock, settings: HeartbeatSettings, lag: EventLoopLag | None = None
    ) -> None:
        self.settings = settings
        self._lag = lag or EventLoopLag()
        self.awake_since = float("-inf")
        """Instant, by the monotonic clock, at which this process was found to have been away, itself."""
        self._clock = clock
        self._leases = informers.of(LEASES, SYSTEM_NAMESPACE)
        self._lease: Lease | None = None
        self._looked: tuple[datetime, float] | None = None
        self._received = self._counted = float("-inf")
        """Instants, by the monotonic clock, at which it was renewed last, and up to which our own stalls are in its
        gaps."""
        self._heard = float("-inf")
        """Instant at which a renewal was heard of last, of whenever it was."""
        self._began = float("-inf")
        self._handlers: list[Callable[[], None]] = []
        self._told: tuple[object, ...] = ()
        self._leases.on_change(self._lease_changed)

    @property
    def object(self) -> Lease | None:
        return self._lease

    @property
    def began(self) -> float:
        """Instant at which the present heartbeat was first seen here, by the monotonic clock."""
        return self._began

    async def wait_synced(self) -> None:
        """Raises: Unreachable."""
        await self._leases.wait_synced()

    def attention(self) -> Attention:
        """Attention of now, by which clusters are believed. While nobody watches, all time since the last renewal
        is a gap."""
        lease, settings = self._lease, self.settings
        if not settings.enabled or (lease is None and not settings.kept_here):
            return UNKEPT
        is_now = self._is_now()
        if not is_now:
            self._told = ()
        if lease is None:
            return Attention(heartbeat="", is_now=False)
        time, now = watched_time_in(lease), self._clock.now()
        time, renewed = time.until(now), lease.spec.renew_time
        if not is_now and renewed is not None:
            time = time.missing(Gap(renewed, now))
        elif (still := timedelta(seconds=self._lag.since(self._counted))) > STEP:
            time = time.missing(Gap(now - still, now))
        return Attention(time, lease.spec.holder_identity, is_now, self._settled_at(lease))

    def renewed(self, lease: Lease, began: float) -> None:
        """Takes in that this process has just renewed it; the renewal `began` then, by the monotonic clock."""
        self._leases.remember(lease)
        self._take(lease)
        self._counted = began

    def on_change(self, changed: Callable[[], None]) -> None:
        """Has this called when another heartbeat has begun, and when somebody watches again."""
        self._handlers.append(changed)

    def _settled_at(self, lease: Lease) -> datetime | None:
        begun = lease.spec.acquire_time
        return None if begun is None else begun + timedelta(seconds=self.settings.settle_seconds)

    def _is_now(self) -> bool:
        self._look()
        since = self._clock.monotonic() - self._received
        counts = self._received >= self.awake_since + self.settings.interval_seconds / 2
        return self._lease is not None and counts and since <= self.settings.fresh_seconds

    def _look(self) -> None:
        """Finds out whether this process was away since the last look, or stood still."""
        now, before = (self._clock.now(), self._clock.monotonic()), self._looked
        self._looked = now
        if before is not None and (was_away(before, now, self.settings.fresh_seconds) or self._stood_still(before[1])):
            self.awake_since = now[1]

    def _stood_still(self, since: float) -> bool:
        """Tells whether for so long that data in our sockets may be old."""
        return any(stall.seconds >= self.settings.interval_seconds for stall in self._lag.stalls_since(since))

    def _lease_changed(self, old: Lease | None, new: Lease | None) -> None:
        """Takes in a Lease. What is there already when we start was renewed by someone before us, and so was what a
        control plane holds that was restored from a backup; one that is deleted is made again."""
        if new is None or new.name != HEARTBEAT_NAME:
            return
        if old is None and self._lease is None:
            self._lease = new
            self._began = self._clock.monotonic()
        elif self._lease is not None and version_of(new) < version_of(self._lease):
            self._lease = new
            self._began = self._clock.monotonic()
            self._received = self._counted = float("-inf")
            self._told = ()
        elif self._lease is None or new.spec.renew_time != self._lease.spec.renew_time:
            self._take(new)

    def _take(self, lease: Lease) -> None:
        self._look()
        before, self._lease = self._lease, lease
        if before is None or before.spec.holder_identity != lease.spec.holder_identity:
            self._began = self._clock.monotonic()
        now = self._clock.monotonic()
        self._received = self._counted = now - self._late_seconds(before, lease, now)
        self._heard = now
        news = (lease.spec.holder_identity, self._is_now())
        if news != self._told:
            self._told = news
            for changed in self._handlers:
                changed()

    def _late_seconds(self, before: Lease | None, lease: Lease, now: float) -> float:
        """Seconds by which a renewal heard of at `now` is older than that; 0 within the time that one is believed."""
        if before is None or before.spec.holder_identity != lease.spec.holder_identity:
            return 0.0
        then, renewed = before.spec.renew_time, lease.spec.renew_time
        if then is None or renewed is None or isinf(self._heard):
            return 0.0
        late = now - self._heard - (renewed - then).total_seconds()
        return late if late > self.settings.fresh_seconds else 0.0


class FailedProbes:
    """Instants at which a probe of this process last found each cluster failing, by the monotonic clock."""

    def __init__(self) -> None:
        self._failed: dict[str, float] = {}
        self._handlers: list[Callable[[str], None]] = []

    def failed(self, name: str, at: float) -> None:
        self._failed[name] = at
        for handler in self._handlers:
            handler(name)

    def forget(self, name: str) -> None:
        self._failed.pop(name, None)

    def failed_since(self, name: str, since: float) -> bool:
        return self._failed.get(name, float("-inf")) >= since

    def on_failure(self, handler: Callable[[str], None]) -> None:
        self._handlers.append(handler)
