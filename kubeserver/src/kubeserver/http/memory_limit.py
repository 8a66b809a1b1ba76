"""Memory that each user may take up at a time: bytes of what comes in and of what nobody fetches, and open watches."""

from collections.abc import Generator
from contextlib import contextmanager


class UserLimitExceeded(Exception):
    """The user has taken up too much already."""


class UserLimit:
    """Holds: of no user there are more than `most` at a time."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._taken: dict[str, int] = {}

    def take(self, user: str, size: int) -> None:
        """Raises: UserLimitExceeded."""
        taken = self._taken.get(user, 0) + size
        if taken > self.most:
            raise UserLimitExceeded
        self._taken[user] = taken

    def give_back(self, user: str, size: int) -> None:
        left = self._taken.pop(user, 0) - size
        if left > 0:
            self._taken[user] = left

    @contextmanager
    def taken(self, user: str, size: int) -> Generator[None]:
        """Holds room within; what is larger than all of it takes all of it. Raises: UserLimitExceeded."""
        size = min(size, self.most)
        self.take(user, size)
        try:
            yield
        finally:
            self.give_back(user, size)
