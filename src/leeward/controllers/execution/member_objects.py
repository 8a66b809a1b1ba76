"""The objects of one member that are made from Works: brings them to what is desired. How they are taken away is told
in `object_removal.py`.

An object that does not carry the Work's identity is never touched (Holds: S6).

Karmada: pkg/util/objectwatcher; same for what is written, but that contents which somebody in the member undoes again
and again are written less and less often.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from http import HTTPStatus

from controller_runtime import Key, keep_latest, key_of, version_of
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.status import Status
from kubeclient import AlreadyExists, Conflict, NotFound, NotServed, Unreachable
from leeward.api.names import HUB_ANNOTATION, WORK_NAME_ANNOTATION
from leeward.api.resource import WORKS
from leeward.api.work import Work
from leeward.controllers.execution.volume_holds import VolumeHolds
from leeward.core.copies.job_copies import is_complete_job
from leeward.core.execution.claims import beyond_its_binding
from leeward.core.execution.conflict_resolution import conflict_rules_of, may_overwrite, other_work
from leeward.core.execution.ownership import other_hub, with_hub, without_due_hub
from leeward.core.execution.retain import covers, merge
from leeward.core.execution.undone import LastWrite, by_whom, note_write, pause_left
from leeward.core.execution.work_generation import (
    has_no_more,
    is_left,
    is_shrunk_by_a_restore,
    with_generation,
    without_due_generation,
)
from leeward.runtime.controller_context import ControlPlane, Member
from leeward.runtime.member_works import MemberWorks
from leeward.runtime.owner_index import OwnerIndex

SETTLE_SECONDS = 900.0
"""Seconds that a failover takes at most."""
LATE_SECONDS = 60.0
"""Seconds for which a server may still carry out what it was asked for and has not answered: kube-apiserver's
--request-timeout."""
MAX_REMEMBERED = 10_000
ROUNDING_SECONDS = 0.01
"""Instants have whole microseconds: nobody shall wake just before a pause has ended."""


class Foreign(Exception):
    """An object of the same name that is not ours, or one that its Work's binding may not have made."""


class WriteUndone(Exception):
    """Contents that somebody undoes again and again, and that are not written before `until`."""

    def __init__(self, message: str, until: datetime) -> None:
        super().__init__(message)
        self.until = until


class WrittenLater(WriteUndone):
    """Contents of before a restore, which would take replicas from what has taken over since."""


class MemberObjects:
    """`add` is called with the name of a Work whenever an object of its was changed or deleted by whomever."""

    def __init__(
        self,
        plane: ControlPlane,
        member: Member,
        works: MemberWorks,
        backlinks: OwnerIndex,
        on_written: Callable[[Work], None],
        settle_seconds: float = SETTLE_SECONDS,
        holds: VolumeHolds | None = None,
        *,
        repeats_jobs: bool = False,
    ) -> None:
        """`settle_seconds` is how long a failover takes at most; `holds` are on volumes; `repeats_jobs`: a complete Job
        that is gone from its member is made again, as in Karmada."""
        self._plane = plane
        self._member = member
        self._works = works
        self._on_written = on_written
        self._holds = holds
        self._repeats_jobs = repeats_jobs
        self.backlinks = backlinks
        self._written: dict[tuple[str, Key], str] = {}
        self._last_writes: dict[tuple[str, Key], LastWrite] = {}
        self._settle_seconds = settle_seconds
        self._found_later: dict[tuple[str, Key], tuple[str, float]] = {}
        """Contents that were found to be of before a restore, and until when they wait."""
        self._unanswered: dict[tuple[str, Key], float] = {}
        """Objects that were to be created, without an answer, and when."""

    async def apply(self, work: Work, manifest: Manifest) -> None:
        """Creates or updates one object, or does nothing when it is as it should be.

        Raises: Foreign, VolumesHeld, WriteUndone, WorldError.
        """
        if why := beyond_its_binding(work, manifest):
            raise Foreign(why)
        desired = with_hub(with_generation(manifest, work), self._works.hub)
        resource = await self._member.server.discovery.resource(manifest["apiVersion"], manifest["kind"])
        key = key_of(desired)
        informer = self.backlinks.follow(resource)
        known = informer.get(key.name, key.namespace)
        if (
            known is not None
            and self._works.owns(work, known)
            and await self._is_as_desired(work, resource, known, desired)
        ):
            return
        if known is not None:
            self._refuse_other_hubs(known)
        if informer.synced:
            self._refuse_undone(work, resource, key, known)
        if known is not None and informer.synced and self._is_of_now(work, resource, known):
            with suppress(Conflict, NotFound):
                await self._update(work, resource, desired, known)
                return
        observed = await self._find_or_create(work, resource, desired, create_first=known is None and informer.synced)
        if observed is None:
            return
        self._refuse_foreign(work, observed)
        if not await self._is_as_desired(work, resource, observed, desired):
            self._refuse_undone(work, resource, key, observed)
            await self._update(work, resource, desired, observed)

    def forget(self, resource: Resource[Manifest], key: Key) -> None:
        """Forgets what was written of an object that is to go."""
        self._works.answers.forget(resource.group_resource, key)
        self._written.pop((resource.group_resource, key), None)
        self._last_writes.pop((resource.group_resource, key), None)

    def may_still_come(self, resource: Resource[Manifest], key: Key) -> bool:
        """Tells whether what is not there may be created yet, as a slow member was asked for a while ago."""
        asked_at = self._unanswered.get((resource.group_resource, key))
        return asked_at is not None and self._plane.clock.monotonic() < asked_at + LATE_SECONDS

    def _is_of_now(self, work: Work, resource: Resource[Manifest], known: Manifest) -> bool:
        """Tells whether the cached object is ours, and is known to be from this side of the cluster's recovery: what
        the member would answer, unless it has changed meanwhile, which the version in the update shows."""
        return self._works.owns(work, known) and self._works.answers.reach(resource, known, self._works.ready_since)

    async def _find_or_create(
        self, work: Work, resource: Resource[Manifest], desired: Manifest, *, create_first: bool
    ) -> Manifest | None:
        """The object that is there; None when it was created. What is not in the whole list is not asked for before it
        is created: one request instead of two, and who is there nevertheless is refused by the server.

        Raises: Conflict when it comes and goes meanwhile.
        """
        key, client = key_of(desired), self._member.server.client
        if not create_first:
            try:
                return await client.get(resource, key.name, key.namespace)
            except NotFound:
                self._refuse_undone(work, resource, key, None)
        try:
            await self._create(work, resource, desired)
        except AlreadyExists as error:
            try:
                return await client.get(resource, key.name, key.namespace)
            except NotFound:
                raise Conflict(error.status) from error
        return None

    async def _create(self, work: Work, resource: Resource[Manifest], desired: Manifest) -> None:
        """Creates the object, but no complete Job anew: it is done once (Holds: S1).

        Raises: AlreadyExists; Conflict when the Work is not to be carried out any more; VolumesHeld.
        """
        if self._holds is not None:
            await self._holds.refuse(work, desired)
        if not await self._is_wanted(work):
            raise Conflict(Status(code=HTTPStatus.CONFLICT, message=f"the Work {work.name} is going, or has gone"))
        if is_complete_job(work) and not self._repeats_jobs:
            return
        since = self._works.ready_since
        key = key_of(desired)
        with self.backlinks.holding(resource, key) as told:
            with self._plane.metrics.propagation.counted("create", desired, self._member.name):
                created = await self._ask_to_create(resource, desired, key)
            self._works.answers.note(resource, created, since)
            self._note(work, resource, created, changed=True)
        await self._look_after(work, resource, created, desired, told)

    async def _ask_to_create(self, resource: Resource[Manifest], desired: Manifest, key: Key) -> Manifest:
        try:
            return await self._member.server.client.create(resource, desired, key.namespace)
        except Unreachable:
            self._unanswered.pop((resource.group_resource, key), None)
            self._unanswered[resource.group_resource, key] = self._plane.clock.monotonic()
            keep_latest(self._unanswered, MAX_REMEMBERED)
            raise

    async def _update(self, work: Work, resource: Resource[Manifest], desired: Manifest, observed: Manifest) -> None:
        """Writes over what was seen, in the version in which it was seen. Raises: Conflict, NotFound."""
        key, since = key_of(desired), self._works.ready_since
        merged = merge(desired, observed, await self._plane.interpreter.retain(desired, observed))
        self._refuse_shrinking(work, resource, observed, merged)
        with self.backlinks.holding(resource, key) as told:
            with self._plane.metrics.propagation.counted("update", desired, self._member.name):
                updated = await self._member.server.client.update(resource, merged, key.name, key.namespace)
            self._works.answers.note(resource, updated, since)
            changed = updated["metadata"]["resourceVersion"] != observed["metadata"]["resourceVersion"]
            self._note(work, resource, updated, changed=changed)
        await self._look_after(work, resource, updated, desired, told)

    async def _look_after(
        self, work: Work, resource: Resource[Manifest], written: Manifest, desired: Manifest, told: set[str]
    ) -> None:
        """Has the Works looked at that were told of while an object was written. This one is not, where nothing has
        become of the object since and it is as it was to be: it would be found to be so."""
        key = key_of(written)
        known = self._member.server.informers.of(resource).get(key.name, key.namespace)
        is_own = known is not None and version_of(known) == version_of(written)
        if is_own and work.name in told and await self._is_as_desired(work, resource, written, desired):
            told = told - {work.name}
        self.backlinks.add(told)

    async def _is_as_desired(
        self, work: Work, resource: Resource[Manifest], observed: Manifest, desired: Manifest
    ) -> bool:
        """Tells whether the object has all that is desired, and nobody has changed it since it was written here."""
        wanted = without_due_generation(without_due_hub(desired, observed), observed, work)
        retained = await self._plane.interpreter.retain(wanted, observed)
        written = self._written.get((resource.group_resource, key_of(observed)))
        if is_left(observed, work) and not has_no_more(observed, retained):
            return False
        return written in (None, _mark(observed)) and covers(observed, merge(wanted, observed, retained))

    def _refuse_other_hubs(self, observed: Manifest) -> None:
        if owner := other_hub(observed, self._works.hub):
            raise Foreign(
                f"it belongs to another control plane ({owner}; this one is {self._works.hub}) and is left to it; "
                "give it another name here, or have the other one give it up, and then remove its annotation "
                f"{HUB_ANNOTATION} in cluster {self._member.name}"
            )

    def _refuse_foreign(self, work: Work, observed: Manifest) -> None:
        self._refuse_other_hubs(observed)
        if not self._works.owns(work, observed) and not may_overwrite(work, observed):
            raise Foreign(self._why_foreign(work, observed))

    def _why_foreign(self, work: Work, observed: Manifest) -> str:
        """Reason why an object is not taken over, with a way out that helps."""
        overwrite = "" if conflict_rules_of(work).takes_over else "set conflictResolution: Overwrite in the policy"
        there = f"it exists in cluster {self._member.name} and"
        if owner := other_work(work, observed):
            way = f"its annotation {WORK_NAME_ANNOTATION} there" + (f" and {overwrite}" if overwrite else "")
            return (
                f"{there} was made from another Work ({owner}), which is not overwritten; if that is gone, or if it "
                f"was copied from another cluster, remove it there, or remove {way}"
            )
        return f"{there} is not managed by this Work; remove it there, or {overwrite}"

    def _refuse_undone(self, work: Work, resource: Resource[Manifest], key: Key, observed: Manifest | None) -> None:
        """Lets contents that were undone repeatedly wait for their turn."""
        last = self._last_writes.get((resource.group_resource, key))
        left = pause_left(last, _contents(work), self._plane.clock.monotonic())
        if last is not None and left > 0:
            what = "it is deleted" if observed is None else f"it is changed back{by_whom(observed)}"
            raise WriteUndone(
                f"{what} in cluster {self._member.name} whenever it is written ({last.undone + 1} times in a row), "
                "so it is written less and less often; have whoever does that leave it alone, or change the template",
                self._plane.clock.now() + timedelta(seconds=left + ROUNDING_SECONDS),
            )

    def _refuse_shrinking(
        self, work: Work, resource: Resource[Manifest], observed: Manifest, desired: Manifest
    ) -> None:
        """Lets what takes replicas away, and is older than these, wait until it has been looked at again."""
        if not is_shrunk_by_a_restore(observed, desired, work):
            return
        now, key = self._plane.clock.monotonic(), (resource.group_resource, key_of(observed))
        contents, until = self._found_later.setdefault(key, (_contents(work), now + self._settle_seconds))
        keep_latest(self._found_later, MAX_REMEMBERED)
        if is_equal(contents, _contents(work)) and now < until:
            raise WrittenLater(
                f"a later state of its Work gave it more replicas in cluster {self._member.name}, as a restored "
                "control plane does not know: it keeps them until it is placed anew, or as long as a failover takes",
                self._plane.clock.now() + timedelta(seconds=until - now + ROUNDING_SECONDS),
            )

    def _note(self, work: Work, resource: Resource[Manifest], written: Manifest, *, changed: bool) -> None:
        """Remembers what an own write gave, and tells of it."""
        key = resource.group_resource, key_of(written)
        self._written[key] = _mark(written)
        if changed:
            now = self._plane.clock.monotonic()
            self._last_writes[key] = note_write(self._last_writes.get(key), _contents(work), now)
        self._member.server.informers.of(resource).remember(written)
        self._on_written(work)

    async def _is_wanted(self, work: Work) -> bool:
        """Tells whether what is not there is to be made: asked of the control plane's API server where it was there, as
        another who works for the member may have removed it for a deletion that is not in our cache yet, and nobody
        would remove what is made after that; and where Works may be of before a restore, but made if that is silent."""
        if not work.was_applied and self._works.are_current:
            return True
        try:
            current = await self._plane.client.get(WORKS, work.name, work.namespace)
        except NotServed:
            raise
        except NotFound:
            return False
        except Unreachable:
            if work.was_applied:
                raise
            return True
        return current.metadata.uid == work.metadata.uid and current.metadata.deletion_timestamp is None


def _mark(observed: Manifest) -> str:
    """Mark that changes with every change of what an object asks for."""
    metadata = observed["metadata"]
    return f"{metadata['uid']}/{metadata.get('generation') or metadata['resourceVersion']}"


def _contents(work: Work) -> str:
    return f"{work.metadata.uid}/{work.metadata.generation}"
