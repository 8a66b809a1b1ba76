"""The work status controller of one member: what the member says of the applied objects, written into their Works.

The condition `leeward.dev/Reflected` says which generation of the Work the statuses belong to: health that was
reported before the Work's present contents were applied is no health (Holds: S1).

Karmada: pkg/controllers/status/work_status_controller.go; drift is mended by the execution controller, which follows
the same objects.
"""

from datetime import datetime

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.diff import status_patch
from leeward.api.meta import Condition, Manifest, annotations_of, find_condition, remove_condition, set_condition
from leeward.api.names import (
    REFLECTED_CONDITION,
    WORK_GENERATION_ANNOTATION,
    execution_space,
)
from leeward.api.resource import CLUSTERS, WORKS, Resource
from leeward.api.work import ManifestStatus, ResourceIdentifier, Work
from leeward.client import NotFound
from leeward.core.execution.ownership import is_ours
from leeward.core.interpreter import health_of, reflect_status
from leeward.runtime.backlinks import Backlinks
from leeward.runtime.discovery import UnknownKind
from leeward.runtime.identity import key_of
from leeward.runtime.plane import ControlPlane, Member


class WorkStatusController:
    def __init__(self, plane: ControlPlane, member: Member, works_namespace: str = "") -> None:
        """`works_namespace`: as for the execution controller."""
        self._plane = plane
        self._member = member
        self._space = execution_space(member.name)
        self._clusters = plane.informers.of(CLUSTERS)
        self._works = plane.informers.of(WORKS, works_namespace)
        self._controller = plane.controller(f"work-status-controller/{member.name}", self.reconcile)
        self._backlinks = Backlinks(member, self._space, self._controller.queue.add)

    def start(self) -> None:
        supervisor = self._member.supervisor
        supervisor.on_close(self._works.on_change(self._work_changed))
        supervisor.on_close(self._clusters.on_change(self._cluster_changed))
        self._controller.start(supervisor)

    async def reconcile(self, name: str) -> datetime | None:
        await self._works.wait_synced()
        work = self._works.get(name, self._space)
        if work is None or work.metadata.deletion_timestamp is not None or work.applied is None:
            return None
        since = self._ready_since()
        anew = since is not None and not _is_reflected_since(work, since)
        statuses: list[ManifestStatus] = []
        carried = True
        for ordinal, manifest in enumerate(work.spec.workload.manifests):
            observed = await self._observed(work, manifest, anew)
            if observed is None:
                carried = False
                continue
            annotations = annotations_of(observed)
            carried = carried and annotations.get(WORK_GENERATION_ANNOTATION) == str(work.metadata.generation)
            statuses.append(_manifest_status(ordinal, observed))
        await self._write(work, tuple(statuses), carried, anew)
        return None

    def _ready_since(self) -> datetime | None:
        cluster = self._clusters.get(self._member.name)
        ready = cluster.ready if cluster is not None and cluster.is_ready else None
        return ready.last_transition_time if ready is not None else None

    async def _observed(self, work: Work, manifest: Manifest, anew: bool) -> Manifest | None:
        """The member's object, None when it is not there, or not ours.

        From the cache; `anew` asks the member itself, because the cache may be older than the cluster's recovery.
        """
        try:
            resource = await self._member.server.discovery.resource(manifest["apiVersion"], manifest["kind"])
        except UnknownKind:
            return None
        informer = self._backlinks.follow(resource)
        await informer.wait_synced()
        key = key_of(manifest)
        if anew:
            observed = await self._ask(resource, key.name, key.namespace)
        else:
            observed = informer.get(key.name, key.namespace)
        return observed if observed is not None and is_ours(observed, work.namespace, work.name) else None

    async def _ask(self, resource: Resource[Manifest], name: str, namespace: str) -> Manifest | None:
        try:
            return await self._member.server.client.get(resource, name, namespace)
        except NotFound:
            return None

    async def _write(self, work: Work, statuses: tuple[ManifestStatus, ...], carried: bool, anew: bool) -> None:
        reflected = Condition(
            type=REFLECTED_CONDITION,
            status="True" if carried else "False",
            reason="Reflected" if carried else "NotYetApplied",
            message="" if carried else "the member does not carry this generation of the Work yet",
            observed_generation=work.metadata.generation if carried else 0,
        )
        before = remove_condition(work.status.conditions, REFLECTED_CONDITION) if anew else work.status.conditions
        conditions = set_condition(before, reflected, self._plane.clock.now())
        status = msgspec.structs.replace(work.status, manifest_statuses=statuses, conditions=conditions)
        patch = status_patch(work.status, status)
        if patch:
            updated = await self._plane.client.patch(
                WORKS,
                work.name,
                patch,
                work.namespace,
                subresource="status",
                resource_version=work.metadata.resource_version,
            )
            self._works.remember(updated)

    def _work_changed(self, old: Work | None, new: Work | None) -> None:
        if new is not None and new.namespace == self._space:
            self._controller.queue.add(new.name)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if new is None or new.name != self._member.name or not new.is_ready or (old is not None and old.is_ready):
            return
        for work in self._works.list(self._space):
            self._controller.queue.add(work.name)


def _is_reflected_since(work: Work, since: datetime) -> bool:
    reflected = find_condition(work.status.conditions, REFLECTED_CONDITION)
    return reflected is not None and (reflected.last_transition_time or since) >= since


def _manifest_status(ordinal: int, observed: Manifest) -> ManifestStatus:
    group, _, version = observed["apiVersion"].rpartition("/")
    key = key_of(observed)
    return ManifestStatus(
        identifier=ResourceIdentifier(
            ordinal=ordinal,
            group=group,
            version=version,
            kind=observed["kind"],
            resource="",
            namespace=key.namespace,
            name=key.name,
        ),
        status=reflect_status(observed),
        health=health_of(observed),
    )
