"""Removals that are held back: what `core.execution.removal` says of a Work, with what is known of the fleet now."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

import msgspec

from kubeapi.meta import wire_time
from leeward.api.resource import CLUSTERS
from leeward.api.work import Binding, Work
from leeward.core.cluster_health.watched_time import UNKEPT
from leeward.core.execution.removal import is_removal_held
from leeward.runtime.brake import BrakeView
from leeward.runtime.heartbeat import HeartbeatView
from leeward.runtime.plane import ControlPlane

FOLLOWS_WITHIN = timedelta(seconds=60)
"""So long after the return of a control plane its controllers may still write what they knew before."""


class RemovalHolds:
    """`enabled` False: nothing is ever held, as in Karmada. Without a heartbeat somebody has always watched; without a
    brake it is never engaged."""

    def __init__(
        self,
        plane: ControlPlane,
        heartbeat: HeartbeatView | None = None,
        brake: BrakeView | None = None,
        *,
        enabled: bool = True,
    ) -> None:
        self.enabled = enabled
        self._clock = plane.clock
        self._clusters = plane.informers.of(CLUSTERS)
        self._heartbeat = heartbeat
        self._brake = brake

    async def wait_synced(self) -> None:
        """Raises: Unreachable."""
        for view in (self._heartbeat, self._brake):
            if self.enabled and view is not None:
                await view.wait_synced()

    def on_change(self, look: Callable[[], None]) -> None:
        """Has this called when somebody watches again, and when the brake changes."""
        for view in (self._heartbeat, self._brake):
            if self.enabled and view is not None:
                view.on_change(look)

    @property
    def is_braked(self) -> bool:
        return self.enabled and self._brake is not None and self._brake.brake.engaged

    def is_doubtful(self, work: Work) -> bool:
        """Whether a Work whose binding is gone stays, because nobody watched for a while since it was made, or shortly
        before: a control plane that was restored from a backup may know less than who wrote it, and what it does not
        know runs on (decision 57). `leeward orphans` lists it. Holds: S5, S13."""
        made_at = work.metadata.creation_timestamp
        attention = self._heartbeat.attention() if self.enabled and self._heartbeat is not None else UNKEPT
        return made_at is not None and attention.time.has_gap_since(made_at - FOLLOWS_WITHIN)

    def would_hold(self, binding: Binding, cluster: str, present: Mapping[str, Work]) -> bool:
        """Whether the Work in `cluster` would keep its objects if it were deleted now."""
        metadata = msgspec.structs.replace(present[cluster].metadata, deletion_timestamp=wire_time(self._clock.now()))
        deleted = msgspec.structs.replace(present[cluster], metadata=metadata)
        return self.is_held(binding, cluster, {**present, cluster: deleted})[0]

    def is_held(self, binding: Binding, cluster: str, present: Mapping[str, Work]) -> tuple[bool, datetime | None]:
        """Whether the Work in `cluster`, which is being deleted, keeps its objects; and when to look again."""
        if not self.enabled:
            return False, None
        fleet = {found.name: found for found in self._clusters.list()}
        attention = self._heartbeat.attention() if self._heartbeat is not None else UNKEPT
        now = self._clock.now()
        held = is_removal_held(binding.spec, cluster, present, fleet, attention, now, brake=self.is_braked)
        return held, attention.settles_at(now) if held else None
