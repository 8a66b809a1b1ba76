"""The execution controller of one member: makes the member contain what its Works say, and no more.

While the cluster is not Ready nothing is written: a Work that is deleted meanwhile stays with its deletionTimestamp,
and is carried out the moment the cluster is Ready again (not after a back-off, BEHAVIOUR 8.12). An object that does
not carry the Work's identity is never touched (Holds: S6), and every delete names the uid that was seen (Holds: S5).

Karmada: pkg/controllers/execution, pkg/util/objectwatcher.
"""

from datetime import datetime, timedelta

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.diff import status_patch
from leeward.api.meta import Condition, Manifest, annotations_of, set_condition
from leeward.api.names import (
    EXECUTION_CONTROLLER_FINALIZER,
    WORK_GENERATION_ANNOTATION,
    WORK_NAME_ANNOTATION,
    execution_space,
)
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Work
from leeward.client import AlreadyExists, ApiError, Conflict, NotFound, WorldError
from leeward.core.execution.ownership import is_ours
from leeward.core.execution.retain import covers, merge
from leeward.runtime.backlinks import Backlinks
from leeward.runtime.discovery import UnknownKind
from leeward.runtime.identity import key_of
from leeward.runtime.plane import ControlPlane, Member

RETRY_SECONDS = 1.0
APPLIED, DISPATCHING = "Applied", "Dispatching"


class ExecutionController:
    def __init__(self, plane: ControlPlane, member: Member, works_namespace: str = "") -> None:
        """`works_namespace`: all Works are watched (Push, shared), or those of one execution space (the agent)."""
        self._plane = plane
        self._member = member
        self._space = execution_space(member.name)
        self._recorder = plane.recorder("execution-controller")
        self._clusters = plane.informers.of(CLUSTERS)
        self._works = plane.informers.of(WORKS, works_namespace)
        self._controller = plane.controller(f"execution-controller/{member.name}", self.reconcile)
        self._backlinks = Backlinks(member, self._space, self._controller.queue.add)

    def start(self) -> None:
        supervisor = self._member.supervisor
        supervisor.on_close(self._works.on_change(self._work_changed))
        supervisor.on_close(self._clusters.on_change(self._cluster_changed))
        self._controller.start(supervisor)

    async def reconcile(self, name: str) -> datetime | None:
        await self._works.wait_synced()
        await self._clusters.wait_synced()
        work = self._works.get(name, self._space)
        cluster = self._clusters.get(self._member.name)
        if work is None or cluster is None or not cluster.is_ready:
            return None
        if work.metadata.deletion_timestamp is not None:
            return await self._remove(work)
        if work.spec.suspend_dispatching:
            await self._set_conditions(work, _dispatching(suspended=True))
            return None
        return await self._apply_all(work)

    async def _apply_all(self, work: Work) -> datetime | None:
        problems: list[str] = []
        for manifest in work.spec.workload.manifests:
            try:
                await self._apply(work, manifest)
            except (UnknownKind, ApiError) as error:
                if isinstance(error, Conflict):
                    raise
                problems.append(f"{manifest['kind']} {key_of(manifest)}: {error}")
            except Foreign as error:
                problems.append(str(error))
        await self._set_conditions(work, _dispatching(suspended=False), _applied(work, problems))
        if problems:
            self._recorder.warning(WORKS, work, "SyncFailed", "; ".join(problems))
            raise ApplyFailed("; ".join(problems))
        return None

    async def _apply(self, work: Work, manifest: Manifest) -> None:
        """Creates or updates one object, or does nothing when it is as it should be."""
        desired = _stamped(work, manifest)
        resource = await self._member.server.discovery.resource(manifest["apiVersion"], manifest["kind"])
        informer = self._backlinks.follow(resource)
        key = key_of(desired)
        known = informer.get(key.name, key.namespace)
        if known is not None and is_ours(known, work.namespace, work.name) and covers(known, merge(desired, known)):
            return
        client = self._member.server.client
        try:
            observed = await client.get(resource, key.name, key.namespace)
        except NotFound:
            try:
                informer.remember(await client.create(resource, desired, key.namespace))
            except AlreadyExists as error:
                raise Conflict(error.status) from error
            self._report_applied(work, manifest)
            return
        if not is_ours(observed, work.namespace, work.name) and not _may_overwrite(work, observed):
            raise Foreign(
                f"{manifest['kind']} {key} exists in cluster {self._member.name} and is not managed by this Work; "
                "remove it there, or set conflictResolution: Overwrite in the policy"
            )
        merged = merge(desired, observed)
        if not covers(observed, merged):
            updated = await client.update(resource, merged, key.name, key.namespace)
            informer.remember(updated)
            self._report_applied(work, manifest)

    async def _remove(self, work: Work) -> datetime | None:
        """Deletes what the Work had applied; the finalizer goes when it is known to be gone."""
        if EXECUTION_CONTROLLER_FINALIZER not in work.metadata.finalizers:
            return None
        if not work.spec.preserve_resources_on_deletion:
            present = [await self._remove_object(work, manifest) for manifest in work.spec.workload.manifests]
            if any(present):
                return self._plane.clock.now() + timedelta(seconds=RETRY_SECONDS)
        finalizers = [f for f in work.metadata.finalizers if f != EXECUTION_CONTROLLER_FINALIZER]
        await self._plane.client.patch(
            WORKS,
            work.name,
            {"metadata": {"finalizers": finalizers}},
            work.namespace,
            resource_version=work.metadata.resource_version,
        )
        return None

    async def _remove_object(self, work: Work, manifest: Manifest) -> bool:
        """Asks for the deletion of one object. Returns whether it is still there."""
        client = self._member.server.client
        try:
            resource = await self._member.server.discovery.resource(manifest["apiVersion"], manifest["kind"])
        except UnknownKind:
            return False
        key = key_of(manifest)
        try:
            observed = await client.get(resource, key.name, key.namespace)
            if not is_ours(observed, work.namespace, work.name):
                return False
            if "deletionTimestamp" not in observed["metadata"]:
                await client.delete(resource, key.name, key.namespace, uid=observed["metadata"]["uid"])
                await client.get(resource, key.name, key.namespace)
        except NotFound:
            return False
        return True

    async def _set_conditions(self, work: Work, *conditions: Condition) -> None:
        status = work.status
        for condition in conditions:
            merged = set_condition(status.conditions, condition, self._plane.clock.now())
            status = msgspec.structs.replace(status, conditions=merged)
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

    def _report_applied(self, work: Work, manifest: Manifest) -> None:
        message = f"Sync work({work.namespace}/{work.name}) to cluster({self._member.name}) successful."
        self._recorder.normal(WORKS, work, "SyncSucceed", message)

    def _work_changed(self, old: Work | None, new: Work | None) -> None:
        if new is not None and new.namespace == self._space and (old is None or _is_other_order(old, new)):
            self._controller.queue.add(new.name)

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        if new is None or new.name != self._member.name or not new.is_ready or (old is not None and old.is_ready):
            return
        self._member.server.informers.hurry()
        for work in self._works.list(self._space):
            self._controller.queue.add(work.name)


class Foreign(Exception):
    """An object of the same name that is not ours."""


class ApplyFailed(WorldError):
    """Some manifests of a Work could not be applied; the Work says which."""


def _is_other_order(old: Work, new: Work) -> bool:
    return (
        old.metadata.generation != new.metadata.generation
        or old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        or old.metadata.uid != new.metadata.uid
    )


def _stamped(work: Work, manifest: Manifest) -> Manifest:
    """The manifest with the generation of the Work that it belongs to."""
    metadata = manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), WORK_GENERATION_ANNOTATION: str(work.metadata.generation)}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def _may_overwrite(work: Work, observed: Manifest) -> bool:
    annotations = annotations_of(observed)
    belongs_to_other_work = WORK_NAME_ANNOTATION in annotations
    return (
        work.metadata.annotations.get("work.karmada.io/conflict-resolution") == "overwrite"
        and not belongs_to_other_work
    )


def _applied(work: Work, problems: list[str]) -> Condition:
    generation = work.metadata.generation
    if problems:
        return Condition(
            type=APPLIED,
            status="False",
            reason="AppliedFailed",
            message="Failed to apply all manifests: " + "; ".join(problems),
            observed_generation=generation,
        )
    return Condition(
        type=APPLIED,
        status="True",
        reason="AppliedSuccessful",
        message="Manifest has been successfully applied",
        observed_generation=generation,
    )


def _dispatching(*, suspended: bool) -> Condition:
    if suspended:
        return Condition(DISPATCHING, "False", "SuspendDispatching", "Work dispatching is in a suspended state.")
    return Condition(DISPATCHING, "True", "Dispatching", "Work is being dispatched to member clusters.")
