"""The binding controller: one Work for each cluster that needs one, no other, and the statuses added up.

Karmada: pkg/controllers/binding, pkg/controllers/status/rb_status_controller.go. Differs: only what Works report of
their present generation is aggregated (BEHAVIOUR 8.11), and binding and statuses are kept by one controller.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import TypeVar

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.codec import to_wire
from leeward.api.meta import Manifest, set_condition
from leeward.api.names import WORK_ID_LABEL, cluster_of_execution_space
from leeward.api.resource import CLUSTERS, WORKS, Resource
from leeward.api.work import Binding, ResourceBindingStatus, Work
from leeward.client import AlreadyExists, NotFound, NotServed, WorldError
from leeward.controllers.binding_events import BindingEvents
from leeward.core.execution.aggregate import aggregate, rendered_generation
from leeward.core.execution.removal import is_removal_held, removals_blocked, with_blocked_removals
from leeward.core.execution.works import build_works, evicted_from
from leeward.core.failover.doubt import is_failing
from leeward.core.failover.evidence import trusted
from leeward.core.failover.outage import marked, marks_in
from leeward.core.interpreter import aggregate_status, replicas_of
from leeward.runtime.binding_kinds import BindingKind
from leeward.runtime.identity import Key, key_of, version_of
from leeward.runtime.index import Index
from leeward.runtime.plane import ControlPlane
from leeward.runtime.reassignment import give_up_objects, keep_objects
from leeward.runtime.statuses import BOOKKEEPING_SECONDS, NEWS_SECONDS, PROGRESS_SECONDS, Change, Said

T = TypeVar("T")


class BindingController:
    def __init__(self, plane: ControlPlane, kind: BindingKind, *, holds_removals: bool = True) -> None:
        """`holds_removals`: what a cluster was to lose while it was away stays until what replaces it is well."""
        self._holds_removals = holds_removals
        self._plane = plane
        self._kind = kind
        self._events = BindingEvents(plane, kind)
        self._bindings = plane.informers.of(kind.resource)
        self._clusters = plane.informers.of(CLUSTERS)
        self._works = plane.informers.of(WORKS)
        self._works_of = Index(self._works, kind.key_of_work)
        self._controller = plane.controller(kind.controller_name, self.reconcile)

    def start(self) -> None:
        self._bindings.on_change(self._binding_changed)
        self._works.on_change(self._work_changed)
        self._clusters.on_change(self._cluster_changed)
        self._controller.start(self._plane.supervisor)

    async def reconcile(self, key: Key) -> datetime | None:
        for informer in (self._clusters, self._works, self._bindings):
            await informer.wait_synced()
        found: Binding | None = self._bindings.get(key.name, key.namespace)
        if found is None:
            await self._remove_orphans(key)
            return None
        binding = self._plane.statuses.of(self._kind.resource).expected(found)
        if binding.metadata.deletion_timestamp is not None:
            await self._dissolve(binding)
            return None
        template = await self._template(binding)
        if template is None:
            return None
        started = self._plane.clock.monotonic()
        works, failures = await self._sync_works(binding, template)
        self._plane.metrics.propagation.synced_works(self._plane.clock.monotonic() - started, failed=bool(failures))
        await self._report(binding, template, works)
        if failures:
            self._events.not_synced(binding, failures)
            raise failures[0]
        return None

    async def _template(self, binding: Binding) -> Manifest | None:
        """The resource template; None when it is gone, or replaced by another of the same name."""
        wanted = binding.spec.resource
        resource = await self._plane.server.discovery.resource(wanted.api_version, wanted.kind)
        templates = self._plane.informers.of(resource)
        await templates.wait_synced()
        template = templates.get(wanted.name, wanted.namespace)
        if template is not None and version_of(template) < int(wanted.resource_version or 0):
            template = await self._plane.client.get(resource, wanted.name, wanted.namespace)
        if template is None or (wanted.uid and template["metadata"]["uid"] != wanted.uid):
            return None
        return template

    async def _sync_works(self, binding: Binding, template: Manifest) -> tuple[dict[str, Work], list[WorldError]]:
        """Creates, updates and deletes Works. Returns those that are to be, by cluster, and what went wrong.

        What fails for one cluster holds back no other (Holds: L4).
        """
        present = {cluster_of_execution_space(w.namespace): w for w in self._works_of.get(key_of(binding))}
        identities = {cluster: w.metadata.labels.get(WORK_ID_LABEL, "") for cluster, w in present.items()}
        desired = build_works(binding, template, identities, self._plane.randomness.uid)
        purging = _is_purging(binding, present)
        synced: dict[str, Work] = {}
        failures: list[WorldError] = []
        has_written = False
        for cluster, manifest in desired.items():
            work = present.get(cluster)
            if work is None and self._is_leaving(cluster):
                continue
            if purging and (work is None or _grows(work, manifest)):
                continue
            try:
                with_id = partial(_work_with_id, binding, template, cluster)
                synced[cluster] = await self._sync_work(work, manifest, with_id)
                has_written = has_written or synced[cluster] is not work
            except WorldError as error:
                failures.append(error)
        for cluster, work in present.items():
            if cluster in desired:
                continue
            if work.metadata.deletion_timestamp is not None:
                held = not purging and self._is_held(binding, cluster, present)
                await give_up_objects(self._plane.client, work, held=held)
                continue
            evicted = binding.spec.is_workload and cluster in evicted_from(binding.spec)
            await self._delete_work(await self._preserve_nothing(work) if evicted else work)
            has_written = True
        if has_written and not failures:
            self._events.synced(binding)
        return synced, failures

    def _is_held(self, binding: Binding, cluster: str, present: Mapping[str, Work]) -> bool:
        fleet = {found.name: found for found in self._clusters.list()}
        return self._holds_removals and is_removal_held(binding.spec, cluster, present, fleet)

    def _is_leaving(self, cluster: str) -> bool:
        """Whether nothing new is made for the cluster, because it leaves the fleet."""
        found = self._clusters.get(cluster)
        return found is not None and found.is_being_deleted

    async def _sync_work(self, work: Work | None, manifest: Manifest, with_id: Callable[[str], Manifest]) -> Work:
        if work is None:
            return await self._create_work(manifest, with_id)
        if work.metadata.deletion_timestamp is not None:
            return await keep_objects(self._plane.client, work)
        return await self._update_work(work, manifest)

    async def _create_work(self, manifest: Manifest, with_id: Callable[[str], Manifest]) -> Work:
        """A Work that is there, though it was not listed, keeps its permanent id: its objects carry it (S9, S12)."""
        key = key_of(manifest)
        try:
            work = await self._plane.client.create(WORKS, manifest, key.namespace)
        except AlreadyExists:
            work = await self._plane.client.get(WORKS, key.name, key.namespace)
            work_id = work.metadata.labels.get(WORK_ID_LABEL, "")
            return await self._sync_work(work, with_id(work_id) if work_id else manifest, with_id)
        self._works.remember(work)
        return work

    async def _update_work(self, work: Work, manifest: Manifest) -> Work:
        """Replaces the whole Work: a merge patch would lose the nulls in its manifest, and find them missing again."""
        present = {field: value for field, value in to_wire(work).items() if field != "status"}
        wanted = _brought_to(present, manifest)
        if wanted == present:
            return work
        updated = await self._plane.client.update(WORKS, wanted, work.name, work.namespace)
        self._works.remember(updated)
        return updated

    async def _preserve_nothing(self, work: Work) -> Work:
        if not work.spec.preserve_resources_on_deletion:
            return work
        patch, version = {"spec": {"preserveResourcesOnDeletion": False}}, work.metadata.resource_version
        return await self._plane.client.patch(WORKS, work.name, patch, work.namespace, resource_version=version)

    async def _delete_work(self, work: Work) -> None:
        version = work.metadata.resource_version
        try:
            await self._plane.client.delete(
                WORKS, work.name, work.namespace, uid=work.metadata.uid, resource_version=version
            )
        except NotFound:
            return

    async def _report(self, binding: Binding, template: Manifest, works: Mapping[str, Work]) -> None:
        """What the Works report goes into the binding's status and the template's: when all have spoken, at once.

        As long as a copy is being evicted something will soon follow that says more: the binding hears of it as of
        progress, and the template only when it takes long.
        """
        items, applied = aggregate(binding, {cluster: trusted(work) for cluster, work in works.items()})
        applied = msgspec.structs.replace(applied, observed_generation=rendered_generation(binding, works))
        present = {cluster_of_execution_space(w.namespace): w for w in self._works_of.get(key_of(binding))}
        blocked, now = removals_blocked(present), self._plane.clock.now()

        def report(status: ResourceBindingStatus) -> ResourceBindingStatus:
            conditions = set_condition(status.conditions, applied, now)
            kept = marked(items, marks_in(status.aggregated_status))
            status = msgspec.structs.replace(status, aggregated_status=kept, conditions=conditions)
            return with_blocked_removals(status, blocked, now)

        def report_to_template(status: Manifest) -> Manifest:
            return (aggregate_status({**template, "status": status}, items) or {}).get("status", status)

        is_moving = bool(binding.spec.graceful_eviction_tasks)
        within, template_within = BOOKKEEPING_SECONDS, BOOKKEEPING_SECONDS
        if all(item.health != "Unknown" or item.applied_message for item in items):
            within = PROGRESS_SECONDS if is_moving else NEWS_SECONDS
            template_within = BOOKKEEPING_SECONDS if is_moving else NEWS_SECONDS
        told = partial(self._events.aggregated, binding)
        self._post(self._kind.resource, binding, binding, report, within, told)
        resource = await self._plane.server.discovery.resource(template["apiVersion"], template["kind"])
        self._post(resource, template, binding, report_to_template, template_within)

    def _post(
        self,
        resource: Resource[T],
        obj: T,
        binding: Binding,
        change: Change,
        within: float,
        on_written: Callable[[T, T], None] | None = None,
    ) -> None:
        def on_failure(error: WorldError) -> None:
            self._events.not_aggregated(binding, error)
            self._controller.failed(key_of(binding), error)

        said = Said(change, on_failure, on_written)
        self._plane.statuses.of(resource).post(obj, self._kind.controller_name, said, within=within)

    async def _dissolve(self, binding: Binding) -> None:
        """Deletes the Works of a deleted binding, and lets the binding go when all are gone."""
        if self._kind.finalizer not in binding.metadata.finalizers:
            return
        works = self._works_of.get(key_of(binding))
        for work in works:
            if work.metadata.deletion_timestamp is None:
                await self._delete_work(work)
            else:
                preserve = bool(binding.spec.preserve_resources_on_deletion)
                await give_up_objects(self._plane.client, work, preserve=preserve)
        if works:
            return
        finalizers = [f for f in binding.metadata.finalizers if f != self._kind.finalizer]
        await self._plane.client.patch(
            self._kind.resource,
            binding.name,
            {"metadata": {"finalizers": finalizers}},
            binding.namespace,
            resource_version=binding.metadata.resource_version,
        )

    async def _remove_orphans(self, key: Key) -> None:
        """Works whose binding is gone go after it; that it is gone only the API server itself can say (S5)."""
        works = self._works_of.get(key)
        if not works:
            return
        try:
            await self._plane.client.get(self._kind.resource, key.name, key.namespace)
        except NotServed:
            raise
        except NotFound:
            for work in works:
                if work.metadata.deletion_timestamp is None:
                    await self._delete_work(work)
                else:
                    await give_up_objects(self._plane.client, work)

    def _binding_changed(self, _: Binding | None, new: Binding | None) -> None:
        if new is not None:
            self._controller.queue.add(key_of(new))

    def _cluster_changed(self, old: Cluster | None, new: Cluster | None) -> None:
        """Whether a removal is held rests on the clusters that the copy was moved to."""
        if not self._holds_removals or _wellness(old) == _wellness(new):
            return
        for work in self._works.list():
            if work.metadata.deletion_timestamp is not None:
                self._work_changed(None, work)

    def _work_changed(self, old: Work | None, new: Work | None) -> None:
        for work in (old, new):
            key = self._kind.key_of_work(work) if work is not None else None
            if key is not None:
                self._controller.queue.add(key)


def _wellness(cluster: Cluster | None) -> tuple[bool, bool, bool] | None:
    return (cluster.is_ready, is_failing(cluster), cluster.is_being_deleted) if cluster is not None else None


def _work_with_id(binding: Binding, template: Manifest, cluster: str, work_id: str) -> Manifest:
    return build_works(binding, template, {cluster: work_id})[cluster]


def _is_purging(binding: Binding, present: Mapping[str, Work]) -> bool:
    """Whether a copy that is purged Directly is not yet known to be gone. Holds: S7."""
    tasks = binding.spec.graceful_eviction_tasks
    return any(task.purge_mode == "Directly" and task.from_cluster in present for task in tasks)


def _grows(work: Work, manifest: Manifest) -> bool:
    """Whether the Work would ask for more replicas than it does."""
    before = [replicas_of(m)[0] for m in work.spec.workload.manifests]
    after = [replicas_of(m)[0] for m in manifest["spec"]["workload"]["manifests"]]
    return sum(after) > sum(before)


def _brought_to(present: Manifest, desired: Manifest) -> Manifest:
    """A Work with what is desired of it; labels and annotations of others stay."""
    metadata, wanted = present["metadata"], desired["metadata"]
    marks = {
        field: {**metadata.get(field, {}), **wanted[field]} for field in ("labels", "annotations") if wanted.get(field)
    }
    return {**present, "metadata": {**metadata, **marks}, "spec": desired["spec"]}
