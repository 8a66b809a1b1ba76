"""Sessions of people who have signed in: in memory alone, bounded in number, and over after a while.

A session holds the client with which its owner is answered. Its id is a secret of the page: a browser keeps it for the
page's origin, and sends it to no other port of the host, as it would a cookie.
"""

import hmac
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from kubeapi.loop import Clock, Randomness
from kubeclient import Client
from leeward.dashboard.rights import NOTHING_SEEN, FleetSight

MOST_SESSIONS, MOST_SESSIONS_OF_ONE = 200, 10
"""Most sessions of all users together, and of each; the dashboard's own identity has its own beside those of all."""
IDLE_SECONDS = 8 * 3600.0
LONGEST_SECONDS = 24 * 3600.0


@dataclass(slots=True)
class Session:
    """`sight` is what its user may see, as it was asked last; `is_own`: the identity is that of the dashboard."""

    id: str = field(repr=False)
    user: str
    client: Client = field(repr=False)
    is_own: bool
    begun: float
    used: float
    sight: FleetSight = NOTHING_SEEN
    seen_at: float = float("-inf")

    @property
    def owner(self) -> tuple[bool, str]:
        """Owner of the shares that it uses: who has the name of the dashboard's own identity is not that."""
        return self.is_own, self.user


class SessionStore:
    """All sessions. Who signs in as the last of too many ends the one of their own that was used least lately; of too
    many users, who has the most of them. No other one ends a session of the dashboard's own identity."""

    def __init__(self, clock: Clock, randomness: Randomness) -> None:
        self._clock = clock
        self._randomness = randomness
        self._sessions: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    async def begin(self, user: str, client: Client, *, is_own: bool) -> Session:
        """The client of a session that is not the dashboard's own is closed with it."""
        await self.end_expired()
        while (one_too_many := self._one_too_many((is_own, user))) is not None:
            await self.end(one_too_many)
        now = self._clock.monotonic()
        session = Session(self._randomness.token(), user, client, is_own, now, now)
        self._sessions[session.id] = session
        return session

    def find(self, session_id: str) -> Session | None:
        """None where there is none, or it is over."""
        session = self._sessions.get(session_id)
        if session is None or self._is_over(session):
            return None
        session.used = self._clock.monotonic()
        return session

    async def end(self, session: Session) -> None:
        if self._sessions.pop(session.id, None) is not None and not session.is_own:
            await session.client.close()

    async def end_expired(self) -> None:
        for session in [session for session in self._sessions.values() if self._is_over(session)]:
            await self.end(session)

    async def end_all(self) -> None:
        for session in list(self._sessions.values()):
            await self.end(session)

    def _one_too_many(self, owner: tuple[bool, str]) -> Session | None:
        """Session that ends before this owner begins another one; None where there is room."""
        numbers = Counter(session.owner for session in self._sessions.values())
        others = {each: number for each, number in numbers.items() if not each[0]}
        if numbers[owner] < MOST_SESSIONS_OF_ONE:
            if owner[0] or sum(others.values()) < MOST_SESSIONS:
                return None
            most = max(others.values())
            candidates = [each for each in self._sessions.values() if others.get(each.owner) == most]
        else:
            candidates = [each for each in self._sessions.values() if each.owner == owner]
        return min(candidates, key=lambda each: each.used)

    def _is_over(self, session: Session) -> bool:
        now = self._clock.monotonic()
        return now - session.used > IDLE_SECONDS or now - session.begun > LONGEST_SECONDS


class LinkKey:
    """Key of the link that signs in as the dashboard's own identity: good once. `renewed` is told the next one."""

    def __init__(self, key: str, randomness: Randomness, renewed: Callable[[str], None]) -> None:
        self._key = key
        self._randomness = randomness
        self._renewed = renewed

    def fits(self, given: str) -> bool:
        """Compared in a time that tells nothing of it."""
        return hmac.compare_digest(self._key.encode(), given.encode())

    def spend(self, given: str) -> bool:
        """Tells whether it was the key, which is another one from now on."""
        if not self.fits(given):
            return False
        self._key = self._randomness.token()
        self._renewed(self._key)
        return True
