import asyncio

from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.virtual import run_virtual
from leeward.client import Client
from leeward.dashboard.sessions import (
    IDLE_SECONDS,
    LONGEST_SECONDS,
    MOST_SESSIONS,
    Session,
    SessionStore,
    is_csrf_token,
)
from tests.transports import Sent


class Closing(Sent):
    closed = False

    async def close(self) -> None:
        self.closed = True


def test_a_session_is_over_when_nobody_uses_it_and_after_a_day() -> None:
    async def story() -> None:
        store = SessionStore(VirtualClock(), Randomness(1))
        session = await store.begin("jo", Client(Sent()), is_own=False)
        await asyncio.sleep(IDLE_SECONDS - 1)
        assert store.find(session.id) is session
        await asyncio.sleep(IDLE_SECONDS + 1)
        assert store.find(session.id) is None
        used = await store.begin("jo", Client(Sent()), is_own=False)
        for _ in range(int(LONGEST_SECONDS // 3600)):
            assert store.find(used.id) is used
            await asyncio.sleep(3600)
        await asyncio.sleep(1)
        assert store.find(used.id) is None

    run_virtual(story())


def test_the_last_of_too_many_ends_the_one_that_was_used_least_lately() -> None:
    async def story() -> None:
        store = SessionStore(VirtualClock(), Randomness(1))
        sessions: list[Session] = []
        for _ in range(MOST_SESSIONS):
            sessions.append(await store.begin("jo", Client(Sent()), is_own=False))
            await asyncio.sleep(1)
        store.find(sessions[0].id)
        await store.begin("jo", Client(Sent()), is_own=False)
        assert len(store) == MOST_SESSIONS
        assert store.find(sessions[0].id) is not None
        assert store.find(sessions[1].id) is None

    run_virtual(story())


def test_the_credential_of_a_session_goes_with_it_and_the_dashboards_own_stays() -> None:
    async def story() -> None:
        store = SessionStore(VirtualClock(), Randomness(1))
        theirs, own = Closing(), Closing()
        session = await store.begin("jo", Client(theirs), is_own=False)
        await store.begin("admin", Client(own), is_own=True)
        await store.end(session)
        assert store.find(session.id) is None
        await store.end_all()
        assert (theirs.closed, own.closed) == (True, False)

    run_virtual(story())


def test_ids_and_csrf_tokens_are_long_differ_and_are_not_shown() -> None:
    async def story() -> None:
        store = SessionStore(VirtualClock(), Randomness(1))
        one, other = [await store.begin("jo", Client(Sent()), is_own=False) for _ in range(2)]
        assert len({one.id, one.csrf, other.id, other.csrf}) == 4
        assert len(one.id) == len(one.csrf) == 32
        assert one.id not in repr(one)
        assert one.csrf not in repr(one)
        assert is_csrf_token(one, one.csrf)
        assert not is_csrf_token(one, other.csrf)
        assert not is_csrf_token(one, "")

    run_virtual(story())
