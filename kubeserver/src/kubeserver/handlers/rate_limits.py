"""Rate limits of users: a bucket of tokens for each, that fills at a steady rate and holds a burst.

Pure: the present instant is an argument, in seconds that never run backwards.
"""

from collections import OrderedDict

REMEMBERED_USERS = 10_000
"""Users who are remembered: who asked least recently is forgotten first; a full bucket says nothing that would be
lost."""


class RateLimiter:
    """`per_second` requests in the long run, `burst` at once."""

    def __init__(self, per_second: float, burst: float) -> None:
        self._per_second = per_second
        self._burst = burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Rest of each user's bucket, and the instant of it."""

    def wait_seconds(self, user: str, now: float) -> float:
        """Takes a token; 0 when there was one, else how long until there is."""
        left, since = self._buckets.pop(user, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._per_second)
        taken = left >= 1
        self._buckets[user] = left - taken, now
        if len(self._buckets) > REMEMBERED_USERS:
            self._buckets.popitem(last=False)
        return 0.0 if taken else (1 - left) / self._per_second
