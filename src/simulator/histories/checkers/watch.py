"""Watch: when somebody of the control plane watched its clusters, and since when those have who do now."""

from dataclasses import dataclass, field
from typing import NamedTuple

UNSEEN_SECONDS = 3.0
"""Seconds of a short stall that may go unseen: how late a tick, and a look at the lives, may come at both ends of
it."""


class Unwatched(NamedTuple):
    begin: float
    end: float
    stalled: bool
    """Tells whether they stood still, and were not gone."""


@dataclass(slots=True)
class Watch:
    """`since` is the beginning of the present watch, `gaps` are the times without one."""

    since: float = 0.0
    gaps: list[Unwatched] = field(default_factory=list[Unwatched])
    _away: tuple[float, bool] | None = None

    def note(self, now: float, *, watched: bool, stalled: bool) -> None:
        """Notes what is so now; to be called about once a second."""
        if not watched and self._away is None:
            self._away = now, stalled
        elif watched and self._away is not None:
            began, still = self._away
            self.gaps.append(Unwatched(began, now, still))
            self.since, self._away = now, None

    def restored(self, taken_at: float, now: float) -> None:
        """Forgets what a restored control plane knows nothing of: what was seen since its backup was taken."""
        before = [gap._replace(end=min(gap.end, taken_at)) for gap in self.gaps if gap.begin < taken_at]
        self.gaps = [*before, Unwatched(taken_at, now, stalled=False)]
        self.since = now
        if self._away is not None:
            self._away = now, self._away[1]

    def seconds(self, begin: float, end: float, short: float) -> float:
        """Seconds of this time that were watched. Short gaps count as if they were; of stalls, what is
        `UNSEEN_SECONDS`."""
        missed = (
            max(0.0, min(gap.end, end) - max(gap.begin, begin) - (0 if gap.end - gap.begin > short else UNSEEN_SECONDS))
            for gap in self.gaps
            if gap.stalled or gap.end - gap.begin > short
        )
        return end - begin - sum(missed)
