"""Works of a binding that are not to be: their deletion is asked for, held back, or released."""

from collections.abc import Mapping

from kubeapi.meta import Manifest
from leeward.api.resource import CLUSTERS
from leeward.api.work import Binding, Work
from leeward.controllers.removal_holds import RemovalHolds
from leeward.controllers.work_writing import WorkWriting, WrittenWorks
from leeward.core.eviction.tasks import is_ended_by_a_person
from leeward.core.eviction.volumes import keeps_owned
from leeward.core.execution.purging import purged_now
from leeward.core.execution.works import is_surplus
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.reassignment import mark_removal


class UnwantedWorks:
    def __init__(self, plane: ControlPlane, writing: WorkWriting, holds: RemovalHolds) -> None:
        self._client = plane.client
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
        """Has the Works go that are not to be. What is to be held is marked before, since agents are quick.

        `keep` says that what was to replace them may not be made yet, for a copy that is purged: then all but that stay
        (S1). Returns whether a deletion was asked for. Raises: WorldError.
        """
        has_written, purged = False, purged_now(binding.spec, present)
        keeps = self._holds.enabled and keeps_owned(binding)
        for cluster, work in present.items():
            stays = cluster in synced.not_rendered
            if cluster in desired or (stays and work.metadata.deletion_timestamp is None):
                continue
            is_kept = keep and cluster not in purged and self._may_stay(binding, cluster)
            claims = keeps and cluster not in purged and not is_ended_by_a_person(binding.spec, cluster)
            if work.metadata.deletion_timestamp is not None:
                if is_kept or cluster in purged:
                    held, look_at = is_kept, None
                else:
                    held, look_at = self._holds.is_held(binding, cluster, present, stays, synced.needs)
                synced.look_at = min(filter(None, (look_at, synced.look_at)), default=None)
                await mark_removal(self._client, work, held=held, away=self._is_away(cluster), keeps_claims=claims)
                continue
            if is_kept:
                synced.kept.append(cluster)
                continue
            held = cluster not in purged and self._holds.would_hold(binding, cluster, present, synced.needs)
            work = await mark_removal(self._client, work, held=held, away=self._is_away(cluster), keeps_claims=claims)
            if is_surplus(binding.spec, cluster) and not self._leaves_fleet(cluster):
                work = await self._writing.preserve(work, preserve=False)
            await self._writing.delete(work)
            has_written = True
        return has_written

    def _may_stay(self, binding: Binding, cluster: str) -> bool:
        """Tells whether the copy may serve on; not where its cluster leaves the fleet, nor where none is asked for."""
        return self._holds.enabled and not self._leaves_fleet(cluster) and not binding.spec.asks_for_none

    def _is_away(self, cluster: str) -> bool:
        found = self._clusters.get(cluster)
        return found is not None and not found.is_ready

    def _leaves_fleet(self, cluster: str) -> bool:
        """Tells whether the cluster is unjoined, or will be: it keeps what its policy preserves."""
        found = self._clusters.get(cluster)
        return found is None or found.is_being_deleted
