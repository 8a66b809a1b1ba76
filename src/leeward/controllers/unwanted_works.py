"""Works of a binding that are not to be: their deletion is asked for, held back, or released."""

from collections.abc import Mapping

from kubeapi.meta import Manifest
from leeward.api.work import Binding, Work
from leeward.controllers.removal_holds import RemovalHolds
from leeward.controllers.work_writing import WorkWriting, WrittenWorks
from leeward.core.execution.works import evicted_from
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.reassignment import mark_removal


class UnwantedWorks:
    def __init__(self, plane: ControlPlane, writing: WorkWriting, holds: RemovalHolds) -> None:
        self._client = plane.client
        self._writing = writing
        self._holds = holds

    async def remove(
        self,
        binding: Binding,
        present: Mapping[str, Work],
        desired: Mapping[str, Manifest],
        synced: WrittenWorks,
        *,
        purging: bool,
    ) -> bool:
        """Has the Works go that are not to be. What is to be held is marked before, since agents are quick.

        Returns whether a deletion was asked for. Raises: WorldError.
        """
        has_written = False
        for cluster, work in present.items():
            stays = cluster in synced.not_rendered
            if cluster in desired or (stays and work.metadata.deletion_timestamp is None):
                continue
            if work.metadata.deletion_timestamp is not None:
                held, look_at = (False, None) if purging else self._holds.is_held(binding, cluster, present, stays)
                synced.look_at = min(filter(None, (look_at, synced.look_at)), default=None)
                await mark_removal(self._client, work, held=held)
                continue
            if not purging and self._holds.would_hold(binding, cluster, present):
                work = await mark_removal(self._client, work, held=True)
            evicted = binding.spec.is_workload and cluster in evicted_from(binding.spec)
            await self._writing.delete(await self._writing.preserve(work, preserve=False) if evicted else work)
            has_written = True
        return has_written
