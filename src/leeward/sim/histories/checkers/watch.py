"""Watch: when somebody of the control plane watched its clusters, and since when those have who do now."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Watch:
    """`since` is the beginning of the present watch, `gaps` are the times without one."""

    since: float = 0.0
    gaps: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    _away_since: float | None = None

    def note(self, now: float, watched: bool) -> None:
        """What is so now; to be called about once a second."""
        if not watched and self._away_since is None:
            self._away_since = now
        elif watched and self._away_since is not None:
            self.gaps.append((self._away_since, now))
            self.since, self._away_since = now, None

    def seconds(self, begin: float, end: float, short: float) -> float:
        """How much of this time was watched; gaps of up to `short` seconds count as if they were."""
        long = ((a, b) for a, b in self.gaps if b - a > short)
        return end - begin - sum(max(0.0, min(b, end) - max(a, begin)) for a, b in long)
