"""Shares of what all users use together, such as streams: so many for each, and some that are kept.

What is kept is for the dashboard's own identity, which signs in by the link: however many others come, it finds room.
"""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from leeward.dashboard.sessions import Session
from leeward.operations import OperationFailed


class TooManyAtOnce(OperationFailed):
    """A user, or all of them, have as many as they may: the message says of what, and the way out."""


class UserShares:
    """`what` names them in the plural, `end` how one becomes free; each user has `each` at most, all have `most`."""

    def __init__(self, what: str, end: str, *, each: int, most: int) -> None:
        self._what, self._end = what, end
        self._each, self._most = each, most
        self._taken = Counter[tuple[bool, str]]()

    @contextmanager
    def taken_by(self, session: Session) -> Generator[None]:
        """Takes a share of the session's user while the context lasts. Raises: TooManyAtOnce."""
        owner = session.owner
        if self._taken[owner] >= self._each:
            raise TooManyAtOnce(f"{self._each} {self._what} of {session.user}: {self._end}")
        others = sum(number for (is_own, _), number in self._taken.items() if not is_own)
        if not session.is_own and others >= self._most - self._each:
            raise TooManyAtOnce(f"{others} {self._what} of all users: {self._end}")
        self._taken[owner] += 1
        try:
            yield
        finally:
            self._taken[owner] -= 1
            if not self._taken[owner]:
                del self._taken[owner]
