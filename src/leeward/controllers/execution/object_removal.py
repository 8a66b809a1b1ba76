"""The objects of one member that are made from Works: takes them away, or the marks of
ownership off those that stay.

An object that does not carry the Work's identity is never touched (Holds: S6). A delete names the uid and the version
that were seen, and is sent only when the API server itself has just said that the Work is still to go (Holds: S5): what
is assigned again meanwhile keeps its object.

Karmada: pkg/util/objectwatcher.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from controller_runtime import keep_latest, key_of
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.unstructured import value_at
from kubeclient import ApiError, Conflict, NotFound, NotServed, TooManyRequests, WorldError
from leeward.api.names import WORK_GENERATION_ANNOTATION
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Work
from leeward.controllers.execution.member_objects import MemberObjects
from leeward.controllers.execution.missing_kinds import MissingKinds
from leeward.controllers.execution.shared_contents import SharedContents
from leeward.controllers.owned_claims import OwnedClaims
from leeward.controllers.removals.returned_copies import ReturnedCopies
from leeward.core.copies.job_copies import is_cron_job, runs_of
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.eviction.shared_resources import is_shared
from leeward.core.eviction.volumes import why_claims_stay, why_runs_end_first
from leeward.core.execution.held_volumes import KEEPS_CLAIMS_ANNOTATION
from leeward.core.execution.release import release_patch
from leeward.core.execution.removal import is_order_about
from leeward.runtime.controller_context import ControlPlane, Member
from leeward.runtime.discovery import UnknownKind
from leeward.runtime.member_works import MemberWorks
from leeward.runtime.owner_index import OwnerIndex

ATTEMPTS = 3
"""Attempts to delete an object whose status changes meanwhile, before it is looked at again later."""
MAX_REMEMBERED = 10_000


class ObjectKept(WorldError):
    """Refusal to delete an object to which claims or runs belong in the member; the message names them."""

    def __init__(self, reason: HeldReason, why: str) -> None:
        super().__init__(why)
        self.reason = reason


class RemovalRefused(WorldError):
    """Refusal of the member to delete or to release an object, which the message names."""


class ObjectRemoval:
    """`objects` wrote what is to go, and forgets it. `returned` says whether returned copies stay; None: all do."""

    def __init__(
        self,
        plane: ControlPlane,
        member: Member,
        works: MemberWorks,
        backlinks: OwnerIndex,
        objects: MemberObjects,
        returned: ReturnedCopies | None = None,
    ) -> None:
        self._plane = plane
        self._member = member
        self._works = works
        self._backlinks = backlinks
        self._objects = objects
        self._returned = returned
        self._missing = MissingKinds(plane, member, works)
        self._claims = OwnedClaims(member)
        self._contents = SharedContents(member, works)
        self._recorder = plane.recorder("execution-controller")
        self._deleted: dict[str, None] = {}
        """The uids of the objects that were deleted here, the latest last."""

    async def remove(self, work: Work, *, ended: bool = False, found: bool = False) -> bool:
        """Asks for the deletion of what the Work had applied. Returns whether any of it is, or may be, still there.

        `ended` says that the Work itself is gone; otherwise it must be there and wait for this. Of a Work that is gone
        only what was deleted here before is deleted once more: a member that is restored brings it back with its uid.
        Under another uid somebody in the member has made it, and keeps something there. An order that was `found`, by a
        control plane that was restored, is about no object that came later.
        """
        remove = partial(self._remove_served, work, ended=ended, found=found)
        return any([await self._on_served(manifest, remove) for manifest in work.objects])

    async def release(self, work: Work) -> bool:
        """Takes the marks of ownership off what the Work leaves in the member. Returns whether any of it may still have
        them. Raises: WorldError. Holds: S6."""
        return any([await self._on_served(each, partial(self._release_served, work)) for each in work.objects])

    async def _on_served(self, manifest: Manifest, act: Callable[[Manifest], Awaitable[bool]]) -> bool:
        """Does with one object, in a version that the member serves, as asked. Returns whether there is more to do."""
        api_version, kind = manifest["apiVersion"], manifest["kind"]
        if self._missing.rests(api_version, kind):
            return True
        with suppress(UnknownKind, NotServed):
            return await act(manifest)
        versions = await self._missing.versions(api_version, kind)
        if not versions:
            return not self._missing.is_gone(api_version, kind)
        if api_version in versions:
            return True
        with suppress(UnknownKind, NotServed):
            return await act({**manifest, "apiVersion": versions[0]})
        return True

    async def _remove_served(self, work: Work, manifest: Manifest, *, ended: bool, found: bool) -> bool:
        """Asks for the deletion of one object of a kind that is served. Raises: UnknownKind, NotServed, WorldError."""
        resource = await self._member.server.discovery.resource(manifest["apiVersion"], manifest["kind"])
        key = key_of(manifest)
        self._backlinks.follow(resource)
        self._objects.forget(resource, key)
        try:
            for _ in range(ATTEMPTS):
                observed = await self._member.server.client.get(resource, key.name, key.namespace)
                if not self._works.owns(work, observed) or (ended and not self._was_deleted(observed)):
                    return False
                if not ended and not is_order_about(work, manifest, observed, found=found):
                    self._tell_kept(work, observed)
                    return False
                if "deletionTimestamp" in observed["metadata"]:
                    return True
                is_lived_in = is_shared(manifest["apiVersion"], manifest["kind"])
                if is_lived_in and await self.is_leaving():
                    return False
                if not await self._is_to_go(work, ended=ended) or (found and self._contents.goes_first(work, observed)):
                    return True
                if is_lived_in and (why := await self._contents.kept_by(work, observed, found=found)):
                    self._tell_kept(work, observed, why)
                    return False
                with suppress(Conflict):
                    await self._keep_owned(work, resource, observed)
                    await self._delete(resource, observed)
        except NotServed:
            raise
        except NotFound:
            return self._objects.may_still_come(resource, key)
        return True

    def _tell_kept(self, work: Work, observed: Manifest, lost: str = "") -> None:
        """Raises: ObjectKept where the order stands: of a claim its Pods may be ending, or its place has changed."""
        why = lost or "this removal is about another object of its name"
        stays = f"{observed['kind']} {key_of(observed)} in cluster {self._member.name} stays: {why}"
        is_data = "Volume" in observed["kind"]
        if lost and (is_data or KEEPS_CLAIMS_ANNOTATION in work.metadata.annotations):
            raise ObjectKept(HeldReason.VOLUMES_STAY if is_data else HeldReason.SHARED_RESOURCE, stays)
        self._recorder.warning(WORKS, work, "RemovalNotOfThisObject", f"{stays}; `leeward orphans` lists it.")

    async def _keep_owned(self, work: Work, resource: Resource[Manifest], observed: Manifest) -> None:
        """Raises: ObjectKept where claims belong to the object, or may: they would go with it. The member is asked now,
        for its operator may have made them since it was last seen. Likewise where runs of a CronJob belong to it."""
        if KEEPS_CLAIMS_ANNOTATION not in work.metadata.annotations or await self.is_leaving():
            return
        if is_cron_job(observed):
            await self._end_runs(resource, observed)
            return
        names = await self._claims.of_now(observed)
        if names is None or names:
            raise ObjectKept(HeldReason.VOLUMES_STAY, why_claims_stay(observed["kind"], str(key_of(observed)), names))

    async def _end_runs(self, resource: Resource[Manifest], observed: Manifest) -> None:
        """Has a CronJob begin no run any more. A Work that takes the object over finds no generation on it, and writes
        it anew. Raises: Conflict, ObjectKept while one runs."""
        runs, key = runs_of(observed), key_of(observed)
        if not runs:
            return
        if value_at(observed, "spec", "suspend") is not True:
            patch = {"metadata": {"annotations": {WORK_GENERATION_ANNOTATION: None}}, "spec": {"suspend": True}}
            await self._patch(resource, observed, patch, "to suspend")
        raise ObjectKept(HeldReason.RUN_UNDER_WAY, why_runs_end_first(str(key), runs))

    async def _release_served(self, work: Work, manifest: Manifest) -> bool:
        """Takes the marks off one object, in the version that was seen. Raises: UnknownKind, NotServed, WorldError."""
        resource = await self._member.server.discovery.resource(manifest["apiVersion"], manifest["kind"])
        key = key_of(manifest)
        self._objects.forget(resource, key)
        try:
            for _ in range(ATTEMPTS):
                observed = await self._member.server.client.get(resource, key.name, key.namespace)
                if not self._works.owns(work, observed):
                    return False
                with suppress(Conflict):
                    await self._release(resource, observed)
                    return False
        except NotServed:
            raise
        except NotFound:
            return self._objects.may_still_come(resource, key)
        return True

    async def _release(self, resource: Resource[Manifest], observed: Manifest) -> None:
        await self._patch(resource, observed, release_patch(observed), "to release")

    async def _patch(self, resource: Resource[Manifest], observed: Manifest, patch: Manifest, doing: str) -> None:
        """Changes one object, in the version that was seen. Raises: Conflict, NotFound, RemovalRefused."""
        key, version = key_of(observed), observed["metadata"]["resourceVersion"]
        client = self._member.server.client
        with self._plane.metrics.propagation.counted("update", observed, self._member.name):
            try:
                await client.patch(resource, key.name, patch, key.namespace, resource_version=version)
            except (Conflict, NotFound, TooManyRequests):
                raise
            except ApiError as error:
                raise RemovalRefused(f"{doing} {observed['kind']} {key}: {error}") from error

    async def is_leaving(self) -> bool:
        """Tells whether the member leaves the fleet, or has left: others keep what they have in what is shared there
        (S12). Asked of the control plane's API server: a cache may hear of it after the deletions that follow from it.
        """
        found = await self._plane.client.find(CLUSTERS, self._member.name)
        return found is None or found.is_being_deleted

    async def _delete(self, resource: Resource[Manifest], observed: Manifest) -> None:
        metadata, key = observed["metadata"], key_of(observed)
        self._deleted[metadata["uid"]] = None
        keep_latest(self._deleted, MAX_REMEMBERED)
        with self._plane.metrics.propagation.counted("delete", observed, self._member.name):
            try:
                await self._member.server.client.delete(
                    resource, key.name, key.namespace, uid=metadata["uid"], resource_version=metadata["resourceVersion"]
                )
            except (Conflict, NotFound, TooManyRequests):
                raise
            except ApiError as error:
                raise RemovalRefused(f"to delete {observed['kind']} {key}: {error}") from error

    def _was_deleted(self, observed: Manifest) -> bool:
        return observed["metadata"]["uid"] in self._deleted

    async def _is_to_go(self, work: Work, *, ended: bool) -> bool:
        """Tells whether that is still so: asked of the control plane's API server, not of the cache.

        A new Work of the same name has a claim to the object, and of a Work that was given up its objects stay. Whether
        it is held may have been decided since the cache was told of it. A Work that its binding asks for waits until
        that is said of it (Holds: S1).
        """
        try:
            current = await self._plane.client.get(WORKS, work.name, work.namespace)
        except NotServed:
            return False
        except NotFound:
            return ended and self._returned is not None and not await self._returned.stays(work)
        if ended or current.metadata.uid != work.metadata.uid or current.metadata.deletion_timestamp is None:
            return False
        is_held = current.is_removal_held
        is_wanted = self._returned is not None and self._returned.wants(current, self._member.name)
        if (is_held or is_wanted) and not await self.is_leaving():
            return False
        return not current.spec.preserve_resources_on_deletion
