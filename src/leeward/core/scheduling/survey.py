"""What one placement means for every cluster of a fleet, as arrays.

A `Survey` holds for each cluster whether it passes the filters (or why not), its tier and its static weight: all that
follows from the placement and the kind of the template alone. Bindings with the same placement share it, and a change
of one cluster renews one cell. Rows are clusters in the order of their names.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

import msgspec
import numpy as np

from leeward.api.cluster import Cluster
from leeward.api.codec import encode
from leeward.api.quantity import Quantity
from leeward.core.scheduling.affinity import tier_of
from leeward.core.scheduling.assignment import static_weight
from leeward.core.scheduling.bulk import Bools, Floats, Ints
from leeward.core.scheduling.capacity import Demand
from leeward.core.scheduling.groups import groupings
from leeward.core.scheduling.ledger import Ledger
from leeward.core.scheduling.model import Filter, Rejection, Request
from leeward.core.scheduling.steps import first_rejection

SurveyKey = tuple[bytes, str, str, str, bool]


def survey_key(request: Request) -> SurveyKey:
    """What of a request a survey depends on."""
    resource = request.spec.resource
    placement = encode(request.placement)
    return (placement, request.affinity_name, resource.api_version, resource.kind, request.spec.is_workload)


class Survey:
    def __init__(self, request: Request, filters: Sequence[Filter], clusters: Sequence[Cluster]) -> None:
        bare = msgspec.structs.replace(request.spec, clusters=(), graceful_eviction_tasks=())
        self._request = Request(bare, request.affinity_name)
        self._filters = filters
        count = len(clusters)
        self.feasible: Bools = np.zeros(count, dtype=np.bool_)
        self.tiers: Ints = np.zeros(count, dtype=np.int64)
        self.weights: Ints = np.zeros(count, dtype=np.int64)
        self.rejections: list[Rejection | None] = [None] * count
        self.revision = 0
        self.groupings = groupings(request.placement.spread_constraints)
        self._values: list[tuple[str, ...]] = [()] * count
        self._codes: tuple[Ints, list[str]] | None = None
        self.renew(range(count), clusters)

    def group_codes(self) -> tuple[Ints, list[str]] | None:
        """Each cluster's group, as an index into the names, -1 for none; None where a cluster is in several groups."""
        if self._codes is None:
            if any(len(values) > 1 for values in self._values):
                return None
            names = sorted({value for values in self._values for value in values})
            codes = {name: code for code, name in enumerate(names)}
            found = [codes[values[0]] if values else -1 for values in self._values]
            self._codes = np.array(found, dtype=np.int64), names
        return self._codes

    def renew(self, rows: Iterable[int], clusters: Sequence[Cluster]) -> None:
        for row in rows:
            cluster = clusters[row]
            rejection = first_rejection(self._request, cluster, self._filters)
            self.rejections[row] = rejection
            self.feasible[row] = rejection is None and not cluster.is_being_deleted
            self.tiers[row] = tier_of(self._request, cluster)
            self.weights[row] = static_weight(self._request, cluster)
            if len(self.groupings) == 1:
                self._values[row] = tuple(v for v in dict.fromkeys(self.groupings[0].values(cluster)) if v)
        self._codes = None


class Rooms:
    """How many more replicas with one request fit into each cluster; a request that cannot be read fits nowhere."""

    def __init__(self, asked: Mapping[str, Quantity] | None, names: Sequence[str], ledger: Ledger) -> None:
        try:
            self._demand = None if asked is None else Demand.of(asked)
            self._fits_nowhere = False
        except (ValueError, ArithmeticError):
            self._demand, self._fits_nowhere = None, True
        self.room: Ints = np.zeros(len(names), dtype=np.int64)
        self.revision = 0
        self.renew(range(len(names)), names, ledger)

    def renew(self, rows: Iterable[int], names: Sequence[str], ledger: Ledger) -> None:
        for row in () if self._fits_nowhere else rows:
            self.room[row] = ledger.room(names[row], self._demand)


class Stays:
    """Until when a copy that is placed now may stay in each cluster, in seconds of the epoch; infinity is for ever."""

    def __init__(self, leaves_at: Callable[[Cluster], datetime | None], clusters: Sequence[Cluster]) -> None:
        self._leaves_at = leaves_at
        self.until: Floats = np.zeros(len(clusters))
        self.revision = 0
        self.renew(range(len(clusters)), clusters)

    def renew(self, rows: Iterable[int], clusters: Sequence[Cluster]) -> None:
        for row in rows:
            instant = self._leaves_at(clusters[row])
            self.until[row] = np.inf if instant is None else instant.timestamp()
        self.earliest = float(self.until.min(initial=np.inf))
