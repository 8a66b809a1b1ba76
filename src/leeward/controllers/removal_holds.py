"""Removals that are held back: what `core.execution.removal` says of a Work, with what is known of the fleet now."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from kubeapi.loop.clock import Clock
from leeward.api.cluster import Cluster
from leeward.api.work import Binding, Work
from leeward.core.cluster_health.watched_time import UNKEPT
from leeward.core.execution.removal import is_removal_held
from leeward.runtime.heartbeat import HeartbeatView
from leeward.runtime.informer import Informer

FOLLOWS_WITHIN = timedelta(seconds=60)
"""So long after the return of a control plane its controllers may still write what they knew before."""


class RemovalHolds:
    """`enabled` False: nothing is ever held, as in Karmada. Without a heartbeat somebody has always watched."""

    def __init__(
        self, clock: Clock, clusters: Informer[Cluster], heartbeat: HeartbeatView | None, *, enabled: bool
    ) -> None:
        self.enabled = enabled
        self._clock = clock
        self._clusters = clusters
        self._heartbeat = heartbeat

    def on_change(self, look: Callable[[], None]) -> None:
        """Has this called when somebody watches again."""
        if self.enabled and self._heartbeat is not None:
            self._heartbeat.on_change(look)

    def is_doubtful(self, work: Work) -> bool:
        """Whether a Work whose binding is gone stays, because nobody watched for a while since it was made, or shortly
        before: a control plane that was restored from a backup may know less than who wrote it, and what it does not
        know runs on (decision 57). `leeward orphans` lists it. Holds: S5, S13."""
        made_at = work.metadata.creation_timestamp
        attention = self._heartbeat.attention() if self.enabled and self._heartbeat is not None else UNKEPT
        return made_at is not None and attention.time.has_gap_since(made_at - FOLLOWS_WITHIN)

    def is_held(self, binding: Binding, cluster: str, present: Mapping[str, Work]) -> tuple[bool, datetime | None]:
        """Whether the Work in `cluster`, which is being deleted, keeps its objects; and when to look again."""
        if not self.enabled:
            return False, None
        fleet = {found.name: found for found in self._clusters.list()}
        attention = self._heartbeat.attention() if self._heartbeat is not None else UNKEPT
        now = self._clock.now()
        held = is_removal_held(binding.spec, cluster, present, fleet, attention, now)
        return held, attention.settles_at(now) if held else None
