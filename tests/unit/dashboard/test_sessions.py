import asyncio

from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.virtual import run_virtual
from kubeclient import Client
from leeward.dashboard.sessions import (
    IDLE_SECONDS,
    LONGEST_SECONDS,
    MOST_SESSIONS,
    MOST_SESSIONS_OF_ONE,
    Session,
    SessionStore,
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
        for number in range(MOST_SESSIONS):
            sessions.append(await store.begin(f"user-{number}", Client(Sent()), is_own=False))
            await asyncio.sleep(1)
        store.find(sessions[0].id)
        await store.begin("jo", Client(Sent()), is_own=False)
        assert len(store) == MOST_SESSIONS
        assert store.find(sessions[0].id) is not None
        assert store.find(sessions[1].id) is None

    run_virtual(story())


def test_who_signs_in_again_and_again_ends_their_own_sessions_and_no_other() -> None:
    async def story() -> None:
        store = SessionStore(VirtualClock(), Randomness(1))
        own = await store.begin("admin", Client(Sent()), is_own=True)
        other = await store.begin("ada", Client(Sent()), is_own=False)
        sessions: list[Session] = []
        for _ in range(MOST_SESSIONS + 8):
            await asyncio.sleep(1)
            sessions.append(await store.begin("jo", Client(Sent()), is_own=False))
        assert store.find(own.id) is own
        assert store.find(other.id) is other
        assert [store.find(each.id) is each for each in sessions[-11:]] == [False] + [True] * MOST_SESSIONS_OF_ONE
        assert len(store) == 2 + MOST_SESSIONS_OF_ONE

    run_virtual(story())


def test_however_many_others_come_the_dashboards_own_session_stays() -> None:
    """This holds also where somebody has its name; and who has the most gives way first."""

    async def story() -> None:
        store = SessionStore(VirtualClock(), Randomness(1))
        own = await store.begin("admin", Client(Sent()), is_own=True)
        ada = await store.begin("ada", Client(Sent()), is_own=False)
        for number in range(2 * MOST_SESSIONS):
            await asyncio.sleep(1)
            user = "admin" if number < 20 else f"user-{number // 2}"
            await store.begin(user, Client(Sent()), is_own=False)
        assert len(store) == MOST_SESSIONS + 1
        assert store.find(own.id) is own
        assert store.find(ada.id) is ada

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


def test_ids_are_long_differ_and_are_not_shown() -> None:
    async def story() -> None:
        store = SessionStore(VirtualClock(), Randomness(1))
        one, other = [await store.begin("jo", Client(Sent()), is_own=False) for _ in range(2)]
        assert one.id != other.id
        assert len(one.id) == 32
        assert one.id not in repr(one)

    run_virtual(story())
