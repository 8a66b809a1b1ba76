"""The work status controller of one member: what the member says of the applied objects, written into their Works.

The condition `leeward.dev/Reflected` says which generation of the Work the statuses belong to: health that was
reported before the Work's present contents were applied is no health. It is dated by the last change of the ready
replicas, so that a copy which is only restarting is not taken for one that serves nothing (Holds: S1). What was read
after the cluster had been seen Ready is dated no earlier than that, whichever clock dated the return; a date that is
yet to come was given by a clock that was ahead, and says nothing of when it was read.

The report of a complete Job outlives the Job in its member: it is not done again (Holds: S1).

Karmada: pkg/controllers/status/work_status_controller.go; drift is mended by the execution controller, which follows
the same objects.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

import msgspec

from controller_runtime import NEWS_SECONDS, PROGRESS_SECONDS, StatusChange, StayingObjects, key_of, reference_of
from kubeapi.meta import Manifest, is_same_state
from kubeapi.resource import Resource
from leeward.api.meta import Condition, find_condition, remove_condition, set_condition
from leeward.api.names import REFLECTED_CONDITION
from leeward.api.resource import WORKS
from leeward.api.work import ManifestStatus, ResourceIdentifier, Work, WorkStatus, is_of_an_object
from leeward.controllers.owned_claims import OwnedClaims
from leeward.core.cluster_health.watched_time import CLOCKS_APART
from leeward.core.copies.evidence import served_counts
from leeward.core.copies.job_copies import is_complete_job, with_template
from leeward.core.eviction.volumes import UNKNOWN, owned_claims_in, with_owned_claims
from leeward.core.execution.settled import is_reported
from leeward.core.execution.work_generation import carries_generation, is_left, shows
from leeward.core.interpreter.own_replicas import with_own_replicas
from leeward.core.interpreter.plausible import MAX_STATUS_BYTES, plausible_status
from leeward.core.interpreter.resource_health import ResourceHealth, health_rules_in
from leeward.core.interpreter.scripts import Operation
from leeward.runtime.binding_kinds import users_namespace
from leeward.runtime.controller_context import ControlPlane, Member
from leeward.runtime.discovery import UnknownKind
from leeward.runtime.interpreter import NotInterpreted
from leeward.runtime.member_works import MemberWorks

log = logging.getLogger(__name__)
ASK_AGAIN = timedelta(seconds=60)
"""Pause after which a member is asked again for claims that it could not tell."""


class WorkStatusController:
    def __init__(self, plane: ControlPlane, member: Member, works: MemberWorks, *, exact_health: bool = False) -> None:
        """`exact_health`: a kind without a rule is healthy once it is applied, and owns nothing, as in Karmada."""
        self._plane = plane
        self._exact_health = exact_health
        self._member = member
        self._works = works
        self._controller = plane.controller(f"work-status-controller/{member.name}", self.reconcile)
        self._recorder = plane.recorder("work-status-controller")
        self._staying = StayingObjects[str, Work](is_same_state)
        self._claims = OwnedClaims(member, self._controller.queue.add)
        self._backlinks = self._works.backlinks(self._add, lambda name: True, is_reported)

    def start(self) -> None:
        asked = (Operation.STATUS, Operation.HEALTH)
        self._works.subscribe(self._add, self._matters, is_reported, asked=asked)
        self._works.when_applied(self._controller.queue.add)
        self._controller.start(self._member.supervisor)

    def _add(self, name: str, late: bool) -> None:
        """Nothing is reported of a Work that is not applied: whoever applies it says so (`when_applied`)."""
        work = self._works.known(name)
        if work is None or work.applied is not None:
            self._controller.queue.add(name, late=late)

    def _matters(self, old: Work | None, new: Work) -> bool:
        if old is not None and self._staying.has(new.name, lambda: self._works.expected(new).without_manifests()):
            return False
        self._staying.forget(new.name)
        return True

    async def reconcile(self, name: str) -> datetime | None:
        await self._backlinks.wait_listed(name)
        work = await self._works.get(name)
        if work is None or work.metadata.deletion_timestamp is not None or work.applied is None:
            return None
        since, stored = self._works.ready_since, self._works.stored(name) or work
        anew = since is not None and not _is_reflected_since(stored.status, since, self._plane.clock.now())
        statuses: list[ManifestStatus] = []
        kept_bytes = 0
        carried, there = True, False
        for ordinal, manifest in enumerate(work.spec.workload.manifests):
            if not is_of_an_object(manifest):
                carried = False
                continue
            resource = await self._resource(manifest)
            observed = await self._observed(work, resource, manifest, anew) if resource is not None else None
            there = there or observed is not None or resource is None
            if resource is None or observed is None:
                carried = False
                continue
            carried = carried and await self._carries(observed, work, manifest)
            status = await self._manifest_status(work, ordinal, resource, observed, MAX_STATUS_BYTES - kept_bytes)
            kept_bytes += status.size
            statuses.append(status.reported)
        if kept_bytes > MAX_STATUS_BYTES:
            log.warning(
                "%s: cluster %s reports %d bytes of status, of which the rest is left out",
                name,
                self._member.name,
                kept_bytes,
            )
        if not (there or self._exact_health) and is_complete_job(stored):
            statuses, carried = list(stored.status.manifest_statuses), True
        carried = carried or (work.is_leaving and not there)
        if carried or anew or not _speaks_of_another_generation(work):
            confirms = anew and find_condition(stored.status.conditions, REFLECTED_CONDITION) is not None
            self._post(work, tuple(statuses), carried, since, confirms=confirms)
            if latest := self._works.known(name):
                self._staying.put(name, latest.without_manifests())
        return None

    async def _carries(self, observed: Manifest, work: Work, manifest: Manifest) -> bool:
        """Tells whether the object is what this generation of the Work says, and stays: nobody relies on what goes."""
        if "deletionTimestamp" in observed["metadata"]:
            return False
        if carries_generation(observed, work, manifest):
            return True
        if not is_left(observed, work):
            return False
        try:
            return shows(observed, manifest, await self._plane.interpreter.retain(manifest, observed))
        except NotInterpreted:
            return False

    async def _manifest_status(
        self, work: Work, ordinal: int, resource: Resource[Manifest], observed: Manifest, left: int
    ) -> "_Reported":
        """`left`: how many bytes the status may have; of one that has more, nothing is known."""
        interpreter = self._plane.interpreter
        told = await self._interpreted(work, "ReflectStatus", observed, interpreter.status, None)
        kept = plausible_status(told, left)
        status = with_owned_claims(with_template(kept.status, observed), await self._claims_of(work, ordinal, observed))
        status = status if self._exact_health else with_own_replicas(status, observed)
        health = ResourceHealth.UNKNOWN
        if kept.size <= left:
            has_status = not self._exact_health and self._member.server.discovery.has_status(resource)
            judge = partial(interpreter.health, has_status=has_status)
            health = await self._interpreted(work, "InterpretHealth", observed, judge, ResourceHealth.UNKNOWN)
        identifier = _identifier(ordinal, resource.plural, observed)
        return _Reported(ManifestStatus(identifier=identifier, status=status, health=health.value), kept.size)

    async def _claims_of(self, work: Work, ordinal: int, observed: Manifest) -> Sequence[str] | None:
        """Claims that belong to the object. Where the member cannot say, those that were told last, or None: then it is
        asked again."""
        found = () if self._exact_health else await self._claims.of(work.name, observed)
        if found is not None:
            return found
        self._controller.queue.add_at(work.name, self._plane.clock.now() + ASK_AGAIN)
        before = [each.status for each in work.status.manifest_statuses if each.identifier.ordinal == ordinal]
        told = next((owned_claims_in(status) for status in before), "")
        return None if told in ("", UNKNOWN) else told.split(", ")

    async def _interpreted(
        self, work: Work, question: str, observed: Manifest, ask: Callable[[Manifest], Awaitable[Any]], otherwise: Any
    ) -> Any:
        """Answer of the interpreter, or `otherwise` when it has none: that is told, and is neither good nor bad."""
        try:
            return await ask(observed)
        except NotInterpreted as error:
            message = f"{observed['kind']} {key_of(observed)}: {error}"
            self._recorder.warning(WORKS, work, f"{question}Failed", message)
            if error.again is not None:
                self._controller.queue.add_at(work.name, self._plane.clock.now() + error.again)
            return otherwise

    async def _resource(self, manifest: Manifest) -> Resource[Manifest] | None:
        """Resource as which the member serves a kind, None when it does not."""
        try:
            return await self._member.server.discovery.resource(manifest["apiVersion"], manifest["kind"])
        except UnknownKind:
            return None

    async def _observed(
        self, work: Work, resource: Resource[Manifest], manifest: Manifest, anew: bool
    ) -> Manifest | None:
        """The member's object, None when it is not there, or not ours.

        From the cache; `anew` asks the member itself where the cache may be older than the cluster's recovery.
        """
        informer = self._backlinks.follow(resource)
        key = key_of(manifest)
        observed = informer.get(key.name, key.namespace)
        is_of_now = observed is not None and self._works.answers.reach(resource, observed, self._works.ready_since)
        if not is_of_now and (anew or not informer.synced):
            observed = await self._ask(resource, key.name, key.namespace)
        return observed if observed is not None and self._works.owns(work, observed) else None

    async def _ask(self, resource: Resource[Manifest], name: str, namespace: str) -> Manifest | None:
        """Raises: NotServed, and then nothing is reported of the Work: a kind that is served late is no absence, of
        which nobody would be told when it ends (Holds: S5)."""
        return await self._member.server.client.find(resource, name, namespace)

    def _post(
        self, work: Work, statuses: tuple[ManifestStatus, ...], carried: bool, since: datetime | None, *, confirms: bool
    ) -> None:
        """`since`: when the cluster became Ready. `confirms`: what is stored of the Work is from before that.

        Whether this is the first status since then is told by what is there when it is written: one that was posted
        before may still wait, and this takes its place.
        """
        now = self._plane.clock.now()
        dated = now if since is None else max(now, since)
        reflected = Condition(
            type=REFLECTED_CONDITION,
            status="True" if carried else "False",
            reason="Reflected" if carried else "NotYetApplied",
            message=("the member carries this generation of the Work" if statuses else "the member has nothing of it")
            if carried
            else "the member does not carry this generation of the Work yet",
            observed_generation=work.metadata.generation if carried else 0,
        )

        def change(status: WorkStatus) -> WorkStatus:
            is_first = since is not None and not _is_reflected_since(status, since, now)
            is_news = is_first or served_counts(statuses) != served_counts(status.manifest_statuses)
            before = remove_condition(status.conditions, REFLECTED_CONDITION) if is_news else status.conditions
            return msgspec.structs.replace(
                status, manifest_statuses=statuses, conditions=set_condition(before, reflected, dated)
            )

        status_change = StatusChange[Work](change, partial(self._controller.failed, work.name), self._tell)
        within = NEWS_SECONDS if confirms or _is_news(work, statuses) else PROGRESS_SECONDS
        self._works.post(work, self._controller.name, status_change, within=within)

    def _tell(self, before: Work, after: Work) -> None:
        """Tells of what is reported for the first time, and of health that has changed; what counts of the rest stands
        in the status."""
        known = before.status.manifest_statuses
        about, namespace = reference_of(WORKS, after), users_namespace(after)
        for ordinal, reported in enumerate(after.status.manifest_statuses):
            named = "/".join((reported.identifier.kind, reported.identifier.namespace, reported.identifier.name))
            if not known:
                self._recorder.step(
                    about, "ReflectStatusSucceed", f"Reflect status for object({named}) succeed.", namespace
                )
            is_news = ordinal >= len(known) or known[ordinal].health != reported.health
            if is_news and reported.health != ResourceHealth.UNKNOWN.value:
                message = f"Interpret health of object({named}) as {reported.health.lower()}."
                self._recorder.step(about, "InterpretHealthSucceed", message, namespace)


def _is_news(work: Work, statuses: tuple[ManifestStatus, ...]) -> bool:
    """Tells whether nothing is awaited (all is healthy, or of a kind that nobody judges), or something is as it was not
    in this generation of the Work; the rest is progress."""
    if statuses and all(_is_settled(status) for status in statuses):
        return True
    before = _health(work.status.manifest_statuses)
    return bool(before) and not _speaks_of_another_generation(work) and _health(statuses) != before


def _is_settled(status: ManifestStatus) -> bool:
    rules = health_rules_in(status)
    return rules.is_well or not rules.is_known


def _health(statuses: tuple[ManifestStatus, ...]) -> list[str]:
    return [status.health for status in statuses]


def _is_reflected_since(status: WorkStatus, since: datetime, now: datetime) -> bool:
    reflected = find_condition(status.conditions, REFLECTED_CONDITION)
    if reflected is None:
        return False
    at = reflected.last_transition_time or since
    return at == since or since <= at <= now + CLOCKS_APART


def _speaks_of_another_generation(work: Work) -> bool:
    """Tells whether the status is of another generation: then nobody trusts what stands there, and that it is not
    carried yet need not be written."""
    reflected = find_condition(work.status.conditions, REFLECTED_CONDITION)
    return reflected is not None and reflected.observed_generation not in (0, work.metadata.generation)


class _Reported(NamedTuple):
    """`size` is that of the status in bytes, also where it was too large to be kept."""

    reported: ManifestStatus
    size: int


def _identifier(ordinal: int, plural: str, observed: Manifest) -> ResourceIdentifier:
    group, _, version = observed["apiVersion"].rpartition("/")
    key = key_of(observed)
    return ResourceIdentifier(
        ordinal=ordinal,
        group=group,
        version=version,
        kind=observed["kind"],
        resource=plural,
        namespace=key.namespace,
        name=key.name,
    )
