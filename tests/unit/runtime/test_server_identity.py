"""The identity of a server is asked for once, for all who wait for it."""

import asyncio

import msgspec
import pytest

from kubeapi.loop.virtual import run_virtual
from kubeapi.transport import Response
from kubeclient import Client, Unreachable
from leeward.runtime.server_identity import REFRESH_SECONDS, ServerIdentity
from tests.kubecluster.runtime.small_world import ScriptedTransport

WAITING = 400


def _namespace(uid: str) -> Response:
    return Response(200, msgspec.json.encode({"kind": "Namespace", "metadata": {"name": "kube-system", "uid": uid}}))


def test_all_who_wait_for_the_first_answer_go_on_in_the_same_moment() -> None:
    """A worker for each member of a large fleet waits, and each round of the loop may be a busy one."""

    async def story() -> None:
        transport = ScriptedTransport([_namespace("a")], answer_seconds=1)
        identity = ServerIdentity(Client(transport))
        first = asyncio.ensure_future(identity.read())
        await asyncio.sleep(0.5)
        waiting = [asyncio.ensure_future(identity.read()) for _ in range(WAITING)]
        await first
        rounds = 0
        while not all(each.done() for each in waiting):
            await asyncio.sleep(0)
            rounds += 1
        assert {each.result() for each in waiting} == {"a"}
        assert rounds <= 5
        assert len(transport.requests) == 1

    run_virtual(story())


def test_who_waits_asks_itself_when_the_one_who_asked_failed() -> None:
    async def story() -> None:
        transport = ScriptedTransport([Unreachable("away"), _namespace("a")], answer_seconds=1)
        identity = ServerIdentity(Client(transport))
        first, second = asyncio.ensure_future(identity.read()), asyncio.ensure_future(identity.read())
        with pytest.raises(Unreachable):
            await first
        assert await second == "a"

    run_virtual(story())


def test_who_is_cancelled_while_it_asks_leaves_nobody_waiting() -> None:
    async def story() -> None:
        identity = ServerIdentity(Client(ScriptedTransport([_namespace("a"), _namespace("b")], answer_seconds=1)))
        first, second = asyncio.ensure_future(identity.read()), asyncio.ensure_future(identity.read())
        await asyncio.sleep(0.5)
        first.cancel()
        assert await second == "b"

    run_virtual(story())


def test_what_is_known_serves_while_it_is_asked_again() -> None:
    async def story() -> None:
        transport = ScriptedTransport([_namespace("a"), _namespace("b")], answer_seconds=1)
        identity = ServerIdentity(Client(transport))
        assert await identity.read() == "a"
        await asyncio.sleep(REFRESH_SECONDS)
        again = asyncio.ensure_future(identity.read())
        await asyncio.sleep(0.5)
        begun = asyncio.get_running_loop().time()
        assert await identity.read() == "a"
        assert asyncio.get_running_loop().time() == begun
        assert await again == await identity.read() == "b"
        assert len(transport.requests) == 2

    run_virtual(story())
