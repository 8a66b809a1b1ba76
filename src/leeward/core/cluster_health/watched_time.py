"""Time that somebody watched: the only time that thresholds, tolerations and grace periods run over.

The cluster controllers renew a heartbeat (the Lease `karmada-system/leeward-heartbeat`). It has an identity, which
lasts as long as one process watches without a gap; and it lists the gaps: times during which nobody watched, and steps
of the wall clock. Both are the same to a deadline: it moves by as much.

    Gap, WatchedTime    the gaps, and their effect on an instant since which something counts
    Attention           the same with the heartbeat: grounds for belief now
    was_away            whether somebody may believe earlier observations
    gap_between         the gap between two renewals

Decision 21 says why. Karmada counts by the wall clock alone. Holds: S13.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from kubeapi.core import Lease
from kubeapi.meta import format_micro_time, parse_time
from leeward.api.names import UNWATCHED_ANNOTATION

STEP = timedelta(seconds=1)
"""Difference of the wall clock from the monotonic one that makes a step."""
CLOCKS_APART = timedelta(seconds=60)
"""Largest difference that is allowed for between two of our clocks: that of an API server, and that of the
controllers."""
BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
"""Beginning of what is not known to have been watched at all."""
REMEMBERED = timedelta(days=7)
MOST_GAPS = 50


@dataclass(frozen=True, slots=True)
class Gap:
    """Instants of the wall clock; a step of the clock is a gap, too."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class WatchedTime:
    """`gaps` in order, none of which overlap."""

    gaps: tuple[Gap, ...] = ()

    def moved(self, since: datetime) -> datetime:
        """Instant from which it would count, had nothing been missed: `since`, later by the unwatched time after it."""
        missed = (gap.end - max(gap.start, since) for gap in self.gaps if gap.end > since)
        return since + sum(missed, timedelta())

    def has_gap_since(self, instant: datetime) -> bool:
        """Tells whether who watches now was away since then."""
        return any(gap.end > instant for gap in self.gaps)

    def until(self, now: datetime) -> "WatchedTime":
        """Watched time without gaps that are yet to come: by a clock that was ahead, and has been set back since."""
        cut = (Gap(gap.start, min(gap.end, now)) for gap in self.gaps)
        return WatchedTime(tuple(gap for gap in cut if gap.start < gap.end))

    def missing(self, gap: Gap) -> "WatchedTime":
        """Watched time with one more gap, which is later than the others; it does not overlap them afterwards."""
        start = max(gap.start, self.gaps[-1].end) if self.gaps else gap.start
        return WatchedTime((*self.gaps, Gap(start, gap.end))) if start < gap.end else self


ALWAYS = WatchedTime()


@dataclass(frozen=True, slots=True)
class Attention:
    """Grounds for what may be believed of the clusters now.

    `heartbeat` is the identity of the watching process; empty where nobody has begun. It is None where no heartbeat is
    kept at all (Karmada's own controllers, Karmada-exact mode): then everything counts as it stands. `is_now`: it was
    renewed a moment ago. `settled_at`: from then on reports from before the heartbeat began have been looked at again.
    """

    time: WatchedTime = ALWAYS
    heartbeat: str | None = None
    is_now: bool = True
    settled_at: datetime | None = None

    @property
    def is_kept(self) -> bool:
        return self.heartbeat is not None

    def has_settled(self, now: datetime) -> bool:
        """Tells whether the clusters' reports have been read again since the heartbeat began."""
        return not self.is_kept or (self.is_now and (self.settled_at is None or now >= self.settled_at))

    def settles_at(self, now: datetime) -> datetime | None:
        """Instant at which it will have settled; None where it has, or where that cannot be told."""
        return self.settled_at if self.settled_at is not None and self.settled_at > now else None


UNKEPT = Attention()


def was_away(last: tuple[datetime, float], now: tuple[datetime, float], longest_seconds: float) -> bool:
    """Tells whether more than `longest_seconds` lie between two looks, or the wall clock has stepped.

    Each is given by the wall clock and by monotonic seconds.
    """
    return now[1] - last[1] > longest_seconds or has_stepped(last, now)


def has_stepped(last: tuple[datetime, float], now: tuple[datetime, float]) -> bool:
    """Tells whether the wall clock differs from the monotonic one between two looks, given as to `was_away`."""
    return abs(now[0] - last[0] - timedelta(seconds=now[1] - last[1])) > STEP


def gap_between(
    last: tuple[datetime, float], now: tuple[datetime, float], longest_seconds: float, stood_still_seconds: float = 0.0
) -> Gap | None:
    """Time that was not watched between two renewals, which are given as to `was_away`.

    An interval longer than `longest_seconds` was not watched, nor the seconds in which the watching process stood
    still. A clock that is set back leaves no gap.
    """
    seconds, elapsed = now[1] - last[1], now[0] - last[0]
    watched = timedelta(seconds=max(0.0, seconds - stood_still_seconds) if seconds <= longest_seconds else 0)
    return Gap(last[0] + watched, now[0]) if elapsed - watched > STEP else None


def bounded(time: WatchedTime, now: datetime) -> WatchedTime:
    """Watched time without the gaps of long ago. Where there are too many, the first are joined."""
    gaps = [gap for gap in time.until(now).gaps if gap.end > now - REMEMBERED]
    while len(gaps) > MOST_GAPS:
        gaps[:2] = [_joined(gaps[0], gaps[1])]
    return WatchedTime(tuple(gaps))


def _joined(first: Gap, second: Gap) -> Gap:
    """One gap for two: as long as both, and as late. To no instant does more time count than before. To those outside
    it does as much: many short stalls never make up a long one."""
    return Gap(second.end - (first.end - first.start) - (second.end - second.start), second.end)


def render_gaps(gaps: Sequence[Gap]) -> str:
    return ",".join(f"{format_micro_time(gap.start)}/{format_micro_time(gap.end)}" for gap in gaps)


def watched_time_in(heartbeat: Lease) -> WatchedTime:
    return parse_gaps(heartbeat.metadata.annotations.get(UNWATCHED_ANNOTATION, ""))


def parse_gaps(text: str) -> WatchedTime:
    """Reads gaps; an unreadable one is none."""
    time = ALWAYS
    for part in filter(None, text.split(",")):
        start, _, end = part.partition("/")
        try:
            time = time.missing(Gap(parse_time(start), parse_time(end)))
        except ValueError:
            continue
    return time
