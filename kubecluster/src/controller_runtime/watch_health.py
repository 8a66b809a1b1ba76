"""Health of watches: since when a kind cannot be followed. What is known of it may be old, however complete it once
was.

A request that is refused fails within the time in which a stream must open. So a watch that lasts longer is open,
though nothing may happen on it.
"""

import asyncio

from kubeclient.bounds import OPEN_TIMEOUT_SECONDS


class WatchHealth:
    """Instants are those of the loop, in seconds (`Clock.monotonic`)."""

    def __init__(self) -> None:
        self._failing_since: float | None = None
        self._begun_at: float | None = None
        self._told_at: float | None = None

    @property
    def quiet_seconds(self) -> float:
        """Seconds for which an open watch has told nothing; 0 while none is open."""
        return 0.0 if self._told_at is None else _now() - self._told_at

    @property
    def failing_since(self) -> float | None:
        """None where the kind is followed, or its first request is under way."""
        if self._begun_at is not None and _now() - self._begun_at > OPEN_TIMEOUT_SECONDS:
            return None
        return self._failing_since

    def begins(self) -> None:
        """A watch is asked for."""
        self._begun_at, self._told_at = _now(), None

    def opens(self) -> None:
        """The server has accepted the watch; its events come next."""
        self._told_at = _now()

    def succeeds(self) -> None:
        """The server has told something, or has ended a watch as it should."""
        self._failing_since = None
        self._told_at = _now()

    def breaks_off(self) -> None:
        """Notes that we have ended the watch ourselves."""
        self._told_at = None

    def fails(self) -> None:
        """Notes that no request is under way; after one that succeeded until the next one does."""
        self._failing_since, self._begun_at, self._told_at = self.failing_since, None, None
        if self._failing_since is None:
            self._failing_since = _now()


def _now() -> float:
    return asyncio.get_running_loop().time()
