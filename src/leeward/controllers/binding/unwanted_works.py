"""Works of a binding that are not to be: their deletion is asked for, held back, or released."""

from collections.abc import Mapping

from kubeapi.meta import Manifest
from kubeclient import WorldError
from leeward.api.names import cluster_of_execution_space
from leeward.api.resource import CLUSTERS
from leeward.api.work import Binding, Work
from leeward.controllers.binding.work_writing import WorkWriting, WrittenWorks
from leeward.controllers.removals.removal_holds import RemovalHolds
from leeward.core.eviction.tasks import ended_by_a_person
from leeward.core.eviction.volumes import keeps_owned
from leeward.core.execution.ownership import template_uids
from leeward.core.execution.removal import NOT_REPLACED, purged_now
from leeward.core.execution.removal_conditions import leaving
from leeward.core.execution.works import is_surplus
from leeward.core.left_works import awaits_placement
from leeward.runtime.controller_context import ControlPlane


class UnwantedWorks:
    def __init__(self, plane: ControlPlane, writing: WorkWriting, holds: RemovalHolds) -> None:
        self._writing = writing
        self._holds = holds
        self._clusters = plane.informers.of(CLUSTERS)

    async def remove(
        self,
        binding: Binding,
        present: Mapping[str, Work],
        desired: Mapping[str, Manifest],
        synced: WrittenWorks,
        *,
        keep: bool,
    ) -> bool:
        """Has the Works go that are not to be, last of all: one that waits stays as it is, and says so.

        `keep` says that what was to replace them may not be made yet, for a copy that is purged: then all but that stay
        (S1). A write that fails holds back no other. Returns whether a deletion was asked for. Holds: L4.
        """
        has_written, purged = False, purged_now(binding.spec, present)
        keeps = self._holds.enabled and keeps_owned(binding)
        for cluster, work in present.items():
            stays, is_going = cluster in synced.not_rendered, work.metadata.deletion_timestamp is not None
            if cluster in desired or (stays and not is_going) or self._stays(binding, cluster, work):
                continue
            is_kept = keep and cluster not in purged and self._may_stay(binding, cluster)
            if is_kept and not is_going:
                synced.kept.append(cluster)
                continue
            claims = keeps and cluster not in purged and cluster not in ended_by_a_person(binding.spec)
            why, look_at = NOT_REPLACED, None
            if not is_kept:
                why, look_at = self._holds.why_it_waits(
                    binding, cluster, present, stays, synced.needs, is_purged=cluster in purged
                )
            synced.look_at = min(filter(None, (look_at, synced.look_at)), default=None)
            if why:
                synced.waiting[cluster] = why
            try:
                await self._write(binding, work, why, claims=claims)
                has_written = has_written or not (is_going or why)
            except WorldError as error:
                synced.failures.append(error)
        return has_written

    async def _write(self, binding: Binding, work: Work, why: str, *, claims: bool) -> None:
        """Has the Work say `why` it waits, or deletes it. Raises: WorldError."""
        if work.metadata.deletion_timestamp is not None:
            await self._writing.mark(work, held=bool(why), keeps_claims=claims)
        elif why:
            await self._writing.leave(binding, work, leaving(cluster_of_execution_space(work.namespace), why))
        else:
            await self._delete(binding, work, claims=claims)

    async def _delete(self, binding: Binding, work: Work, *, claims: bool) -> None:
        cluster = cluster_of_execution_space(work.namespace)
        work = await self._writing.mark(work, keeps_claims=claims)
        if is_surplus(binding.spec, cluster) and not self._leaves_fleet(cluster):
            work = await self._writing.preserve(work, preserve=False)
        await self._writing.delete(work)

    def _stays(self, binding: Binding, cluster: str, work: Work) -> bool:
        """Tells whether an earlier binding has left it, of this template or in doubt: who needs it may not have been
        placed yet."""
        if not self._holds.enabled or self._leaves_fleet(cluster) or not awaits_placement(work, binding):
            return False
        made = template_uids(work.spec.workload.manifests)
        return binding.spec.resource.uid in made or self._holds.is_doubtful(work)

    def _may_stay(self, binding: Binding, cluster: str) -> bool:
        """Tells whether the copy may serve on; not where its cluster leaves the fleet, nor where none is asked for."""
        return self._holds.enabled and not self._leaves_fleet(cluster) and not binding.spec.asks_for_none

    def _leaves_fleet(self, cluster: str) -> bool:
        """Tells whether the cluster is unjoined, or will be: it keeps what its policy preserves."""
        found = self._clusters.get(cluster)
        return found is None or found.is_being_deleted
