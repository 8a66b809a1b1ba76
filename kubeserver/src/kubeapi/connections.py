"""Connections that came in: counted, bounded, and which of them go first where there are too many.

A process has one table of descriptors, so it has one count, `Connections`, for all of its ports. A quarter of the table
is kept for files and for connections that it makes itself. Where the rest is full, a new connection takes the place of

    the oldest that has not come to a request yet
    the oldest of those that nobody has authenticated
    the oldest idle one of the user who has most of them

and is closed where there is none of these. Never reads what is sent.
"""

import logging
import resource
from collections.abc import Callable
from functools import cache

log = logging.getLogger(__name__)

MOST_DESCRIPTORS = 65_536


class TooManyConnections(Exception):
    """A user has as many connections as one may have, and all are in use."""


class Incoming:
    """A connection that has come in, and the number of descriptors that it takes. `user` is empty until somebody has
    authenticated."""

    __slots__ = ("_close", "address", "descriptors", "has_asked", "serving", "user")

    def __init__(self, address: str, close: Callable[[], None], descriptors: int = 1) -> None:
        self.address = address
        self.descriptors = descriptors
        self.user = ""
        self.has_asked = False
        self.serving = 0
        self._close = close

    def close_by(self, close: Callable[[], None]) -> None:
        self._close = close

    def close(self) -> None:
        self._close()


_Group = dict[Incoming, None]


class Connections:
    """The connections that came in and are open, the oldest first. They take at most `most` descriptors; those of an
    address that has not authenticated, and of a user, half of them."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.closed = 0
        """Number of connections that were closed for others."""
        self._silent: _Group = {}
        self._strangers: _Group = {}
        self._by_address: dict[str, _Group] = {}
        self._by_user: dict[str, _Group] = {}
        self._count = 0
        self._descriptors = 0

    def __len__(self) -> int:
        return self._count

    def users(self) -> dict[str, int]:
        """Number of connections of each user."""
        return {user: len(theirs) for user, theirs in self._by_user.items()}

    def enter(self, incoming: Incoming) -> bool:
        """Takes in a connection; one that has to go is closed for it. Returns False where there is no place."""
        of_address = self._by_address.get(incoming.address, {})
        if len(of_address) >= self._half(incoming):
            self._close(_first(self._silent, of_address) or next(iter(of_address)))
        while self._count and self._descriptors + incoming.descriptors > self.most:
            goes = next(iter(self._silent), None) or next(iter(self._strangers), None) or self._idle_of_most()
            if goes is None:
                return False
            self._close(goes)
        self._count += 1
        self._descriptors += incoming.descriptors
        self._silent[incoming] = None
        self._by_address.setdefault(incoming.address, {})[incoming] = None
        return True

    def leave(self, incoming: Incoming) -> None:
        """Forgets a connection that has ended, or ends."""
        if incoming not in (self._by_user if incoming.user else self._by_address).get(_owner(incoming), {}):
            return
        self._count -= 1
        self._descriptors -= incoming.descriptors
        self._take_out(incoming)

    def asked(self, incoming: Incoming) -> None:
        """A request has come on it."""
        incoming.has_asked = True
        if incoming in self._silent:
            del self._silent[incoming]
            self._strangers[incoming] = None

    def belongs_to(self, incoming: Incoming, user: str) -> None:
        """Notes whose it is. Raises: TooManyConnections."""
        if incoming.user == user or incoming not in self._by_address.get(incoming.address, {}):
            return
        theirs = self._by_user.setdefault(user, {})
        if len(theirs) >= self._half(incoming):
            idle = next((each for each in theirs if not each.serving), None)
            if idle is None:
                raise TooManyConnections(f"{user} has {len(theirs)} connections in use already: close some of them")
            self._close(idle)
        self._take_out(incoming)
        incoming.user = user
        self._by_user.setdefault(user, {})[incoming] = None

    def _half(self, incoming: Incoming) -> int:
        """Most connections like this one of one owner."""
        return max(1, self.most // 2 // incoming.descriptors)

    def _idle_of_most(self) -> Incoming | None:
        for theirs in sorted(self._by_user.values(), key=len, reverse=True):
            if (idle := next((each for each in theirs if not each.serving), None)) is not None:
                return idle
        return None

    def _close(self, incoming: Incoming) -> None:
        self.leave(incoming)
        self.closed += 1
        if self.closed == 1 or self.closed % 1000 == 0:
            log.warning(
                "%d connections were closed to make room: %d may be open; see who connects, or raise `ulimit -n`",
                self.closed,
                self.most,
            )
        incoming.close()

    def _take_out(self, incoming: Incoming) -> None:
        self._silent.pop(incoming, None)
        self._strangers.pop(incoming, None)
        groups, owner = self._by_user if incoming.user else self._by_address, _owner(incoming)
        group = groups.get(owner, {})
        group.pop(incoming, None)
        if not group:
            groups.pop(owner, None)


def _owner(incoming: Incoming) -> str:
    return incoming.user or incoming.address


def _first(group: _Group, among: _Group) -> Incoming | None:
    """Finds the first of `among` that is in the group."""
    return next((each for each in among if each in group), None)


@cache
def connections_of_process() -> Connections:
    """The count of this process: three quarters of its descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    descriptors = MOST_DESCRIPTORS if soft == resource.RLIM_INFINITY else min(soft, MOST_DESCRIPTORS)
    return Connections(max(1, descriptors - descriptors // 4))
