"""The execution controller of one member: makes the member contain what its Works say, and no more.

While the cluster is not Ready nothing is written: a Work that a user deletes meanwhile stays with its
deletionTimestamp. It is carried out when the cluster is Ready again (not after a back-off, fault 12 of
docs/karmada-behaviour.md). A copy that leaves has no deletionTimestamp before (`core.execution.removal`). How objects
are written and deleted is told in `member_objects.py` and `object_removal.py`.

What was removed for a deleted Work stays removed: a member that is restored from its past may bring it back (Holds:
L3). Only of Works whose end was seen here, for a control plane that was restored itself knows of less than there is;
and only the very objects that were deleted, by uid: what somebody in the member makes anew is theirs (Holds: S5). A
copy that is the only one by now stays (`returned_copies.py`).

Karmada: pkg/controllers/execution, pkg/util/objectwatcher.
"""

from datetime import datetime, timedelta
from functools import partial

import msgspec

from controller_runtime import NEWS_SECONDS, PROGRESS_SECONDS, StatusChange, keep_latest, key_of, reference_of
from kubeapi.diff import is_equal
from kubeapi.text import shortened
from kubeclient import ApiError, Conflict, WorldError
from leeward.api.meta import MOST_MESSAGE, Condition, set_condition
from leeward.api.names import EXECUTION_CONTROLLER_FINALIZER
from leeward.api.resource import WORKS
from leeward.api.work import Work, WorkStatus, is_of_an_object
from leeward.controllers.execution.blocked_removals import BlockedRemovals
from leeward.controllers.execution.found_removals import FoundRemovals
from leeward.controllers.execution.member_objects import (
    ROUNDING_SECONDS,
    SETTLE_SECONDS,
    Foreign,
    MemberObjects,
    WriteUndone,
)
from leeward.controllers.execution.object_removal import ObjectKept, ObjectRemoval, RemovalRefused
from leeward.controllers.execution.volume_holds import VolumeHolds, VolumesHeld
from leeward.controllers.removals.returned_copies import ReturnedCopies
from leeward.core.eviction.shared_resources import has_shared
from leeward.core.execution.held_volumes import HELD, KEEPS_CLAIMS_ANNOTATION
from leeward.core.execution.ownership import why_refused
from leeward.core.execution.release import is_released
from leeward.core.execution.removal import has_settled
from leeward.core.execution.removal_conditions import object_kept
from leeward.core.execution.settled import is_carried_out
from leeward.core.interpreter.scripts import Operation
from leeward.runtime.binding_kinds import users_namespace
from leeward.runtime.controller_context import ControlPlane, Member
from leeward.runtime.discovery import UnknownKind
from leeward.runtime.interpreter import NotInterpreted
from leeward.runtime.member_works import MemberWorks

RETRY_SECONDS = 1.0
SHARED_REST_SECONDS = 3.0
"""Seconds for which what others may live in stays when the deletion of its Work is seen: until it is known whether the
Work alone was deleted, and is wanted again (decision 23)."""
LOOK_AGAIN = timedelta(seconds=20)
"""Pause after which what has come back, and is still there, and what stays for its claims, is looked at again."""
MAX_REMEMBERED = 10_000
APPLIED, DISPATCHING = "Applied", "Dispatching"


class ExecutionController:
    def __init__(
        self,
        plane: ControlPlane,
        member: Member,
        works: MemberWorks,
        returned: ReturnedCopies | None = None,
        settle_seconds: float = SETTLE_SECONDS,
        *,
        holds_volumes: bool = True,
        repeats_jobs: bool = False,
    ) -> None:
        """`returned` says of a copy that comes back whether it stays for now. Who cannot know, as an agent, leaves it:
        `leeward orphans` lists it. `repeats_jobs` as in `MemberObjects`."""
        self._plane = plane
        self._member = member
        self._recorder = plane.recorder("execution-controller")
        self._works = works
        self._controller = plane.controller(f"execution-controller/{member.name}", self.reconcile)
        backlinks = works.backlinks(self._add, self._controller.queue.has_failed, is_carried_out)
        self._holds = VolumeHolds(plane, member, works, enabled=holds_volumes)
        self._objects = MemberObjects(
            plane, member, works, backlinks, self._written, settle_seconds, self._holds, repeats_jobs=repeats_jobs
        )
        self._removal = ObjectRemoval(plane, member, works, backlinks, self._objects, returned)
        self._blocked_removals = BlockedRemovals(plane, member, self._objects.backlinks, self._post)
        self._found = FoundRemovals(plane)
        self._removes_again = returned is not None
        self._carried_out: dict[str, Work] = {}
        self._resting: dict[str, float] = {}
        """The Works of what others may live in that are being deleted, by uid, and since when that is known."""
        self._returned: set[str] = set()
        """Works of these that were seen again while the cluster was not Ready."""

    def start(self) -> None:
        asked = (Operation.RETAIN,)
        self._works.subscribe(self._add, self._matters, is_carried_out, lambda: self._returned, asked)
        self._holds.start(self._controller.queue.add)
        self._controller.start(self._member.supervisor)

    def _add(self, name: str, late: bool) -> None:
        self._controller.queue.add(name, late=late)

    def _matters(self, old: Work | None, new: Work) -> bool:
        cluster = self._works.cluster
        self._found.note(old, new, pulled=cluster is not None and cluster.spec.sync_mode == "Pull")
        return _is_other_order(old, new)

    async def reconcile(self, name: str) -> datetime | None:
        await self._objects.backlinks.wait_listed(name)
        work = await self._works.get(name)
        if work is not None and work.metadata.deletion_timestamp and work.spec.preserve_resources_on_deletion:
            return await self._let_go(work)
        cluster = self._works.cluster
        if cluster is None or not cluster.is_ready:
            if name in self._carried_out:
                self._returned.add(name)
            return None
        self._returned.discard(name)
        if work is None:
            self._holds.forget(name)
            self._found.forget(name)
            return await self._keep_removed(name)
        if work.metadata.deletion_timestamp is not None:
            if work.is_removal_held and not cluster.is_being_deleted:
                return self._plane.clock.now() + timedelta(seconds=RETRY_SECONDS)
            look_at = self._shared_rests_until(work)
            if look_at is None and not cluster.is_being_deleted:
                look_at = await self._found.look_at(work)
            return look_at or await self._remove(work)
        self._carried_out.pop(name, None)
        if work.spec.suspend_dispatching:
            self._post(work, _dispatching(suspended=True))
            return None
        return None if work.is_leaving else await self._apply_all(work)

    async def _apply_all(self, work: Work) -> datetime | None:
        started = self._plane.clock.monotonic()
        problems, held, undone = _unnamed(work), list[str](), list[WriteUndone]()
        for manifest in work.objects:
            try:
                await self._objects.apply(work, manifest)
            except Conflict:
                raise
            except VolumesHeld as error:
                held.append(f"{manifest['kind']} {key_of(manifest)}: {error}")
            except (UnknownKind, ApiError, Foreign, WriteUndone, NotInterpreted) as error:
                problems.append(f"{manifest['kind']} {key_of(manifest)}: {why_refused(error)}")
                if isinstance(error, WriteUndone):
                    undone.append(error)
            except RecursionError:
                problems.append(f"{manifest['kind']} {key_of(manifest)}: it is nested too deeply to be compared")
        self._plane.metrics.propagation.synced_member(self._plane.clock.monotonic() - started, failed=bool(problems))
        applied = _applied(work, problems, held)
        is_news = work.applied is None or work.applied.message != applied.message
        self._post(work, _dispatching(suspended=False), applied, *self._holds.note(work, held))
        if (problems or held) and is_news:
            reason = "SyncFailed" if len(undone) < len(problems) else "WriteUndone" if problems else "VolumesHeld"
            self._recorder.warning(WORKS, work, reason, applied.message)
        if len(undone) < len(problems):
            raise ApplyFailed(applied.message)
        return min((*self._holds.look_at(work.name), *(error.until for error in undone)), default=None)

    def _written(self, work: Work) -> None:
        message = f"Sync work({work.namespace}/{work.name}) to cluster({self._member.name}) successful."
        self._recorder.step(reference_of(WORKS, work), "SyncSucceed", message, users_namespace(work))

    async def _remove(self, work: Work) -> datetime | None:
        """Deletes what the Work had applied; the finalizer goes when it is known to be gone."""
        if EXECUTION_CONTROLLER_FINALIZER not in work.metadata.finalizers:
            return None
        try:
            is_there = await self._removal.remove(work, found=self._found.has(work))
        except ObjectKept as error:
            self._post(work, object_kept(error.reason, str(error)))
            return self._plane.clock.now() + LOOK_AGAIN
        except RemovalRefused as error:
            self._blocked_removals.is_refused(work, str(error))
            raise
        if is_there:
            await self._blocked_removals.goes_on(work)
            return self._plane.clock.now() + timedelta(seconds=RETRY_SECONDS)
        if self._removes_again:
            self._remember(work)
        await self._take_finalizer_off(work)
        return None

    async def _let_go(self, work: Work) -> datetime | None:
        """Lets go of a Work whose object stays in the member: another Work can take it over, even while the member is
        away. What is released waits for the member, and is nobody's afterwards (Holds: S6); so is what a policy
        preserves in a cluster that leaves."""
        self._carried_out.pop(work.name, None)
        is_nobodys = is_released(work) or (not has_shared(work) and await self._removal.is_leaving())
        if is_nobodys and not await self._release(work):
            return self._plane.clock.now() + timedelta(seconds=RETRY_SECONDS)
        if EXECUTION_CONTROLLER_FINALIZER in work.metadata.finalizers:
            await self._take_finalizer_off(work)
        return None

    async def _release(self, work: Work) -> bool:
        """Tells whether nothing is left to be released; a cluster that leaves while it is away is not waited for."""
        cluster = self._works.cluster
        if cluster is None or not cluster.is_ready:
            return cluster is None or cluster.is_being_deleted
        if EXECUTION_CONTROLLER_FINALIZER not in work.metadata.finalizers:
            return True
        try:
            return not await self._removal.release(work)
        except RemovalRefused as error:
            self._blocked_removals.is_refused(work, str(error))
            raise

    def _shared_rests_until(self, work: Work) -> datetime | None:
        """Instant at which to look again at the deletion of what others may live in; None when it may be made. Somebody
        may have deleted the Work alone, and whoever wants it has to say so first. Holds: S5."""
        if not has_shared(work):
            return None
        now = self._plane.clock.monotonic()
        left = self._resting.setdefault(work.metadata.uid, now) + SHARED_REST_SECONDS - now
        keep_latest(self._resting, MAX_REMEMBERED)
        return self._plane.clock.now() + timedelta(seconds=left + ROUNDING_SECONDS) if left > 0 else None

    async def _take_finalizer_off(self, work: Work) -> None:
        self._resting.pop(work.metadata.uid, None)
        self._blocked_removals.forget(work.name)
        self._found.forget(work.name)
        finalizers = [f for f in work.metadata.finalizers if f != EXECUTION_CONTROLLER_FINALIZER]
        await self._plane.client.patch(
            WORKS,
            work.name,
            {"metadata": {"finalizers": finalizers}},
            work.namespace,
            resource_version=work.metadata.resource_version,
        )

    async def _keep_removed(self, name: str) -> datetime | None:
        """Removes once more what has come back of a Work that is gone; not before it is known who else has returned."""
        work = self._carried_out.get(name)
        if work is None or work.metadata.deletion_timestamp is None:
            return None
        now, cluster = self._plane.clock.now(), self._works.cluster
        if cluster is None or not has_settled(cluster, now):
            return now + timedelta(seconds=RETRY_SECONDS)
        return now + LOOK_AGAIN if await self._removal.remove(work, ended=True) else None

    def _remember(self, work: Work) -> None:
        self._carried_out[work.name] = work
        while len(self._carried_out) > MAX_REMEMBERED:
            oldest = next(iter(self._carried_out))
            del self._carried_out[oldest]
            self._returned.discard(oldest)

    def _post(self, work: Work, *conditions: Condition) -> None:
        """Posts conditions. That the Work is applied, or another generation as well, is no news: what comes of it
        is."""
        now = self._plane.clock.now()

        def change(status: WorkStatus) -> WorkStatus:
            for condition in conditions:
                status = msgspec.structs.replace(status, conditions=set_condition(status.conditions, condition, now))
            return status

        before = {condition.type: condition.status for condition in work.status.conditions}
        for said in (
            each for each in conditions if each.type == DISPATCHING and before.get(DISPATCHING) != each.status
        ):
            self._recorder.step(reference_of(WORKS, work), "WorkDispatching", said.message, users_namespace(work))
        is_news = any(before.get(condition.type, "True") != condition.status for condition in conditions)
        status_change = StatusChange[Work](change, partial(self._controller.failed, work.name))
        within = NEWS_SECONDS if is_news else PROGRESS_SECONDS
        self._works.post(work, self._controller.name, status_change, within=within)


def _unnamed(work: Work) -> list[str]:
    """Problems of manifests that do not say which object they are of."""
    manifests = enumerate(work.spec.workload.manifests)
    found = [f"spec.workload.manifests[{place}]" for place, each in manifests if not is_of_an_object(each)]
    return [f"{field}: set apiVersion, kind and metadata.name" for field in found]


class ApplyFailed(WorldError):
    """Failure to apply some manifests of a Work; the Work says which."""


def _is_other_order(old: Work | None, new: Work) -> bool:
    """Tells whether there is something else to do than before; what a Work reports is no order.

    A control plane that was restored gives a generation once more, to other contents.
    """
    return old is None or _order_in(old) != _order_in(new) or not is_equal(old.spec, new.spec)


def _order_in(work: Work) -> tuple[object, ...]:
    of = work.metadata
    claims = of.annotations.get(KEEPS_CLAIMS_ANNOTATION)
    return of.uid, of.generation, of.deletion_timestamp, claims, work.is_leaving, work.is_removal_ordered


def _applied(work: Work, problems: list[str], held: list[str]) -> Condition:
    generation = work.metadata.generation
    if held and not problems:
        message = shortened(HELD + "; ".join(held), MOST_MESSAGE)
        return Condition(APPLIED, "False", "VolumesHeld", message, observed_generation=generation)
    if problems:
        return Condition(
            type=APPLIED,
            status="False",
            reason="AppliedFailed",
            message=shortened("Failed to apply all manifests: " + "; ".join((*problems, *held)), MOST_MESSAGE),
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
