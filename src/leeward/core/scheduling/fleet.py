"""All clusters as arrays, kept up to date one cluster at a time.

`put` notes what changed; arrays that depend on it (`Survey`, `Rooms`) renew the cells of the changed clusters when they
are next used, so that a status report costs next to nothing and no binding pays for clusters that stayed as they were.
A fleet is also a mapping of clusters by name. It keeps the ledger of what was promised, see `ledger.py`.

All caches are bounded, and dropped as a whole when a cluster joins or leaves.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import overload

import numpy as np

from leeward.api.cluster import Cluster
from leeward.api.codec import encode
from leeward.api.work import ResourceBindingSpec, TargetCluster
from leeward.core.scheduling.bulk import Bools, Ints
from leeward.core.scheduling.estimates import Estimates
from leeward.core.scheduling.ledger import Ledger
from leeward.core.scheduling.model import Placed, Profile, Request, Unplaceable
from leeward.core.scheduling.steps import DEFAULT_PROFILE
from leeward.core.scheduling.survey import Rooms, Stays, Survey, survey_key
from leeward.core.scheduling.workload_affinity import WorkloadGroups

MAX_CELLS = 4_000_000
"""The arrays of all kinds together hold no more cells than this."""
MAX_ANSWERS = 10_000


class Fleet(Mapping[str, Cluster]):
    """`estimates` and `groups` are what the plug-ins of the profile read, where it has such plug-ins."""

    def __init__(
        self,
        clusters: Iterable[Cluster] = (),
        profile: Profile = DEFAULT_PROFILE,
        estimates: Estimates | None = None,
        groups: WorkloadGroups | None = None,
    ) -> None:
        self.profile = profile
        self.estimates = estimates if estimates is not None else Estimates()
        self.groups = groups
        self.shared_filters = tuple(plugin for plugin in profile.filters if plugin.shared)
        self.own_filters = tuple(plugin for plugin in profile.filters if not plugin.shared)
        self.ledger = Ledger()
        self._by_name: dict[str, Cluster] = {}
        self._stale = True
        for cluster in clusters:
            self.put(cluster)

    def __getitem__(self, name: str) -> Cluster:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def put(self, cluster: Cluster) -> None:
        """Takes in a cluster that is new or changed."""
        old = self._by_name.get(cluster.name)
        self._by_name[cluster.name] = cluster
        has_new_room = self.ledger.report(cluster)
        if old is None or self._stale:
            self._stale = True
            return
        row = self.rows[cluster.name]
        self.clusters[row] = cluster
        if not _places_alike(old, cluster):
            self.facts_revision += 1
            self._facts_changed[row] = self.facts_revision
        if has_new_room:
            self._room_changed([cluster.name])

    def remove(self, name: str) -> None:
        if self._by_name.pop(name, None) is not None:
            self.ledger.forget(name)
            self._stale = True

    def promise(self, key: str, spec: ResourceBindingSpec, targets: tuple[TargetCluster, ...]) -> None:
        """Takes from the fleet's capacity what the binding gets beyond what it has."""
        self._room_changed(self.ledger.take(key, spec, targets))

    def release(self, key: str, unless_at: tuple[TargetCluster, ...] | None = None) -> None:
        """Gives back what was promised to the binding, unless it went just there."""
        self._room_changed(self.ledger.release(key, unless_at))

    def view(self) -> "FleetView":
        """All clusters, to be scheduled on."""
        self.refresh()
        return FleetView(self, None)

    def staying(
        self,
        key: Hashable,
        leaves_at: Callable[[Cluster], datetime | None],
        now: datetime,
        spared: Collection[str],
        but: Collection[str] = (),
    ) -> "FleetView":
        """All but those that a copy would have to leave again at once (the `spared` may), and but for `but`.

        `key` stands for what `leaves_at` depends on besides the cluster.
        """
        stays = self._stays_of(key, leaves_at)
        if stays.earliest > now.timestamp() and not but:
            return FleetView(self, None)
        allowed = stays.until > now.timestamp()
        allowed[[self.rows[name] for name in spared if name in self.rows]] = True
        allowed[[self.rows[name] for name in but if name in self.rows]] = False
        return FleetView(self, allowed)

    def _stays_of(self, key: Hashable, leaves_at: Callable[[Cluster], datetime | None]) -> Stays:
        self.refresh()
        stays = self._stays.get(key)
        if stays is None:
            stays = self._stays[key] = Stays(leaves_at, self.clusters)
            self._bound()
        elif stays.revision != self.facts_revision:
            stays.renew(self._changed(self._facts_changed, stays.revision), self.clusters)
        stays.revision = self.facts_revision
        return stays

    def survey(self, request: Request) -> Survey:
        """What the request's placement means for every cluster."""
        key = survey_key(request)
        survey = self._surveys.get(key)
        if survey is None:
            survey = self._surveys[key] = Survey(request, self.shared_filters, self.clusters)
            self._bound()
        elif survey.revision != self.facts_revision:
            survey.renew(self._changed(self._facts_changed, survey.revision), self.clusters)
        survey.revision = self.facts_revision
        return survey

    def room(self, request: Request) -> Ints:
        """How many more replicas of the request's kind fit into every cluster."""
        requirements = request.spec.replica_requirements
        key = None if requirements is None else encode(requirements.resource_request)
        rooms = self._rooms.get(key)
        if rooms is None:
            asked = None if requirements is None else requirements.resource_request
            rooms = self._rooms[key] = Rooms(asked, self.names, self.ledger)
            self._bound()
        elif rooms.revision != self.room_revision:
            rooms.renew(self._changed(self._rooms_changed, rooms.revision), self.names, self.ledger)
        rooms.revision = self.room_revision
        return rooms.room

    def answer(
        self, key: Hashable, depends_on_room: bool, find: Callable[[], Placed | Unplaceable]
    ) -> Placed | Unplaceable:
        """What was found for the same question on the same fleet, or what is found now."""
        revision = (self.facts_revision, self.room_revision if depends_on_room else -1)
        known = self._answers.get(key)
        if known is not None and known[0] == revision:
            return known[1]
        found = find()
        if len(self._answers) >= MAX_ANSWERS:
            self._answers.clear()
        self._answers[key] = (revision, found)
        return found

    def refresh(self) -> None:
        """Lays the arrays out anew after a cluster has joined or left."""
        if not self._stale:
            return
        self._stale = False
        self.names = sorted(self._by_name)
        self.rows = {name: row for row, name in enumerate(self.names)}
        self.clusters = [self._by_name[name] for name in self.names]
        self.facts_revision = self.room_revision = 0
        self._facts_changed: Ints = np.zeros(len(self.names), dtype=np.int64)
        self._rooms_changed: Ints = np.zeros(len(self.names), dtype=np.int64)
        self._surveys: dict[Hashable, Survey] = {}
        self._rooms: dict[bytes | None, Rooms] = {}
        self._stays: dict[Hashable, Stays] = {}
        self._answers: dict[Hashable, tuple[tuple[int, int], Placed | Unplaceable]] = {}

    def _room_changed(self, names: Iterable[str]) -> None:
        if self._stale:
            return
        self.room_revision += 1
        for name in names:
            self._rooms_changed[self.rows[name]] = self.room_revision

    @staticmethod
    def _changed(changes: Ints, since: int) -> list[int]:
        return np.flatnonzero(changes > since).tolist()

    def _bound(self) -> None:
        """Drops the oldest arrays when there are too many."""
        most = max(8, MAX_CELLS // max(1, len(self.names)) // 3)
        for arrays in (self._surveys, self._rooms, self._stays):
            while len(arrays) > most:
                del arrays[next(iter(arrays))]  # type: ignore[arg-type]


class FleetView(Sequence[Cluster]):
    """Clusters of a fleet on which a binding may be scheduled; `allowed` is None for all of them."""

    def __init__(self, fleet: Fleet, allowed: Bools | None) -> None:
        self.fleet = fleet
        self.allowed = allowed

    @overload
    def __getitem__(self, index: int) -> Cluster: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Cluster]: ...
    def __getitem__(self, index: int | slice) -> Cluster | Sequence[Cluster]:
        return self._listed()[index]

    def __len__(self) -> int:
        return len(self.fleet) if self.allowed is None else int(self.allowed.sum())

    def _listed(self) -> list[Cluster]:
        clusters = self.fleet.clusters
        return clusters if self.allowed is None else [clusters[row] for row in np.flatnonzero(self.allowed)]


def _places_alike(old: Cluster, new: Cluster) -> bool:
    """Whether all filters say the same of both."""
    return (
        old.spec == new.spec
        and old.metadata.labels == new.metadata.labels
        and old.is_being_deleted == new.is_being_deleted
        and old.status.api_enablements == new.status.api_enablements
    )
