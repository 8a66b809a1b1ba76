"""Passing requests on, over real sockets: what goes with them, what stays behind, and how answers come back."""

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from leeward.client.connection import Connection
from leeward.client.errors import Unreachable
from leeward.client.forwarding import Forwarded, Forwarder
from leeward.client.transport import Request

Story = Callable[[Forwarder], Awaitable[None]]
GONE_ON = asyncio.Event()
"""Lets `/stream` say the rest."""


async def _answer(incoming: web.BaseRequest) -> web.StreamResponse:
    match incoming.path:
        case "/stream" | "/cut":
            return await _stream(incoming)
        case "/packed":
            packed = {"content-encoding": "gzip", "x-own": "1", "connection": "x-own"}
            return web.Response(body=gzip.compress(b"unpacked"), headers=packed)
        case "/moved":
            return web.Response(status=307, headers={"location": "/stream"})
        case _:
            pairs = sorted((name.lower(), value) for name, value in incoming.headers.items())
            seen = {"path": incoming.raw_path, "headers": pairs, "body": (await incoming.read()).decode()}
            return web.Response(status=418, text=json.dumps(seen))


async def _stream(incoming: web.BaseRequest) -> web.StreamResponse:
    outgoing = web.StreamResponse()
    await outgoing.prepare(incoming)
    await outgoing.write(b"first\nsec")
    if incoming.path == "/cut":
        assert incoming.transport is not None
        incoming.transport.abort()
    else:
        await GONE_ON.wait()
    await outgoing.write(b"ond\n")
    return outgoing


def serve(story: Story) -> None:
    async def main() -> None:
        runner = web.ServerRunner(web.Server(_answer))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        forwarder = Forwarder(Connection(f"http://127.0.0.1:{runner.addresses[0][1]}", token="ours"))
        try:
            await story(forwarder)
        finally:
            await forwarder.close()
            await runner.cleanup()

    asyncio.run(main())


async def body_of(forwarded: Forwarded) -> bytes:
    return b"".join([chunk async for chunk in forwarded.chunks])


def test_a_request_goes_on_as_it_came_but_with_the_forwarders_own_credential() -> None:
    async def story(forwarder: Forwarder) -> None:
        headers = {
            "authorization": "Bearer theirs",
            "connection": "keep-alive, x-hop",
            "x-hop": "stays",
            "host": "control-plane",
            "impersonate-group": "dev\nops",
            "content-type": "text/plain",
        }
        request = Request("POST", "/a b", headers=headers, body=b"hello", query_string="command=ls&command=-l")
        forwarded = await forwarder.forward(request)
        assert forwarded.code == 418
        seen = json.loads(await body_of(forwarded))
        assert (seen["path"], seen["body"]) == ("/a%20b?command=ls&command=-l", "hello")
        sent = [pair for pair in seen["headers"] if pair[0] not in ("host", "content-length")]
        assert sent == [
            ["authorization", "Bearer ours"],
            ["content-type", "text/plain"],
            ["impersonate-group", "dev"],
            ["impersonate-group", "ops"],
        ]

    serve(story)


def test_an_answer_comes_back_packed_as_it_is_and_without_what_belongs_to_the_connection() -> None:
    async def story(forwarder: Forwarder) -> None:
        forwarded = await forwarder.forward(Request("GET", "/packed"))
        assert forwarded.headers["content-encoding"] == "gzip"
        assert {"x-own", "connection", "content-length"}.isdisjoint(forwarded.headers)
        assert gzip.decompress(await body_of(forwarded)) == b"unpacked"

    serve(story)


def test_pieces_are_passed_on_as_they_come() -> None:
    async def story(forwarder: Forwarder) -> None:
        forwarded = await forwarder.forward(Request("GET", "/stream"))
        assert await anext(forwarded.chunks) == b"first\nsec"
        GONE_ON.set()
        assert await body_of(forwarded) == b"ond\n"

    serve(story)


def test_a_redirect_is_the_answer_and_not_followed() -> None:
    async def story(forwarder: Forwarder) -> None:
        forwarded = await forwarder.forward(Request("GET", "/moved"))
        assert (forwarded.code, forwarded.headers["location"]) == (307, "/stream")
        await forwarded.chunks.aclose()

    serve(story)


def test_an_answer_that_breaks_off_is_no_end() -> None:
    async def story(forwarder: Forwarder) -> None:
        forwarded = await forwarder.forward(Request("GET", "/cut"))
        with pytest.raises(Unreachable):
            await body_of(forwarded)

    serve(story)


def test_a_server_that_is_not_there_is_unreachable() -> None:
    async def main() -> None:
        forwarder = Forwarder(Connection("http://127.0.0.1:1", token="ours"))
        try:
            with pytest.raises(Unreachable, match=r"GET http://127\.0\.0\.1:1/x"):
                await forwarder.forward(Request("GET", "/x"))
        finally:
            await forwarder.close()

    asyncio.run(main())
