"""A party's own clock: it may be wrong, but it runs as fast as all others."""

from datetime import datetime, timedelta

from kubeapi.loop import Clock


class SkewedClock:
    """`skew_seconds` ahead of the true clock (behind it, when negative); durations are true."""

    def __init__(self, true: Clock) -> None:
        self._true = true
        self.skew_seconds = 0.0

    def now(self) -> datetime:
        now = self._true.now()
        return now + timedelta(seconds=self.skew_seconds) if self.skew_seconds else now

    def monotonic(self) -> float:
        return self._true.monotonic()
