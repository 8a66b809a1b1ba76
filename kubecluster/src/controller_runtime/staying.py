"""Objects that were reconciled and stay as they are, but for statuses that wait to be written: once they are written
there is nothing new to reconcile.

What is known here only spares work: who is forgotten is reconciled once more. So it is bounded, and the oldest goes.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from controller_runtime.bounded import keep_latest

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

MOST = 1_024
"""Number of objects whose statuses may wait at once; of more, some are reconciled once more."""


class StayingObjects(Generic[K, T]):
    """States of objects by key. `alike` tells whether the same would be done for two states."""

    def __init__(self, alike: Callable[[T, T], bool], most: int = MOST) -> None:
        self._alike = alike
        self._most = most
        self._states: dict[K, T] = {}

    def put(self, key: K, state: T) -> None:
        """Notes the state in which an object was reconciled, with the status that it will have."""
        self.forget(key)
        self._states[key] = state
        keep_latest(self._states, self._most)

    def forget(self, key: K) -> None:
        """Has the object reconciled again whatever it becomes: something else has changed meanwhile."""
        self._states.pop(key, None)

    def clear(self) -> None:
        """Forgets all."""
        self._states.clear()

    def has(self, key: K, state: Callable[[], T]) -> bool:
        """Tells whether the object was reconciled in such a state, which is made up when it is needed."""
        known = self._states.get(key)
        return known is not None and self._alike(known, state())
