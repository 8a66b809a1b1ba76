"""Bindings asked about the copies of Works that go, or are gone: a binding may want its copy by now.

    wants   the Work is being deleted, and the binding still asks for it: somebody has deleted the Work alone
    stays   the Work is gone, and a member that was restored from its past brings its copy back

A copy that is brought back has left for another cluster, and is removed once more. But it may be the only one that runs
by now: while its binding lives, and asks for it, it stays under the brake, and until what replaces it is seen healthy.
Holds: S1, S4.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from controller_runtime import Informer
from leeward.api.cluster import Cluster
from leeward.api.names import execution_space
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS, WORKS
from leeward.api.work import Binding, ResourceBinding, Work
from leeward.core.copies.disruption import CopyTable, copies_of
from leeward.core.execution.claims import Owner, name_of_works, owners_of
from leeward.core.execution.removal import is_return_kept, only_follows
from leeward.core.execution.works import asks_for, is_of_deleted_template
from leeward.runtime.binding_kinds import CLUSTER_RESOURCE_BINDING, RESOURCE_BINDING
from leeward.runtime.brake import BrakeView
from leeward.runtime.clusters_by_name import ClustersByName
from leeward.runtime.controller_context import ControlPlane


class ReturnedCopies:
    """Follows nothing before it is asked. Without a brake it is never engaged."""

    def __init__(self, plane: ControlPlane, brake: BrakeView | None = None) -> None:
        self._plane = plane
        self._brake = brake

    def wants(self, work: Work, cluster: str) -> bool:
        """Tells whether a binding asks for what is in the cluster of a Work that is being deleted, as far as is known.

        The binding controller says so of the Work itself, a moment later (`runtime.reassignment`).
        """
        return any(self._asks_for(owner, work, cluster) for owner in owners_of(work))

    def _asks_for(self, owner: Owner, work: Work, cluster: str) -> bool:
        kind = RESOURCE_BINDING if owner.namespace else CLUSTER_RESOURCE_BINDING
        bindings: Informer[Any] = self._plane.informers.of(kind.resource)
        binding: Binding | None = bindings.get(owner.name, owner.namespace)
        if binding is None:
            return not bindings.synced
        return name_of_works(binding) == work.name and asks_for(binding, work, cluster)

    async def stays(self, work: Work) -> bool:
        """Tells whether what a member brings back of a Work that is gone stays there for now. Raises: WorldError."""
        informers = self._plane.informers
        for informer in (informers.of(CLUSTERS), informers.of(WORKS), informers.of(RESOURCE_BINDINGS)):
            await informer.wait_current()
        if self._brake is not None:
            await self._brake.wait_synced()
        copies: list[CopyTable] = []
        for owner in owners_of(work):
            binding = await self._find(owner)
            if binding is not None and not is_of_deleted_template(work, binding):
                copies += self._copies(binding)
        braked = self._brake is not None and self._brake.holds()
        return is_return_kept(copies, brake=braked)

    async def _find(self, owner: Owner) -> Binding | None:
        """Binding that is not being deleted; only the API server says that there is none (S5). Raises: WorldError."""
        kind = RESOURCE_BINDING if owner.namespace else CLUSTER_RESOURCE_BINDING
        found = await self._plane.client.find(kind.resource, owner.name, owner.namespace)
        if found is None:
            return None
        return found if found.metadata.deletion_timestamp is None else None

    def _copies(self, binding: Binding) -> list[CopyTable]:
        """Copies that a binding asks for; of what is nowhere but where others need it, those of these others."""
        works, fleet = self._plane.informers.of(WORKS), ClustersByName(self._plane.informers.of(CLUSTERS))
        now = self._plane.clock.now()
        bindings = self._plane.informers.of(RESOURCE_BINDINGS)
        wanted: Sequence[Binding] = dependants_of(binding, bindings) if only_follows(binding.spec) else (binding,)
        return [placed_copies(each, works, fleet, now) for each in wanted if not each.spec.asks_for_none]


def dependants_of(binding: Binding, bindings: Informer[ResourceBinding]) -> list[ResourceBinding]:
    """Dependants of a binding that others need; what is deleted needs nothing."""
    found = [bindings.get(each.name, each.namespace) for each in binding.spec.required_by]
    return [each for each in found if each is not None and each.metadata.deletion_timestamp is None]


def placed_copies(binding: Binding, works: Informer[Work], fleet: Mapping[str, Cluster], now: datetime) -> CopyTable:
    """Copies that a binding is to run, by its Works as they are known."""
    name, targets = name_of_works(binding), [target.name for target in binding.spec.clusters]
    found = {target: works.get(name, execution_space(target)) for target in targets}
    present = {target: work for target, work in found.items() if work is not None}
    return copies_of(binding.spec, present, fleet, now)
