"""A moment after the return of a cluster in which nothing is deleted there that was to go while it was away.

A cluster that is back is soon assigned what it had before, when the taints of its outage are gone; what is assigned
again keeps its objects. Times are seconds of one monotonic clock.
"""

from dataclasses import dataclass, replace
from datetime import datetime

SETTLE_SECONDS = 0.3
"""From the moment in which the taints of the outage are gone: long enough for a decision and its Works."""
LONGEST_SETTLE_SECONDS = 5.0
"""From the moment in which the cluster was seen Ready, whatever taints it has."""
POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Return:
    """`since` is when the cluster became Ready, `seen_at` when that was seen, `clear_at` when its taints were gone."""

    since: datetime
    seen_at: float
    clear_at: float | None = None


def note_return(before: Return | None, since: datetime, *, tainted: bool, now: float) -> Return:
    """What is known of the cluster's return now."""
    known = before if before is not None and before.since == since else Return(since, now)
    return replace(known, clear_at=now) if known.clear_at is None and not tainted else known


def settling_left(known: Return, now: float) -> float:
    """In how many seconds to look again; 0 when deletions may be carried out."""
    longest = known.seen_at + LONGEST_SETTLE_SECONDS
    settled = longest if known.clear_at is None else min(longest, known.clear_at + SETTLE_SECONDS)
    left = max(0.0, settled - now)
    return left if known.clear_at is not None else min(POLL_SECONDS, left)
