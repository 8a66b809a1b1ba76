"""Tells a mass from the few: whether so many are concerned at once that what is not urgent had better wait.

With a detector for each namespace a mass of one is none of another's.
"""

from collections import OrderedDict
from collections.abc import Hashable

MOST_KEYS = 4_096


class BurstDetector:
    """`size` different ones within `seconds` are a burst; with a size of 0 there always is one."""

    def __init__(self, size: int, seconds: float) -> None:
        self._size = size
        self._seconds = seconds
        self._latest: OrderedDict[Hashable, float] = OrderedDict()

    def add(self, who: Hashable, now: float) -> None:
        """Notes that something concerns `who`; `now` never runs backwards."""
        self._latest[who] = now
        self._latest.move_to_end(who)
        if len(self._latest) > self._size:
            self._latest.popitem(last=False)

    def is_there(self, now: float) -> bool:
        earliest = next(iter(self._latest.values()), now)
        return len(self._latest) == self._size and now - earliest < self._seconds


class BurstDetectors:
    """A detector for each key, as many as `MOST_KEYS`: that of the key that was longest without anything is dropped."""

    def __init__(self, size: int, seconds: float) -> None:
        self._size = size
        self._seconds = seconds
        self._of: OrderedDict[Hashable, BurstDetector] = OrderedDict()

    def add(self, key: Hashable, who: Hashable, now: float) -> bool:
        """Notes that something concerns `who`. Returns whether the key has a burst."""
        detector = self._of.setdefault(key, BurstDetector(self._size, self._seconds))
        self._of.move_to_end(key)
        if len(self._of) > MOST_KEYS:
            self._of.popitem(last=False)
        detector.add(who, now)
        return detector.is_there(now)
