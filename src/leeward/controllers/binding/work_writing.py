"""The Works of a binding, written: made, brought up to date, taken over, deleted.

A Work that belongs to another living binding is left as it is: two bindings that both had their way would write it in
turn without end. Who has a claim is told in `core.execution.claims`; that a binding is gone only the API server itself
can say (Holds: S5, S9).

A Work that somebody else has deleted is made anew after a while: `karmadactl unregister` deletes the Works of a cluster
until it finds none.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

import msgspec

from controller_runtime import NEWS_SECONDS, Key, StatusChange, StayingObjects, keep_latest, key_of, version_of
from kubeapi.codec import to_wire
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, is_same_state
from kubeapi.unstructured import with_annotations
from kubeclient import AlreadyExists, WorldError
from leeward.api.meta import Condition, find_condition
from leeward.api.names import (
    LEAVING_CONDITION,
    REFUSED_CONDITION,
    RENDERED_ANNOTATION,
    WORK_ID_LABEL,
    cluster_of_execution_space,
)
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.rollout import ROLLOUT_CONDITION
from leeward.api.work import CLUSTER_NOT_READY, Binding, Work
from leeward.controllers.binding.foreign_deletions import ForeignDeletions
from leeward.core.binding_status import tell
from leeward.core.copies.evidence import is_applied, is_told_by_karmada
from leeward.core.copies.job_copies import template_of_job
from leeward.core.execution.claims import Owner, has_claim, holds_another_object, owners_of
from leeward.core.execution.held_volumes import made_for
from leeward.core.execution.refusal import works_taken
from leeward.core.execution.works import WORK_MARKS, is_of_wanted_template, wanted_replicas
from leeward.core.left_to_shards import renders
from leeward.core.left_works import LEFT_ANNOTATION
from leeward.core.overrides.rendering import OverrideFailure
from leeward.core.propagation.reach import Reach
from leeward.core.quota.static_assignments import quota_of_work
from leeward.runtime.binding_kinds import CLUSTER_RESOURCE_BINDING, RESOURCE_BINDING
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.reassignment import delete_work, mark_removal, release_objects

MAX_REMEMBERED = 10_000


class TakenWork(Exception):
    """A Work that belongs to another binding, or to another object; the message says to whom."""


@dataclass(slots=True)
class WrittenWorks:
    """Outcome of writing a binding's Works, by cluster: those that are to be; `taken` are another's, with whose."""

    taken: dict[str, str]
    has_own: bool
    not_rendered: Mapping[str, OverrideFailure]
    left: frozenset[str] = frozenset()
    """The clusters whose Work is left as it is, though it is to be another."""
    look_at: datetime | None = None
    """Instant at which there may be more to do, if that can be told."""
    rollout: Condition | None = None
    works: dict[str, Work] = field(default_factory=dict[str, Work])
    failures: list[WorldError] = field(default_factory=list[WorldError])
    kept: list[str] = field(default_factory=list[str])
    """The clusters that are to have no Work, and keep it while nothing new may be made elsewhere."""
    waiting: dict[str, str] = field(default_factory=dict[str, str])
    """The clusters whose copy is not wanted, and waits to go, with the reason."""
    needs: Mapping[str, int] = field(default_factory=dict[str, int])
    """Replicas that each target is to have, where a copy goes (`core.copies.disruption`)."""

    @property
    def stands_still(self) -> bool:
        """Tells whether nothing is written: who comes second to a template makes no part of it its own."""
        return bool(self.taken) and not self.has_own and not self.works

    @property
    def told(self) -> Mapping[str, Condition | None]:
        """Conditions of the binding, by type."""
        return {REFUSED_CONDITION: works_taken(self.taken), ROLLOUT_CONDITION: self.rollout}


class WorkWriting:
    def __init__(
        self,
        plane: ControlPlane,
        reach: Reach,
        changed: Callable[[Work], None] = lambda work: None,
        failed: Callable[[Key, WorldError], None] = lambda key, error: None,
    ) -> None:
        """`changed` hears of a state that somebody else has written while a write of ours was under way, `failed` of a
        status that could not be written, with the key of the binding."""
        self._plane = plane
        self._failed = failed
        self._changed = changed
        self._reach = reach
        self._works, self._clusters = plane.informers.of(WORKS), plane.informers.of(CLUSTERS)
        self._is_shard = plane.share.shard is not None
        self._under_way: set[Key] = set()
        """The Works that are being written."""
        self.said = StayingObjects[Key, Work](is_same_state)
        """Works of clusters that are away, as they were looked at, with the word that they wait for these."""
        self.foreign = ForeignDeletions(plane)
        self._gone: dict[Key, Mapping[str, str]] = {}
        """Annotations of the Works that are gone."""
        self._kinds = {bool(k.resource.namespaced): k.resource for k in (RESOURCE_BINDING, CLUSTER_RESOURCE_BINDING)}

    def in_turn(self, present: Mapping[str, Work], desired: Mapping[str, Manifest]) -> list[str]:
        """The clusters; a shard has those last whose Work is written."""
        if not self._is_shard:
            return list(desired)
        return sorted(desired, key=lambda name: name not in present or not _is_as_desired(present[name], desired[name]))

    async def taken(
        self, binding: Binding, present: Mapping[str, Work], desired: Mapping[str, Manifest]
    ) -> dict[str, str]:
        """The clusters whose Works are another's, with whose. Nothing is written to find that out."""
        taken: dict[str, str] = {}
        for cluster, manifest in desired.items():
            key = key_of(manifest)
            work = self._works.get(key.name, key.namespace) if cluster not in present else None
            if work is None:
                continue
            try:
                await self.refuse_taken(work, binding, manifest)
            except TakenWork as error:
                taken[cluster] = str(error)
        return taken

    async def refuse_taken(self, work: Work, binding: Binding, manifest: Manifest) -> None:
        """Raises: TakenWork when the binding may not write `manifest` to this Work; WorldError."""
        if quota := quota_of_work(work):
            raise TakenWork(f"Work {work.name} belongs to FederatedResourceQuota {'/'.join(quota)}")
        own = Owner(*key_of(binding))
        owners = set(owners_of(work))
        for owner in sorted(owners - {own}):
            if has_claim(await self._find(owner), work, self._reach):
                raise TakenWork(f"Work {work.name} belongs to {owner}")
        if own not in owners and (other := holds_another_object(work, manifest)):
            raise TakenWork(f"Work {work.name} is for {other}")

    async def sync(
        self,
        binding: Binding,
        work: Work | None,
        manifest: Manifest,
        with_id: Callable[[str], Manifest],
        synced: WrittenWorks | None = None,
    ) -> Work:
        """Makes the binding's Work, or brings it to `manifest`, after those of `synced`. Raises: TakenWork, WorldError.

        As a shard's last one it says which generation all of them render; it is written anyway.
        """
        if work is None:
            return await self._create(binding, manifest, with_id, synced)
        if work.metadata.deletion_timestamp is not None:
            if is_of_wanted_template(work, manifest):
                return await self.foreign.keep(work)
            preserve = bool(binding.spec.preserve_resources_on_deletion)
            return await self.mark(work, preserve=preserve)
        if find_condition(work.status.conditions, LEAVING_CONDITION) is not None:
            self._say(binding, work, None)
        return await self._update(work, manifest, self._says(binding, manifest, synced))

    async def preserve(self, work: Work, *, preserve: bool) -> Work:
        """Has the objects of a Work stay when it is deleted, or go with it. Raises: WorldError."""
        if bool(work.spec.preserve_resources_on_deletion) == preserve:
            return work
        patch, version = {"spec": {"preserveResourcesOnDeletion": preserve}}, work.metadata.resource_version
        return await self._plane.client.patch(WORKS, work.name, patch, work.namespace, resource_version=version)

    async def leave(self, binding: Binding, work: Work, leaving: Condition | None) -> None:
        """Has a Work whose copy is not wanted stay for now, and say why. Of one that may not be there as the Work has
        it nothing is made any more, by Karmada's own agent either. Raises: WorldError."""
        if not (is_applied(work) or is_told_by_karmada(work) or work.spec.suspend_dispatching):
            patch, version = {"spec": {"suspendDispatching": True}}, work.metadata.resource_version
            work = await self._plane.client.patch(WORKS, work.name, patch, work.namespace, resource_version=version)
        self._say(binding, work, leaving)

    def _say(self, binding: Binding, work: Work, leaving: Condition | None) -> None:
        change = partial(tell, told={LEAVING_CONDITION: leaving}, now=self._plane.clock.now())
        self.said.forget(key_of(work))
        if leaving is not None and leaving.reason == CLUSTER_NOT_READY:
            self.said.put(key_of(work), msgspec.structs.replace(work, status=change(work.status)))
        told = StatusChange[Work](change, partial(self._failed, key_of(binding)))
        self._plane.statuses.of(WORKS).post(work, "unwanted-works", told, within=NEWS_SECONDS)

    async def give_up(self, work: Work, *, preserve: bool, releases: bool = False) -> None:
        """Has a Work go with its binding. What it was written with last may be older than what the binding asks for: it
        may be none that can be rendered. `releases` has what is preserved belong to nobody here any more.

        Raises: WorldError. Holds: S1, S6.
        """
        is_going = work.metadata.deletion_timestamp is not None
        is_there = not is_going or work.is_removal_held or bool(work.spec.preserve_resources_on_deletion)
        if preserve and releases and is_there:
            work = await release_objects(self._plane.client, work)
        elif is_going and not (preserve and work.is_removal_held):
            work = await self.mark(work, preserve=preserve)
        else:
            work = await self.preserve(work, preserve=preserve)
        if not is_going:
            await self.delete(work)

    async def leave_to_next(self, work: Work, assigned: int) -> None:
        """Marks a Work that its deleted binding leaves, with the replicas that it had assigned. Raises: WorldError."""
        mark, version = f"{assigned}/{work.metadata.uid}", work.metadata.resource_version
        if work.metadata.annotations.get(LEFT_ANNOTATION) != mark:
            patch = {"metadata": {"annotations": {LEFT_ANNOTATION: mark}}}
            marked = await self._plane.client.patch(WORKS, work.name, patch, work.namespace, resource_version=version)
            self._works.remember(marked)

    def note_change(self, old: Work | None, new: Work | None) -> None:
        """Follows Works that others change. One whose successor is not there yet may have left something behind."""
        self.foreign.note_change(old, new)
        if old is not None and new is None:
            self._gone[key_of(old)] = old.metadata.annotations
            keep_latest(self._gone, MAX_REMEMBERED)

    def is_written_here(self, work: Work) -> bool:
        """Tells whether a change of a Work is ours, as far as is known: whoever has it written goes on with it."""
        return key_of(work) in self._under_way or self.said.has(key_of(work), lambda: work)

    async def mark(self, work: Work, **marks: bool) -> Work:
        """Marks a Work that is being removed, as `mark_removal` does. Raises: WorldError."""
        return await mark_removal(self._plane.client, work, **marks, pulled=self.foreign.is_pulled(work))

    async def delete(self, work: Work) -> None:
        self.foreign.except_ours(work)
        await delete_work(self._plane.client, work, pulled=self.foreign.is_pulled(work))

    def _says(self, binding: Binding, manifest: Manifest, synced: WrittenWorks | None) -> Mapping[str, str]:
        """Annotations of a Work that is written: the last one of a shard says which generation all of them render."""
        if synced is None or not self._is_shard:
            return {}
        done = {cluster_of_execution_space(key_of(manifest).namespace), *synced.works}
        return renders(binding) if wanted_replicas(binding.spec).keys() <= done else {}

    async def _create(
        self, binding: Binding, manifest: Manifest, with_id: Callable[[str], Manifest], synced: WrittenWorks | None
    ) -> Work:
        """A Work that is there, though it was not listed, keeps its permanent id: its objects carry it (S9, S12)."""
        key = key_of(manifest)
        try:
            cluster = self._clusters.get(cluster_of_execution_space(key.namespace))
            first = made_for(cluster, binding, self._gone.get(key)) if cluster is not None else {}
            marks = {**_written_here(manifest), **first, **self._says(binding, manifest, synced)}
            made = self._plane.client.create(WORKS, with_annotations(manifest, marks), key.namespace)
            return await self._write(key, made)
        except AlreadyExists:
            work = await self._plane.client.get(WORKS, key.name, key.namespace)
            await self.refuse_taken(work, binding, manifest)
            if work.metadata.deletion_timestamp is not None and Owner(*key_of(binding)) not in owners_of(work):
                raise TakenWork(f"Work {work.name} of a binding that is gone is being deleted") from None
            work_id = work.metadata.labels.get(WORK_ID_LABEL, "")
            return await self.sync(binding, work, with_id(work_id) if work_id else manifest, with_id, synced)

    async def _update(self, work: Work, manifest: Manifest, says: Mapping[str, str]) -> Work:
        """Replaces the whole Work: a merge patch would lose the nulls in its manifest, and find them missing again."""
        if _is_as_desired(work, manifest):
            return work
        present = {field: value for field, value in to_wire(work).items() if field != "status"}
        wanted = with_annotations(_brought_to(present, manifest), says)
        return await self._write(key_of(work), self._plane.client.update(WORKS, wanted, work.name, work.namespace))

    async def _write(self, key: Key, write: Awaitable[Work]) -> Work:
        """The Work as it was written. What others made of it before the answer came is told after it."""
        self._under_way.add(key)
        try:
            written = await write
            self._works.remember(written)
        finally:
            self._under_way.discard(key)
        known = self._works.get(key.name, key.namespace)
        if known is not None and version_of(known) != version_of(written):
            self._changed(known)
        return written

    async def _find(self, owner: Owner) -> Binding | None:
        """None when there is no such binding; the cache alone does not say so."""
        resource = self._kinds[bool(owner.namespace)]
        found: Binding | None = self._plane.informers.of(resource).get(owner.name, owner.namespace)
        return found or await self._plane.client.find(resource, owner.name, owner.namespace)


def _is_as_desired(work: Work, desired: Manifest) -> bool:
    """Tells whether `_brought_to` changes nothing. The manifests are compared as they are: a Work is looked at whenever
    one of its binding reports something."""
    metadata, asked, spec = work.metadata, desired["metadata"], desired["spec"]
    marks = ((metadata.labels, asked.get("labels")), (metadata.annotations, asked.get("annotations")))
    flags = to_wire(work.without_manifests().spec)
    return (
        all(not wanted or is_equal({**_without_stale(present), **wanted}, present) for present, wanted in marks)
        and is_equal(list(work.spec.workload.manifests), spec["workload"]["manifests"])
        and is_equal({**flags, "workload": spec["workload"]}, spec)
    )


def _brought_to(present: Manifest, desired: Manifest) -> Manifest:
    """A Work with what is desired of it; labels and annotations of others stay, but for those that went stale."""
    metadata, asked = present["metadata"], desired["metadata"]
    marks = {
        field: {**_without_stale(metadata.get(field, {})), **asked[field]}
        for field in ("labels", "annotations")
        if asked.get(field)
    }
    wanted = {**present, "metadata": {**metadata, **marks}, "spec": desired["spec"]}
    return wanted if is_equal(wanted["spec"], present["spec"]) else with_annotations(wanted, _written_here(wanted))


def _written_here(work: Manifest) -> Mapping[str, str]:
    """Annotations of a Work whose contents are ours."""
    return {RENDERED_ANNOTATION: "true", **template_of_job(work["spec"]["workload"]["manifests"])}


def _without_stale(marks: Mapping[str, Any]) -> Manifest:
    return {key: value for key, value in marks.items() if key not in WORK_MARKS}
