"""The execution controller of one member: makes the member contain what its Works say, and no more.

While the cluster is not Ready nothing is written: a Work that is deleted meanwhile stays with its deletionTimestamp,
and is carried out the moment the cluster is Ready again (not after a back-off, BEHAVIOUR 8.12). An object that does
not carry the Work's identity is never touched (Holds: S6), and every delete names the uid that was seen (Holds: S5).

What was removed for a deleted Work stays removed: a member that is restored from its past may bring it back (Holds:
L3). Only of Works whose end was seen here, for a control plane that was restored itself knows of less than there is.

Karmada: pkg/controllers/execution, pkg/util/objectwatcher.
"""

from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial

import msgspec

from leeward.api.meta import Condition, Manifest, annotations_of, set_condition
from leeward.api.names import (
    EXECUTION_CONTROLLER_FINALIZER,
    WORK_GENERATION_ANNOTATION,
    WORK_NAME_ANNOTATION,
)
from leeward.api.resource import WORKS, Resource
from leeward.api.work import Work, WorkStatus
from leeward.client import AlreadyExists, ApiError, Conflict, NotFound, Undecodable, WorldError
from leeward.controllers.blocked_removals import BlockedRemovals
from leeward.core.execution.retain import covers, merge
from leeward.runtime.discovery import UnknownKind
from leeward.runtime.identity import Key, key_of
from leeward.runtime.member_works import MemberWorks
from leeward.runtime.plane import ControlPlane, Member
from leeward.runtime.propagation_metrics import Write
from leeward.runtime.statuses import NEWS_SECONDS, PROGRESS_SECONDS, Said

RETRY_SECONDS = 1.0
MAX_REMEMBERED = 10_000
APPLIED, DISPATCHING = "Applied", "Dispatching"


class ExecutionController:
    def __init__(self, plane: ControlPlane, member: Member, works: MemberWorks) -> None:
        self._plane = plane
        self._member = member
        self._recorder = plane.recorder("execution-controller")
        self._works = works
        self._controller = plane.controller(f"execution-controller/{member.name}", self.reconcile)
        self._backlinks = self._works.backlinks(self._controller.queue.add)
        self._blocked_removals = BlockedRemovals(plane, member, self._backlinks, self._post)
        self._written: dict[tuple[str, Key], str] = {}
        self._missing_kinds: set[tuple[str, str]] = set()
        self._carried_out: dict[str, Work] = {}
        self._returned: set[str] = set()
        """Of these, what was seen again while the cluster was not Ready."""

    def start(self) -> None:
        self._works.subscribe(self._controller.queue.add, _is_other_order, lambda: self._returned)
        self._controller.start(self._member.supervisor)

    async def reconcile(self, name: str) -> datetime | None:
        work = await self._works.get(name)
        cluster = self._works.cluster
        if cluster is None or not cluster.is_ready:
            if name in self._carried_out:
                self._returned.add(name)
            return None
        self._returned.discard(name)
        if work is None:
            return await self._keep_removed(name)
        if work.metadata.deletion_timestamp is not None:
            return await self._remove(work)
        self._carried_out.pop(name, None)
        if work.spec.suspend_dispatching:
            self._post(work, _dispatching(suspended=True))
            return None
        return await self._apply_all(work)

    async def _apply_all(self, work: Work) -> datetime | None:
        started = self._plane.clock.monotonic()
        problems: list[str] = []
        for manifest in work.spec.workload.manifests:
            try:
                await self._apply(work, manifest)
            except Conflict:
                raise
            except (UnknownKind, ApiError, Foreign) as error:
                problems.append(f"{manifest['kind']} {key_of(manifest)}: {error}")
        self._plane.metrics.propagation.synced_member(self._plane.clock.monotonic() - started, failed=bool(problems))
        applied = _applied(work, problems)
        is_news = work.applied is None or work.applied.message != applied.message
        self._post(work, _dispatching(suspended=False), applied)
        if problems and is_news:
            self._recorder.warning(WORKS, work, "SyncFailed", applied.message)
        if problems:
            raise ApplyFailed(applied.message)
        return None

    async def _apply(self, work: Work, manifest: Manifest) -> None:
        """Creates or updates one object, or does nothing when it is as it should be."""
        desired = _stamped(work, manifest)
        resource = await self._member.server.discovery.resource(manifest["apiVersion"], manifest["kind"])
        key = key_of(desired)
        known = self._backlinks.follow(resource).get(key.name, key.namespace)
        if known is not None and self._works.owns(work, known) and self._is_as_desired(resource, known, desired):
            return
        client = self._member.server.client
        try:
            observed = await client.get(resource, key.name, key.namespace)
        except NotFound:
            await self._create(work, resource, desired)
            return
        if not self._works.owns(work, observed) and not _may_overwrite(work, observed):
            raise Foreign(
                f"it exists in cluster {self._member.name} and is not managed by this Work; "
                "remove it there, or set conflictResolution: Overwrite in the policy"
            )
        if not self._is_as_desired(resource, observed, desired):
            with self._counted("update", desired):
                updated = await client.update(resource, merge(desired, observed), key.name, key.namespace)
            self._note(work, resource, updated)

    async def _create(self, work: Work, resource: Resource[Manifest], desired: Manifest) -> None:
        try:
            with self._counted("create", desired):
                created = await self._member.server.client.create(resource, desired, key_of(desired).namespace)
        except AlreadyExists as error:
            raise Conflict(error.status) from error
        self._note(work, resource, created)

    @contextmanager
    def _counted(self, write: Write, manifest: Manifest) -> Generator[None, None, None]:
        failed = True
        try:
            yield
            failed = False
        finally:
            self._plane.metrics.propagation.wrote(write, manifest, self._member.name, failed=failed)

    def _is_as_desired(self, resource: Resource[Manifest], observed: Manifest, desired: Manifest) -> bool:
        """Whether the object has all that is desired, and nobody has changed it since it was written here."""
        written = self._written.get((resource.group_resource, key_of(observed)))
        return written in (None, _mark(observed)) and covers(observed, merge(desired, observed))

    def _note(self, work: Work, resource: Resource[Manifest], written: Manifest) -> None:
        """Remembers what an own write gave, and tells of it."""
        self._written[resource.group_resource, key_of(written)] = _mark(written)
        self._member.server.informers.of(resource).remember(written)
        message = f"Sync work({work.namespace}/{work.name}) to cluster({self._member.name}) successful."
        self._recorder.normal(WORKS, work, "SyncSucceed", message)

    async def _remove(self, work: Work) -> datetime | None:
        """Deletes what the Work had applied; the finalizer goes when it is known to be gone."""
        if EXECUTION_CONTROLLER_FINALIZER not in work.metadata.finalizers:
            return None
        if work.spec.preserve_resources_on_deletion:
            self._carried_out.pop(work.name, None)
        elif await self._remove_objects(work):
            await self._blocked_removals.goes_on(work)
            return self._plane.clock.now() + timedelta(seconds=RETRY_SECONDS)
        else:
            self._remember(work)
        self._blocked_removals.forget(work.name)
        finalizers = [f for f in work.metadata.finalizers if f != EXECUTION_CONTROLLER_FINALIZER]
        await self._plane.client.patch(
            WORKS,
            work.name,
            {"metadata": {"finalizers": finalizers}},
            work.namespace,
            resource_version=work.metadata.resource_version,
        )
        return None

    async def _keep_removed(self, name: str) -> datetime | None:
        """Removes once more what has come back of a Work that is gone."""
        work = self._carried_out.get(name)
        if work is None or not await self._remove_objects(work):
            return None
        return self._plane.clock.now() + timedelta(seconds=RETRY_SECONDS)

    def _remember(self, work: Work) -> None:
        self._carried_out[work.name] = work
        while len(self._carried_out) > MAX_REMEMBERED:
            oldest = next(iter(self._carried_out))
            del self._carried_out[oldest]
            self._returned.discard(oldest)

    async def _remove_objects(self, work: Work) -> bool:
        """Returns whether any of them is, or may be, still there."""
        return any([await self._remove_object(work, manifest) for manifest in work.spec.workload.manifests])

    async def _remove_object(self, work: Work, manifest: Manifest) -> bool:
        """Asks for the deletion of one object. Returns whether it is, or may be, still there. Holds: S5, S6."""
        client = self._member.server.client
        try:
            resource = await self._member.server.discovery.resource(manifest["apiVersion"], manifest["kind"])
        except UnknownKind:
            return await self._may_be_offered(manifest["apiVersion"], manifest["kind"])
        key = key_of(manifest)
        self._backlinks.follow(resource)
        self._written.pop((resource.group_resource, key), None)
        try:
            observed = await client.get(resource, key.name, key.namespace)
            if not self._works.owns(work, observed):
                return False
            if "deletionTimestamp" not in observed["metadata"]:
                with self._counted("delete", manifest):
                    await client.delete(resource, key.name, key.namespace, uid=observed["metadata"]["uid"])
                await client.get(resource, key.name, key.namespace)
        except NotFound:
            return False
        return True

    async def _may_be_offered(self, api_version: str, kind: str) -> bool:
        """A kind is gone only when two complete looks at all kinds, one after the other, do not have it.

        Raises: WorldError when the member's kinds cannot all be asked for.
        """
        offer = await self._member.server.discovery.offer()
        if offer.failed:
            raise Undecodable(f"the kinds of {', '.join(offer.failed)} cannot be read")
        if offer.has(api_version, kind):
            self._missing_kinds.discard((api_version, kind))
            return True
        missed_before = (api_version, kind) in self._missing_kinds
        self._missing_kinds.add((api_version, kind))
        return not missed_before

    def _post(self, work: Work, *conditions: Condition) -> None:
        """That another generation is applied as well is no news: what comes of it is."""
        now = self._plane.clock.now()

        def change(status: WorkStatus) -> WorkStatus:
            for condition in conditions:
                status = msgspec.structs.replace(status, conditions=set_condition(status.conditions, condition, now))
            return status

        said = {condition.type: condition.status for condition in work.status.conditions}
        is_news = any(said.get(condition.type) != condition.status for condition in conditions)
        said = Said[Work](change, partial(self._controller.failed, work.name))
        within = NEWS_SECONDS if is_news else PROGRESS_SECONDS
        self._works.post(work, self._controller.name, said, within=within)


class Foreign(Exception):
    """An object of the same name that is not ours."""


class ApplyFailed(WorldError):
    """Some manifests of a Work could not be applied; the Work says which."""


def _is_other_order(old: Work | None, new: Work) -> bool:
    """Whether there is something else to do than before; what a Work reports is no order."""
    return old is None or (
        old.metadata.generation != new.metadata.generation
        or old.metadata.deletion_timestamp != new.metadata.deletion_timestamp
        or old.metadata.uid != new.metadata.uid
    )


def _mark(observed: Manifest) -> str:
    """What changes with every change of what an object asks for."""
    metadata = observed["metadata"]
    return f"{metadata['uid']}/{metadata.get('generation') or metadata['resourceVersion']}"


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
