"""Turns in which Deployment templates that are at rest get their first conditions, one after the other.

Karmada gives a template no conditions, and of an application at rest nothing else is new that they could be told with
(decision 91). So many may be there at once that each has its turn: after this process has settled, and at a bounded
rate. A turn is an instant in the queue of the binding controller, and no task of its own.
"""

from datetime import datetime, timedelta
from typing import Final

from controller_runtime import Key

SETTLES: Final = timedelta(seconds=60)
"""Time after the first look in which a process learns who is still there: a Lease that Karmada left has run out."""
APART: Final = timedelta(seconds=0.2)
"""Time between two turns: at most five statuses are written in a second."""
LOOKS_AGAIN: Final = timedelta(seconds=300)
"""Time after which a template is looked at again of which not everything was known, or while others were in a hurry."""


class FirstConditions:
    """Turns of templates, by the key of their binding; at most one for each binding that there is."""

    def __init__(self) -> None:
        self._turns: dict[Key, datetime] = {}
        self._telling: set[Key] = set()
        """Keys that have had their turn, and may be written until the next one comes."""
        self._told: set[Key] = set()
        """Keys that have got their conditions here: whoever takes these off does not get them again and again."""
        self._last: datetime | None = None

    def take_turn(self, key: Key, now: datetime, *, may_tell: bool) -> bool:
        """Tells whether to write now. A turn in which that may not be is followed by another."""
        if key in self._told:
            return False
        if key not in self._turns:
            self._turns[key] = self._next(now)
        if now >= self._turns[key]:
            self._turns[key] = self._next(now + LOOKS_AGAIN)
            (self._telling.add if may_tell else self._telling.discard)(key)
        return key in self._telling

    def look_at(self, key: Key, now: datetime) -> datetime | None:
        """Instant of the next turn, if there is to be one; what has passed its turn is looked at when it changes."""
        turn = self._turns.get(key)
        return turn if turn is not None and turn > now else None

    def told(self, key: Key) -> None:
        """Notes that its template has conditions."""
        if self._turns.pop(key, None) is not None:
            self._telling.discard(key)
            self._told.add(key)

    def forget(self, key: Key) -> None:
        """Forgets a binding that is gone."""
        self._turns.pop(key, None)
        self._telling.discard(key)
        self._told.discard(key)

    def _next(self, earliest: datetime) -> datetime:
        if self._last is None:
            self._last = earliest + SETTLES
        else:
            self._last = max(self._last + APART, earliest)
        return self._last
