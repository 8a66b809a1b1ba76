"""Works whose binding somebody deletes: they go with it, but for those in which others live.

Somebody can delete a binding alone, whose template a policy claims, or others need. Then these Works stay. The next
binding takes them up (`core.left_works`); they go with their template.

Holds: S1, S5, S12. Karmada: pkg/controllers/binding (`removeFinalizer`); differs, there all of them go.
"""

from collections.abc import Mapping
from datetime import datetime

from controller_runtime import Index, Key, key_of
from leeward.api.names import cluster_of_execution_space
from leeward.api.resource import CLUSTERS
from leeward.api.work import Binding, Work
from leeward.controllers.binding.binding_templates import BindingTemplates
from leeward.controllers.binding.work_writing import WorkWriting
from leeward.controllers.removals.removal_holds import LOOK_AGAIN, RemovalHolds
from leeward.core.eviction.shared_resources import has_shared
from leeward.runtime.binding_kinds import BindingKind
from leeward.runtime.controller_context import ControlPlane


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
        if self._kind.finalizer not in binding.metadata.finalizers:
            return None
        releases, stays = await self._templates.releases(binding), False
        if self._holds.enabled and any(map(has_shared, own.values())):
            stays = await self._templates.outlives(binding)
        staying = {
            name
            for name, work in own.items()
            if stays and work.metadata.deletion_timestamp is None and has_shared(work)
        }
        for work in self._works_of.get(key_of(binding)):
            if cluster_of_execution_space(work.namespace) in staying:
                continue
            preserve = self._holds.preserves(binding, work, own) or (stays and has_shared(work))
            await self._writing.give_up(work, preserve=preserve, releases=releases)
        clusters = [self._clusters.get(name) for name in own.keys() - staying]
        if any(cluster is not None and cluster.is_ready for cluster in clusters):
            return None
        finalizers = [f for f in binding.metadata.finalizers if f != self._kind.finalizer]
        patch, version = {"metadata": {"finalizers": finalizers}}, binding.metadata.resource_version
        resource, namespace = self._kind.resource, binding.namespace
        await self._plane.client.patch(resource, binding.name, patch, namespace, resource_version=version)
        return self._plane.clock.now() + LOOK_AGAIN if staying else None

    async def remove_orphans(self, key: Key) -> datetime | None:
        """Works whose binding is gone go after it, but in doubt. That it is gone only the API server can say.

        Returns when to look at those that stay. Raises: WorldError."""
        works, stays = self._works_of.get(key), False
        if not works or await self._plane.client.find(self._kind.resource, key.name, key.namespace) is not None:
            return None
        for work in works:
            if work.metadata.deletion_timestamp is not None:
                await self._writing.mark(work)
            elif self._holds.enabled and has_shared(work) and await self._templates.is_alive(work):
                stays = True
            elif not self._holds.is_doubtful(work):
                await self._writing.delete(work)
        return self._plane.clock.now() + LOOK_AGAIN if stays else None
