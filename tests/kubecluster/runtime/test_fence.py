"""The fence: no write is begun while the lease is not ours (S8)."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from controller_runtime.leader import FencedTransport, Leadership, NotLeading
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.virtual import run_virtual
from kubeclient import Request, Response
from tests.transports import Sent


def play(story: Callable[[Callable[[str], Awaitable[Response]], Leadership, Sent], Awaitable[None]]) -> None:
    async def run() -> None:
        sent, leadership = Sent(), Leadership(VirtualClock())
        transport = FencedTransport(sent, leadership)
        await story(lambda method: transport.send(Request(method, "/x"), timeout_seconds=1), leadership, sent)

    run_virtual(run())


def test_s8_writes_go_out_until_the_lease_has_ended_and_no_longer() -> None:
    async def story(send: Callable[[str], Awaitable[Response]], leadership: Leadership, sent: Sent) -> None:
        leadership.extend(10)
        await asyncio.sleep(9.999)
        await send("PATCH")
        await asyncio.sleep(0.001)
        with pytest.raises(NotLeading, match="PATCH /x was not begun"):
            await send("PATCH")
        assert sent.methods == ["PATCH"]

    play(story)


def test_reading_needs_no_lease() -> None:
    async def story(send: Callable[[str], Awaitable[Response]], leadership: Leadership, sent: Sent) -> None:
        await send("GET")
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            with pytest.raises(NotLeading):
                await send(method)
        assert sent.methods == ["GET"]

    play(story)


def test_a_leadership_that_was_ended_is_over_at_once() -> None:
    async def story(send: Callable[[str], Awaitable[Response]], leadership: Leadership, sent: Sent) -> None:
        leadership.extend(10)
        leadership.end()
        with pytest.raises(NotLeading):
            await send("POST")

    play(story)
