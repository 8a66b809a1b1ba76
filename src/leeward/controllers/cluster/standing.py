"""Keeps the record of a Cluster's taints, tells who takes them off, and bounds how often they are written again.

Decides nothing (`core.cluster_health.standing_taints`).
"""

from collections.abc import Awaitable, Callable
from datetime import datetime

from msgspec.structs import replace

from kubeapi.core import Taint
from kubeapi.diff import status_patch
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.cluster import Cluster
from leeward.api.resource import CLUSTERS
from leeward.api.taint_record import NO_RECORD
from leeward.core.cluster_health.condition_taints import TaintKey
from leeward.core.cluster_health.standing_taints import (
    SOMEBODY,
    TaintsWrite,
    note_undone,
    note_write,
    record_taints,
    removal_told,
    removed_taints,
    removers_of,
    with_record,
)
from leeward.runtime.controller_context import ControlPlane, Recorder

CLUSTER_MANIFESTS: Resource[Manifest] = Resource.of_manifests(
    CLUSTERS.api_version, CLUSTERS.plural, CLUSTERS.kind, CLUSTERS.namespaced
)
"""Clusters with all that the API server notes of them."""
NOTHING: frozenset[TaintKey] = frozenset()
Patch = Callable[..., Awaitable[Cluster]]


class StandingTaints:
    """Bounded by the number of clusters: `forget` those that are gone."""

    def __init__(self, plane: ControlPlane, recorder: Recorder, patch: Patch) -> None:
        self._plane = plane
        self._recorder = recorder
        self._patch = patch
        self._writes: dict[str, TaintsWrite] = {}
        self._unwritten: dict[str, frozenset[TaintKey]] = {}
        """Taints that are recorded, and written next: nobody has taken these off, whether or not the writes succeed."""

    def forget(self, name: str) -> None:
        self._writes.pop(name, None)
        self._unwritten.pop(name, None)

    async def keep_record(self, cluster: Cluster, tainted: Cluster, outage_since: datetime | None) -> Cluster:
        """Writes the record of the taints of `tainted`, before they are written. Raises: WorldError."""
        now = self._plane.clock.now()
        record = record_taints(cluster, tainted, outage_since)
        removed = removed_taints(cluster) - self._unwritten.get(cluster.name, NOTHING)
        names: list[str] = []
        if removed:
            found = await self._plane.client.get(CLUSTER_MANIFESTS, cluster.name)
            named = removers_of(found, self._plane.client.field_manager, cluster.taint_record.outage_since)
            names = named or ([SOMEBODY] if cluster.name in self._writes else [])
        status = with_record(cluster.status, record, names, now)
        if status == cluster.status:
            return cluster
        self._unwritten[cluster.name] = removed_taints(replace(cluster, status=status)) - removed
        updated = await self._patch(cluster, status_patch(cluster.status, status), "status")
        told = removal_told(status)
        if told and told != removal_told(cluster.status):
            self._recorder.warning(CLUSTERS, updated, "TaintsRemovedByOthers", told)
        return updated

    async def drop_record(self, cluster: Cluster) -> Cluster:
        """Removes a record that nobody keeps here, and so nobody may believe. Raises: WorldError."""
        status = with_record(cluster.status, NO_RECORD, (), self._plane.clock.now())
        if status == cluster.status:
            return cluster
        return await self._patch(cluster, status_patch(cluster.status, status), "status")

    def pause(self, cluster: Cluster, taints: tuple[Taint, ...]) -> float:
        """Seconds until these may be written: none, unless others undo the same write again and again."""
        now = self._plane.clock.monotonic()
        undone = note_undone(self._writes.get(cluster.name), taints, now)
        if undone is None:
            return 0.0
        self._writes[cluster.name] = undone
        return undone.left(now)

    def written(self, cluster: Cluster, taints: tuple[Taint, ...]) -> bool:
        """Notes a write. Tells whether it is another than the last one, and no repetition."""
        before = self._writes.get(cluster.name)
        self._writes[cluster.name] = note_write(before, taints, self._plane.clock.monotonic())
        self._unwritten.pop(cluster.name, None)
        return before is None or before.taints != self._writes[cluster.name].taints
