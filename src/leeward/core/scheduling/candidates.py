"""Candidates: the clusters that passed the filters, as arrays: their room, their replicas, their scores.

Room is by the lowest estimate. `ClusterArrays.available` has the clusters' own reports, less reservations for other
bindings. These are taken off here from answers of estimators that cannot know of them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from leeward.api.cluster import Cluster
from leeward.core.scheduling.cluster_arrays import ClusterArrays, Feasibility
from leeward.core.scheduling.locality import CLUSTER_LOCALITY, MAX_SCORE
from leeward.core.scheduling.model import MAX_REPLICAS, Candidate, Request
from leeward.core.scheduling.selection import room_decides
from leeward.core.scheduling.vector_allocation import Bools, Ints, listed


@dataclass(frozen=True, slots=True)
class Candidates:
    """The clusters that passed the filters, in the order of their names.

    `kept` are those that a failover keeps as they are; `claims` is above 0 where claims are held; `turn` is who comes
    first on a tie.
    """

    rows: Ints
    room: Ints
    assigned: Ints
    score: Ints
    kept: Bools
    claims: Ints
    turn: Ints | None = None

    @staticmethod
    def of(request: Request, arrays: ClusterArrays, rows: Ints) -> "Candidates":
        assigned = np.zeros(len(rows), dtype=np.int64)
        score, kept = np.zeros_like(assigned), np.zeros(len(rows), dtype=np.bool_)
        claims = np.zeros_like(assigned)
        for at, name in _positions(request.assigned, arrays, rows):
            assigned[at], score[at], kept[at] = request.assigned[name], MAX_SCORE, request.keep_assigned
        for at, name in _positions(request.claims, arrays, rows):
            claims[at] = request.claims[name]
        if arrays.profile.scores != (CLUSTER_LOCALITY,):
            score = np.array([_score(request, arrays, row) for row in rows], dtype=np.int64)
        return Candidates(rows, _room(request, arrays, rows), assigned, score, kept, claims)

    @property
    def available(self) -> Ints:
        return self.room + self.assigned

    @property
    def order(self) -> Ints:
        """Positions from the best on: first those that a failover keeps."""
        if not (self.score.any() or self.kept.any() or self.claims.any()):
            return np.argsort(-self.available, kind="stable")
        return np.lexsort((-self.available, -self.claims, -self.score, ~self.kept))

    def at(self, chosen: Ints) -> "Candidates":
        """Chosen ones only, in the order of their names; they take their turns as they are given."""
        turn = np.argsort(chosen)
        at = chosen[turn]
        numbers = (self.rows[at], self.room[at], self.assigned[at], self.score[at])
        return Candidates(*numbers, self.kept[at], self.claims[at], turn)

    def candidate(self, arrays: ClusterArrays, feasibility: Feasibility, at: int) -> Candidate:
        row = int(self.rows[at])
        columns = (self.score, self.room, self.assigned, self.claims)
        return Candidate(arrays.clusters[row], int(feasibility.tiers[row]), *(int(column[at]) for column in columns))


def _positions(names: Iterable[str], arrays: ClusterArrays, rows: Ints) -> Iterator[tuple[int, str]]:
    """Positions of those of these clusters that are among the rows."""
    for name in names:
        row = arrays.rows.get(name)
        at = len(rows) if row is None else int(np.searchsorted(rows, row))
        if at < len(rows) and rows[at] == row:
            yield at, name


def room_in(request: Request, arrays: ClusterArrays, name: str) -> int:
    """Number of replicas that still fit into one cluster; as many as you like where room decides nothing."""
    arrays.refresh()
    return int(_room(request, arrays, np.array([arrays.rows[name]]))[0])


def feasible_in(request: Request, arrays: ClusterArrays) -> Sequence[Cluster]:
    """The clusters that pass the shared filters for the request's affinity term."""
    arrays.refresh()
    return [arrays.clusters[row] for row in listed(np.flatnonzero(arrays.feasibility(request).feasible))]


def fits_in(request: Request, arrays: ClusterArrays, name: str, replicas: int) -> bool:
    """Tells whether one cluster has room for so many more replicas, also where room decides nothing. One that does not
    report its resources is not judged."""
    arrays.refresh()
    row = arrays.rows[name]
    if replicas <= 0 or arrays.clusters[row].status.resource_summary is None:
        return True
    return int(_measured(request, arrays, np.array([row]))[0]) >= replicas


def _score(request: Request, arrays: ClusterArrays, row: int) -> int:
    return sum(plugin.score(request, arrays.clusters[row]) for plugin in arrays.profile.scores)


def _room(request: Request, arrays: ClusterArrays, rows: Ints) -> Ints:
    spec = request.spec
    if (spec.replicas == 0 and not spec.components) or not room_decides(request.placement):
        return np.full(len(rows), MAX_REPLICAS, dtype=np.int64)
    return _measured(request, arrays, rows)


def _measured(request: Request, arrays: ClusterArrays, rows: Ints) -> Ints:
    spec = request.spec
    room = arrays.available(request, rows)
    for estimator in arrays.profile.estimators:
        if (estimate := estimator.estimate(request)) is not None:
            room = np.minimum(room, _estimated(request, arrays, rows, estimate, estimator.knows_reserved))
    return np.where(room == MAX_REPLICAS, spec.replicas, room)


def _estimated(
    request: Request, arrays: ClusterArrays, rows: Ints, estimate: Callable[[Cluster], int], knows_reserved: bool
) -> Ints:
    """Estimated room less reservations for others, where the estimator does not know of them; no limit stays none."""
    room = np.array([estimate(arrays.clusters[row]) for row in listed(rows)], dtype=np.int64)
    if knows_reserved:
        return room
    return np.where(room == MAX_REPLICAS, room, np.maximum(0, room - arrays.displaced(request, rows)))
