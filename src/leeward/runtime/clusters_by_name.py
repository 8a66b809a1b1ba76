"""Clusters by name, as decisions ask for them: those that an informer knows now, without a copy for each question."""

from collections.abc import Iterator, Mapping

from controller_runtime import Informer
from leeward.api.cluster import Cluster


class ClustersByName(Mapping[str, Cluster]):
    """View of an informer of Clusters; it changes with it, so a decision that waits in between asks anew."""

    def __init__(self, informer: Informer[Cluster]) -> None:
        self._informer = informer

    def __getitem__(self, name: str) -> Cluster:
        found = self._informer.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return (key.name for key in self._informer.all_keys())

    def __len__(self) -> int:
        return len(self._informer.all_keys())
