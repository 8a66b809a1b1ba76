"""Warnings about clusters that stand for a while: each is told once, and again when it is another, or comes back."""

from leeward.api.cluster import Cluster
from leeward.api.resource import CLUSTERS
from leeward.runtime.controller_context import Recorder


class StandingWarnings:
    """Bounded by the number of clusters: `forget` those that are gone."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._told: dict[tuple[str, str], str] = {}

    def keep(self, cluster: Cluster, reason: str, message: str) -> None:
        """The warning stands; an empty `message` is that it does not."""
        known = self._told.pop((cluster.name, reason), "")
        if not message:
            return
        self._told[cluster.name, reason] = message
        if message != known:
            self._recorder.warning(CLUSTERS, cluster, reason, message)

    def forget(self, name: str) -> None:
        for key in [key for key in self._told if key[0] == name]:
            del self._told[key]
