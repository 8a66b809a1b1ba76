"""When an outage is written: few times, however many applications it concerns.

What is news (it begins, its cluster is back, it is over, the brake) is written at once. All else is collected: the
first change after a while for a moment, the next ones the longer, the more often it was written since the last news.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from leeward.api.outage import ClusterOutage

COLLECT = timedelta(seconds=5)
PAUSES = tuple(timedelta(seconds=seconds) for seconds in (0, 30, 60, 120, 300))
"""At least so long between two writes of what is no news: after the first, the second, ..."""
QUIET = timedelta(seconds=300)
"""After so long without a write, the pauses are short again."""


@dataclass(frozen=True, slots=True)
class Pace:
    """`due_at` is when what has changed is to be written, None where nothing has; `writes` are those since the news."""

    due_at: datetime | None = None
    wrote_at: datetime | None = None
    writes: int = 0

    def changed(self, now: datetime, *, is_news: bool) -> "tuple[Pace, datetime]":
        """There is something to write: when."""
        if is_news:
            due_at = now if self.due_at is None else min(now, self.due_at)
            return replace(self, due_at=due_at, writes=0), due_at
        if self.due_at is not None:
            return self, self.due_at
        is_quiet = self.wrote_at is None or now - self.wrote_at >= QUIET
        writes = 0 if is_quiet else self.writes
        due_at = max(now + COLLECT, (self.wrote_at or now) + PAUSES[min(writes, len(PAUSES) - 1)])
        return replace(self, due_at=due_at, writes=writes), due_at

    def wrote(self, now: datetime) -> "Pace":
        return Pace(wrote_at=now, writes=self.writes + 1)


def is_news(written: ClusterOutage | None, outage: ClusterOutage) -> bool:
    """Whether people wait for it."""
    if written is None:
        return True
    before, after = written.status, outage.status
    return (before.phase, before.failures, before.braked) != (after.phase, after.failures, after.braked)
