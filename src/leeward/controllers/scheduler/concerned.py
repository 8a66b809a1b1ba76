"""Bindings by the clusters that concern them (`core.placement.concern`). So a change of a cluster costs as much as
there are such bindings, and not as there are bindings; what placements mean is asked a turn at a time. Decides nothing.
"""

from collections.abc import Collection, Generator

from kubeapi.codec import encode
from leeward.api.cluster import Cluster
from leeward.controllers.scheduler.bindings import BindingKey
from leeward.core.placement.concern import Affinities, ClusterConcern, may_mean

Keys = dict[BindingKey, None]
"""Keys in the order in which they came, so that what follows from it does not depend on hashes."""


class ConcernedBindings:
    """Bounded by the number of bindings; affinities are kept once each, as many as there are different ones."""

    def __init__(self) -> None:
        self._known: dict[BindingKey, ClusterConcern] = {}
        self._naming: dict[str, Keys] = {}
        self._anywhere: Keys = {}
        self._waiting: Keys = {}
        self._meaning: dict[bytes, tuple[Affinities, Keys]] = {}

    @property
    def waiting(self) -> Collection[BindingKey]:
        """Bindings that have found no place, or are held back."""
        return tuple(self._waiting)

    def of(self, *states: Cluster) -> Collection[BindingKey]:
        """Bindings that a cluster concerns, in any of these states of it, beside those of `meaning`."""
        found = dict(self._anywhere)
        for cluster in states:
            found |= self._naming.get(cluster.name, {})
        return found.keys()

    def meaning(self, states: Collection[Cluster]) -> Generator[Collection[BindingKey], None, None]:
        """Bindings whose placement may mean any of these states, as they are now. A step is a placement and a state."""
        for affinities, keys in [(affinities, tuple(keys)) for affinities, keys in self._meaning.values()]:
            for state in states:
                is_meant = may_mean(affinities, (state,))
                yield keys if is_meant else ()
                if is_meant:
                    break

    def put(self, key: BindingKey, concern: ClusterConcern | None) -> None:
        """Takes in the concern of a binding from now on; None when it is gone."""
        before = self._known.get(key)
        if concern == before:
            return
        if before is not None:
            self._take(key, before)
        if concern is not None:
            self._add(key, concern)

    def _add(self, key: BindingKey, concern: ClusterConcern) -> None:
        self._known[key] = concern
        for name in concern.names:
            self._naming.setdefault(name, {})[key] = None
        if concern.anywhere:
            self._anywhere[key] = None
        if concern.waits:
            self._waiting[key] = None
        if concern.affinities is not None:
            self._meaning.setdefault(encode(concern.affinities), (concern.affinities, {}))[1][key] = None

    def _take(self, key: BindingKey, concern: ClusterConcern) -> None:
        del self._known[key]
        for name in concern.names:
            del self._naming[name][key]
            if not self._naming[name]:
                del self._naming[name]
        self._anywhere.pop(key, None)
        self._waiting.pop(key, None)
        if concern.affinities is not None:
            affinities = encode(concern.affinities)
            del self._meaning[affinities][1][key]
            if not self._meaning[affinities][1]:
                del self._meaning[affinities]
