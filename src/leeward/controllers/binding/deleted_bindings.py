"""Works whose binding somebody deletes: they go with it, unless its template stays.

Somebody can delete a binding alone, whose template a policy claims, or others need. Then its Works stay, with all that
follows them. The next binding takes them up (`core.left_works`); they go with their template.

Holds: S1, S5, S12. Karmada: pkg/controllers/binding (`removeFinalizer`); differs, there all of them go.
"""

from collections.abc import Mapping
from datetime import datetime

from controller_runtime import Index, Key, key_of
from kubeclient import NotServed
from leeward.api.names import DEPENDENCIES_DISTRIBUTOR_FINALIZER, cluster_of_execution_space
from leeward.api.resource import CLUSTERS
from leeward.api.work import Binding, Work
from leeward.controllers.binding.binding_templates import BindingTemplates
from leeward.controllers.binding.work_writing import WorkWriting
from leeward.controllers.removals.removal_holds import LOOK_AGAIN, RemovalHolds
from leeward.core.eviction.shared_resources import has_shared
from leeward.core.execution.ownership import template_uids
from leeward.core.execution.works import wanted_replicas
from leeward.core.left_works import outlasts, replicas_left
from leeward.runtime.binding_kinds import BindingKind
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.discovery import UnknownKind


class DeletedBindings:
    def __init__(
        self,
        plane: ControlPlane,
        kind: BindingKind,
        works_of: Index[Work, Key],
        templates: BindingTemplates,
        writing: WorkWriting,
        holds: RemovalHolds,
    ) -> None:
        self._plane, self._kind, self._works_of = plane, kind, works_of
        self._templates, self._writing, self._holds = templates, writing, holds
        self._clusters = plane.informers.of(CLUSTERS)

    async def dissolve(self, binding: Binding, own: Mapping[str, Work]) -> datetime | None:
        """Deletes the Works of a deleted binding, and its finalizer when its `own` (by cluster) are gone where clusters
        are Ready. Returns when to look at those that stay. Raises: WorldError."""
        ours = {self._kind.finalizer, DEPENDENCIES_DISTRIBUTOR_FINALIZER}
        if ours.isdisjoint(binding.metadata.finalizers):
            return await self._look_at_left(key_of(binding))
        releases = await self._templates.releases(binding)
        stays = self._holds.enabled and await self._templates.outlives(binding)
        staying = {name for name, work in own.items() if stays and outlasts(binding, work)}
        for work in self._works_of.get(key_of(binding)):
            if cluster_of_execution_space(work.namespace) in staying:
                continue
            preserve = self._holds.preserves(binding, work, own) or (stays and has_shared(work))
            await self._writing.give_up(work, preserve=preserve, releases=releases)
        clusters = [self._clusters.get(name) for name in own.keys() - staying]
        if any(cluster is not None and cluster.is_ready for cluster in clusters):
            return None
        assigned = wanted_replicas(binding.spec)
        for name in sorted(staying):
            if binding.spec.resource.uid in template_uids(own[name].spec.workload.manifests):
                await self._writing.leave_to_next(own[name], assigned.get(name, 0))
        finalizers = [f for f in binding.metadata.finalizers if f not in (ours if staying else {self._kind.finalizer})]
        patch, version = {"metadata": {"finalizers": finalizers}}, binding.metadata.resource_version
        resource, namespace = self._kind.resource, binding.namespace
        await self._plane.client.patch(resource, binding.name, patch, namespace, resource_version=version)
        return self._plane.clock.now() + LOOK_AGAIN if staying else None

    async def remove_orphans(self, key: Key) -> datetime | None:
        """Works whose binding is gone go after it, but in doubt. That it is gone only the API server can say.

        Returns when to look at those that stay. Raises: WorldError."""
        is_gone = bool(self._works_of.get(key)) and not await self._plane.client.find(
            self._kind.resource, key.name, key.namespace
        )
        return await self._look_at_left(key) if is_gone else None

    async def _look_at_left(self, key: Key) -> datetime | None:
        """Marks the Works that a binding has left, and deletes them once their template goes. Returns when to look at
        those that stay. Raises: WorldError."""
        stays = False
        for work in self._works_of.get(key):
            if work.metadata.deletion_timestamp is not None:
                await self._writing.mark(work)
                continue
            try:
                keeps = self._holds.enabled and await self._templates.keeps(work)
                is_doubtful = replicas_left(work) is None and self._holds.is_doubtful(work)
            except (UnknownKind, NotServed):
                kinds = {(each["apiVersion"], each["kind"]) for each in work.spec.workload.manifests}
                if not all([await self._templates.is_undefined(*kind) for kind in kinds]):
                    raise
                keeps, is_doubtful = False, self._holds.is_doubtful(work)
            stays = stays or keeps
            if keeps and replicas_left(work) is None:
                await self._writing.leave_to_next(work, 0)
            if not (keeps or is_doubtful):
                await self._writing.delete(work)
        return self._plane.clock.now() + LOOK_AGAIN if stays else None
