"""Instants at which an outage is written: few times, however many applications it concerns.

What is news (it begins, its cluster is back, it is over, the brake) is written at once. What becomes of applications is
collected until nobody is on the way any more, or for a minute; and the longer, the more often it was written since the
last news. What the Cluster says, too, waits for the next write for some minutes.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum

from leeward.api.outage import ClusterOutage
from leeward.core.outages.record import untold

SETTLED_COLLECT = timedelta(seconds=10)
PROGRESS_COLLECT = timedelta(seconds=60)
PAUSES = tuple(timedelta(seconds=seconds) for seconds in (0, 60, 120, 300))
"""Pauses between two writes, at least: after news, and then after the first, the second, ... of what is none."""
QUIET = timedelta(seconds=300)
"""Time without a write after which the pauses are short again."""
SAID_ELSEWHERE = timedelta(seconds=600)


class Urgency(Enum):
    """Urgency of telling a change. Settled: nobody is on the way."""

    NEWS = "News"
    SETTLED = "Settled"
    PROGRESS = "Progress"
    SAID_ELSEWHERE = "SaidElsewhere"


@dataclass(frozen=True, slots=True)
class Pace:
    """`due_at` is when what has changed is to be written, None where nothing has. `writes` counts from the news on."""

    due_at: datetime | None = None
    wrote_at: datetime | None = None
    writes: int = 0

    def changed(self, now: datetime, urgency: Urgency) -> "tuple[Pace, datetime]":
        """Notes that there is something to write, and says when."""
        due_at = self._due_at(now, urgency)
        if self.due_at is not None:
            due_at = min(due_at, self.due_at)
        writes = 0 if urgency is Urgency.NEWS else self._writes(now)
        return replace(self, due_at=due_at, writes=writes), due_at

    def wrote(self, now: datetime) -> "Pace":
        return Pace(wrote_at=now, writes=self.writes + 1)

    def _writes(self, now: datetime) -> int:
        is_quiet = self.wrote_at is None or now - self.wrote_at >= QUIET
        return 1 if is_quiet else self.writes

    def _due_at(self, now: datetime, urgency: Urgency) -> datetime:
        match urgency:
            case Urgency.NEWS:
                return now
            case Urgency.SETTLED:
                return self._paced(now, now + SETTLED_COLLECT)
            case Urgency.PROGRESS:
                return self._paced(now, now + PROGRESS_COLLECT)
            case Urgency.SAID_ELSEWHERE:
                return now + SAID_ELSEWHERE

    def _paced(self, now: datetime, due_at: datetime) -> datetime:
        index = min(max(0, self._writes(now) - 1), len(PAUSES) - 1)
        return max(due_at, (self.wrote_at or now) + PAUSES[index])


def urgency_of(written: ClusterOutage | None, outage: ClusterOutage) -> Urgency:
    """Urgency of what has changed since it was written."""
    if written is None:
        return Urgency.NEWS
    before, after = written.status, outage.status
    if (before.phase, before.failures, before.braked) != (after.phase, after.failures, after.braked):
        return Urgency.NEWS
    if untold(before) == untold(after):
        return Urgency.SAID_ELSEWHERE
    return Urgency.PROGRESS if after.moving else Urgency.SETTLED
