"""Arrays that are kept from one decision to the next, and renewed where a cluster changed.

Each holds one number or more for each cluster; bindings that ask the same share it, and a change of one cluster renews
one cell. Rows are clusters in the order of their names.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import msgspec
import numpy as np

from kubeapi.quantity import Quantity
from leeward.api.cluster import Cluster
from leeward.core.scheduling.affinity import tier_of
from leeward.core.scheduling.cluster_arrays import Feasibility
from leeward.core.scheduling.groups import groupings
from leeward.core.scheduling.model import Filter, Rejection, Request
from leeward.core.scheduling.steps import first_rejection
from leeward.core.scheduling.vector_allocation import Bools, Floats, Ints
from leeward.planning.capacity import Demand
from leeward.planning.reservations import Reservations


class CachedArrays(Protocol):
    """`revision` is the fleet's at which they were true; `clusters` and `names` are the fleet's own, as they change."""

    revision: int

    def renew(self, rows: Iterable[int]) -> None:
        """Asks about the clusters of these rows again."""
        ...


class CachedFeasibility:
    """`found` is what one placement means for every cluster now."""

    def __init__(self, request: Request, filters: Sequence[Filter], clusters: Sequence[Cluster]) -> None:
        bare = msgspec.structs.replace(request.spec, clusters=(), graceful_eviction_tasks=())
        self._request = Request(bare, request.affinity_name, term_in_view=request.term_in_view)
        self._filters = filters
        self._clusters = clusters
        count = len(clusters)
        self._feasible: Bools = np.zeros(count, dtype=np.bool_)
        self._tiers: Ints = np.zeros(count, dtype=np.int64)
        self._weights: Ints = np.zeros(count, dtype=np.int64)
        self._rejections: list[Rejection | None] = [None] * count
        self._groupings = groupings(request.placement.spread_constraints)
        self._groups: list[tuple[str, ...]] = [()] * count
        self.revision = 0
        self.renew(range(count))

    def renew(self, rows: Iterable[int]) -> None:
        for row in rows:
            cluster = self._clusters[row]
            rejection = first_rejection(self._request, cluster, self._filters)
            self._rejections[row] = rejection
            self._feasible[row] = rejection is None and not cluster.is_being_deleted
            self._tiers[row] = tier_of(self._request, cluster)
            self._weights[row] = self._request.static_weight(cluster)
            if len(self._groupings) == 1:
                self._groups[row] = tuple(v for v in dict.fromkeys(self._groupings[0].values(cluster)) if v)
        codes = _codes_of(self._groups) if len(self._groupings) == 1 else None
        self.found = Feasibility(
            self._feasible, self._tiers, self._weights, self._rejections, tuple(self._groupings), codes
        )


def _codes_of(groups: Sequence[tuple[str, ...]]) -> tuple[Ints, list[str]] | None:
    """See `Feasibility.group_codes`."""
    if any(len(values) > 1 for values in groups):
        return None
    names = sorted({value for values in groups for value in values})
    codes = {name: code for code, name in enumerate(names)}
    return np.array([codes[values[0]] if values else -1 for values in groups], dtype=np.int64), names


class CachedAvailability:
    """Number of replicas with one request that still fit into each cluster; none for a request that cannot be read."""

    def __init__(self, asked: Mapping[str, Quantity] | None, names: Sequence[str], reservations: Reservations) -> None:
        try:
            self._demand = None if asked is None else Demand.of(asked)
            self._fits_nowhere = False
        except (ValueError, ArithmeticError):
            self._demand, self._fits_nowhere = None, True
        self._names = names
        self._reservations = reservations
        self.available: Ints = np.zeros(len(names), dtype=np.int64)
        self.revision = 0
        self.renew(range(len(names)))

    def renew(self, rows: Iterable[int]) -> None:
        for row in () if self._fits_nowhere else rows:
            self.available[row] = self._reservations.available(self._names[row], self._demand)


class CachedStays:
    """Instants until which a copy that is placed now may stay in each cluster, see `ClusterArrays.stays_until`."""

    def __init__(self, leaves_at: Callable[[Cluster], datetime | None], clusters: Sequence[Cluster]) -> None:
        self._leaves_at = leaves_at
        self._clusters = clusters
        self.until: Floats = np.zeros(len(clusters))
        self.revision = 0
        self.renew(range(len(clusters)))

    def renew(self, rows: Iterable[int]) -> None:
        for row in rows:
            instant = self._leaves_at(self._clusters[row])
            self.until[row] = np.inf if instant is None else instant.timestamp()
