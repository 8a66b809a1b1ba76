"""Tells a mass from the few: whether so many are concerned at once that what is not urgent had better wait."""

from collections import OrderedDict
from collections.abc import Hashable


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
