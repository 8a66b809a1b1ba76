"""The clusters that passed the filters, as arrays: their room, their replicas, their scores.

Room is by the lowest estimate. The general estimator's is in the fleet's arrays, with what was promised to other
bindings taken off; from the answers of other estimators the same is taken off here, since they cannot know of it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leeward.api.cluster import Cluster
from leeward.core.scheduling.bulk import Bools, Ints, listed
from leeward.core.scheduling.capacity import MAX_REPLICAS
from leeward.core.scheduling.estimation import GENERAL_ESTIMATOR
from leeward.core.scheduling.fleet import Fleet
from leeward.core.scheduling.locality import CLUSTER_LOCALITY, MAX_SCORE
from leeward.core.scheduling.model import Candidate, Request
from leeward.core.scheduling.selection import room_decides
from leeward.core.scheduling.survey import Survey


@dataclass(slots=True)
class Found:
    """The clusters that passed the filters, in the order of their names.

    `kept` are those that a failover keeps as they are; `turn` is who comes first on a tie.
    """

    rows: Ints
    room: Ints
    assigned: Ints
    score: Ints
    kept: Bools
    turn: Ints | None = None

    @staticmethod
    def of(request: Request, fleet: Fleet, rows: Ints) -> "Found":
        assigned, score = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
        kept = np.zeros(len(rows), dtype=np.bool_)
        for name, replicas in request.assigned.items():
            row = fleet.rows.get(name)
            at = -1 if row is None else int(np.searchsorted(rows, row))
            if 0 <= at < len(rows) and rows[at] == row:
                assigned[at], score[at], kept[at] = replicas, MAX_SCORE, request.keep_assigned
        if fleet.profile.scores != (CLUSTER_LOCALITY,):
            score = np.array([_score(request, fleet, row) for row in rows], dtype=np.int64)
        return Found(rows, _room(request, fleet, rows), assigned, score, kept)

    @property
    def available(self) -> Ints:
        return self.room + self.assigned

    @property
    def order(self) -> Ints:
        """Positions from the best on: first what a failover keeps."""
        if not (self.score.any() or self.kept.any()):
            return np.argsort(-self.available, kind="stable")
        return np.lexsort((-self.available, -self.score, ~self.kept))

    def at(self, chosen: Ints) -> "Found":
        """Only the chosen ones, in the order of their names; they take their turns as they are given."""
        turn = np.argsort(chosen)
        at = chosen[turn]
        return Found(self.rows[at], self.room[at], self.assigned[at], self.score[at], self.kept[at], turn)

    def candidate(self, fleet: Fleet, survey: Survey, at: int) -> Candidate:
        row = int(self.rows[at])
        numbers = (int(survey.tiers[row]), int(self.score[at]), int(self.room[at]), int(self.assigned[at]))
        return Candidate(fleet.clusters[row], *numbers)


def _score(request: Request, fleet: Fleet, row: int) -> int:
    return sum(plugin.score(request, fleet.clusters[row]) for plugin in fleet.profile.scores)


def _room(request: Request, fleet: Fleet, rows: Ints) -> Ints:
    spec = request.spec
    room = np.full(len(rows), MAX_REPLICAS, dtype=np.int64)
    if (spec.replicas == 0 and not spec.components) or not room_decides(request.placement):
        return room
    for estimator in fleet.profile.estimators:
        if estimator is GENERAL_ESTIMATOR:
            room = np.minimum(room, _general_room(request, fleet, rows))
        elif (estimate := estimator.estimate(request)) is not None:
            room = np.minimum(room, _foreign_room(request, fleet, rows, estimate))
    return np.where(room == MAX_REPLICAS, spec.replicas, room)


def _general_room(request: Request, fleet: Fleet, rows: Ints) -> Ints:
    if not request.is_set:
        return fleet.room(request)[rows]
    found = [fleet.ledger.sets(fleet.names[row], request.spec.components) for row in listed(rows)]
    return np.array(found, dtype=np.int64)


def _foreign_room(request: Request, fleet: Fleet, rows: Ints, estimate: Callable[[Cluster], int]) -> Ints:
    """Less the promises of which the estimator does not know; where it sets no limit, neither do they."""
    room = np.array([estimate(fleet.clusters[row]) for row in listed(rows)], dtype=np.int64)
    taken = np.array([fleet.ledger.displaced(fleet.names[row], request) for row in listed(rows)], dtype=np.int64)
    return np.where(room == MAX_REPLICAS, room, np.maximum(0, room - taken))
