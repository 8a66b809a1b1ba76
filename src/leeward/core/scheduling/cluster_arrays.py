"""The clusters that a placement is decided on, read-only: by name, and as arrays for all of them at once.

`leeward.planning.Fleet` implements it. It keeps the effects of a placement from one decision to the next, and offers
less of a cluster when something is reserved there for others. A decision only reads. Rows are clusters in the order of
their names.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import overload

import numpy as np

from leeward.api.cluster import Cluster
from leeward.core.scheduling.groups import Grouping
from leeward.core.scheduling.model import Placed, Profile, Rejection, Request, Unplaceable
from leeward.core.scheduling.vector_allocation import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Feasibility:
    """Meaning of one placement for every cluster: whether it passes the shared filters (or why not), its tier of
    affinity, and its static weight.

    `groupings` are those of the spread constraints. `group_codes` is, for a single one, each cluster's group as an
    index into the names, -1 for none; None where a cluster is in several groups.
    """

    feasible: Bools
    tiers: Ints
    weights: Ints
    rejections: Sequence[Rejection | None]
    groupings: Sequence[Grouping]
    group_codes: tuple[Ints, list[str]] | None


class ClusterArrays(Mapping[str, Cluster], ABC):
    """`profile` are the plug-ins; `names`, `rows` and `clusters` are in the same order."""

    profile: Profile
    names: list[str]
    rows: Mapping[str, int]
    clusters: list[Cluster]

    @abstractmethod
    def refresh(self) -> None:
        """Lays the arrays out anew where clusters have joined or left. To be called before they are read."""

    @abstractmethod
    def feasibility(self, request: Request) -> Feasibility:
        """Feasibility for the request's placement and kind."""

    @abstractmethod
    def available(self, request: Request, rows: Ints) -> Ints:
        """Number of replicas, or sets of components, that still fit into each of these clusters by its report."""

    @abstractmethod
    def displaced(self, request: Request, rows: Ints) -> Ints:
        """Number of these, at most, that cannot be where something is reserved for others, see `Estimator`."""

    @abstractmethod
    def stays_until(self, key: Hashable, leaves_at: Callable[[Cluster], datetime | None]) -> Floats:
        """Instants at which a copy that is placed now would have to leave each cluster, in seconds of the epoch;
        infinity: never.

        `key` stands for everything besides the cluster on which `leaves_at` depends.
        """

    @abstractmethod
    def answer(
        self, key: Hashable, depends_on_capacity: bool, find: Callable[[], Placed | Unplaceable]
    ) -> Placed | Unplaceable:
        """Outcome that was found for the same question on the same clusters, or else is found now."""

    def view(self) -> "ClusterView":
        """All clusters, to be scheduled on."""
        self.refresh()
        return ClusterView(self, None)

    def staying(
        self,
        key: Hashable,
        leaves_at: Callable[[Cluster], datetime | None],
        now: datetime,
        spared: Collection[str],
        but: Collection[str] = (),
    ) -> "ClusterView":
        """View without the clusters that a copy would have to leave again at once (the `spared` may), and without
        `but`."""
        self.refresh()
        until = self.stays_until(key, leaves_at)
        allowed = until > now.timestamp()
        if not but and allowed.all():
            return ClusterView(self, None)
        allowed[[self.rows[name] for name in spared if name in self.rows]] = True
        allowed[[self.rows[name] for name in but if name in self.rows]] = False
        return ClusterView(self, allowed)


class ClusterView(Sequence[Cluster]):
    """Clusters on which a binding may be scheduled; `allowed` is None for all of them."""

    def __init__(self, arrays: ClusterArrays, allowed: Bools | None) -> None:
        self.arrays = arrays
        self.allowed = allowed

    @overload
    def __getitem__(self, index: int) -> Cluster: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Cluster]: ...
    def __getitem__(self, index: int | slice) -> Cluster | Sequence[Cluster]:
        return self._listed()[index]

    def __len__(self) -> int:
        return len(self.arrays) if self.allowed is None else int(self.allowed.sum())

    def _listed(self) -> list[Cluster]:
        clusters = self.arrays.clusters
        return clusters if self.allowed is None else [clusters[row] for row in np.flatnonzero(self.allowed)]
