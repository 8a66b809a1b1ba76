"""Passing requests on, over real sockets: what goes with them, what stays behind, and how answers come back."""

import asyncio
import base64
import gzip
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from kubeapi.errors import Unreachable, Untrusted
from kubeapi.transport import Request, Response
from kubeclient.connection import Connection
from kubeclient.forwarding import Conversation, Forwarded, Forwarder
from kubeclient.upgrading import address_of
from kubeserver.auth.authentication import Authenticator
from kubeserver.handler import StreamResponse, User, WayBack
from kubeserver.http.front import HttpFront
from tests.certificates import Authority

Story = Callable[[Forwarder], Awaitable[None]]
GONE_ON = asyncio.Event()
"""Lets `/stream` say the rest."""


async def _answer(incoming: web.BaseRequest) -> web.StreamResponse:
    match incoming.path:
        case "/stream" | "/cut":
            return await _stream(incoming)
        case "/exec":
            return await _converse(incoming)
        case "/packed":
            packed = {"content-encoding": "gzip", "x-own": "1", "connection": "x-own"}
            return web.Response(body=gzip.compress(b"unpacked"), headers=packed)
        case "/moved":
            return web.Response(status=307, headers={"location": "/stream"})
        case _:
            pairs = sorted((name.lower(), value) for name, value in incoming.headers.items())
            seen = {"path": incoming.raw_path, "headers": pairs, "body": (await incoming.read()).decode()}
            return web.Response(status=418, text=json.dumps(seen))


async def _converse(incoming: web.BaseRequest) -> web.StreamResponse:
    """Says who asks and with which arguments, and then everything twice, until it is told to end."""
    assert incoming.headers["sec-websocket-protocol"] == "v5.channel.k8s.io"
    outgoing = web.WebSocketResponse(protocols=("v5.channel.k8s.io",))
    await outgoing.prepare(incoming)
    await outgoing.send_bytes(f"{incoming.headers['authorization']} {incoming.query_string}".encode())
    async for message in outgoing:
        if message.data == b"end":
            break
        if message.data == b"break off":
            assert incoming.transport is not None
            await outgoing.send_bytes(b"last")
            incoming.transport.close()
            return outgoing
        if message.type is aiohttp.WSMsgType.TEXT:
            await outgoing.send_str(message.data * 3)
        else:
            await outgoing.send_bytes(message.data * 2)
    await outgoing.close()
    return outgoing


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


async def answer_of(forwarder: Forwarder, request: Request) -> Forwarded:
    forwarded = await forwarder.forward(request)
    assert isinstance(forwarded, Forwarded)
    return forwarded


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
        forwarded = await answer_of(forwarder, request)
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
        forwarded = await answer_of(forwarder, Request("GET", "/packed"))
        assert forwarded.headers["content-encoding"] == "gzip"
        assert {"x-own", "connection", "content-length"}.isdisjoint(forwarded.headers)
        assert gzip.decompress(await body_of(forwarded)) == b"unpacked"

    serve(story)


def test_pieces_are_passed_on_as_they_come() -> None:
    async def story(forwarder: Forwarder) -> None:
        forwarded = await answer_of(forwarder, Request("GET", "/stream"))
        assert await anext(forwarded.chunks) == b"first\nsec"
        GONE_ON.set()
        assert await body_of(forwarded) == b"ond\n"

    serve(story)


class Proxy:
    """A `Handler` that passes everything on, as the cluster proxy does."""

    def __init__(self, forwarder: Forwarder) -> None:
        self._forwarder = forwarder

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        answer = await self._forwarder.forward(request)
        if isinstance(answer, Conversation):
            way_back = WayBack(answer.send, "", answer.upgrade)
            return StreamResponse(answer.pieces, headers=answer.headers, way_back=way_back)
        return StreamResponse(answer.chunks, "text/plain", answer.code, line_end=b"")


def converse(talk: Callable[[aiohttp.ClientSession, str], Awaitable[None]]) -> None:
    """A client, a front that passes everything on, and the server behind it."""

    async def story(forwarder: Forwarder) -> None:
        front = HttpFront(Proxy(forwarder), Authenticator(), None)
        port = await front.start()
        async with asyncio.timeout(60), aiohttp.ClientSession() as client:
            await talk(client, f"http://127.0.0.1:{port}")
        await front.stop()

    serve(story)


def test_a_conversation_goes_both_ways_and_either_side_may_end_it() -> None:
    async def talk(client: aiohttp.ClientSession, url: str) -> None:
        protocols = ("base64url.bearer.authorization.k8s.io.c2VjcmV0", "v5.channel.k8s.io")
        for ends in (True, False):
            socket = await client.ws_connect(f"{url}/exec?command=ls&command=-l", protocols=protocols)
            assert socket.protocol == "v5.channel.k8s.io"
            assert await socket.receive_bytes() == b"Bearer ours command=ls&command=-l"
            await socket.send_bytes(b"ab")
            assert await socket.receive_bytes() == b"abab"
            await socket.send_str("ä")
            assert await socket.receive_str() == "äää"
            if ends:
                await socket.send_bytes(b"end")
                assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSE
            await socket.close()

    converse(talk)


def test_a_conversation_that_breaks_off_does_so_for_the_client_after_its_last_message() -> None:
    async def talk(client: aiohttp.ClientSession, url: str) -> None:
        socket = await client.ws_connect(f"{url}/exec", protocols=("v5.channel.k8s.io",))
        await socket.receive_bytes()
        await socket.send_bytes(b"break off")
        assert await socket.receive_bytes() == b"last"
        assert (await socket.receive()).type is aiohttp.WSMsgType.CLOSED
        assert socket.close_code == aiohttp.WSCloseCode.ABNORMAL_CLOSURE
        await socket.close()

    converse(talk)


def test_where_the_server_wants_no_conversation_its_answer_says_why() -> None:
    async def talk(client: aiohttp.ClientSession, url: str) -> None:
        upgrade = {"connection": "upgrade", "upgrade": "websocket"}
        async with client.get(f"{url}/plain", headers=upgrade) as answer:
            assert answer.status == 418
            assert json.loads(await answer.text())["path"] == "/plain"

    converse(talk)


def test_a_redirect_is_the_answer_and_not_followed() -> None:
    async def story(forwarder: Forwarder) -> None:
        forwarded = await answer_of(forwarder, Request("GET", "/moved"))
        assert (forwarded.code, forwarded.headers["location"]) == (307, "/stream")
        await forwarded.chunks.aclose()

    serve(story)


def test_an_answer_that_breaks_off_is_no_end() -> None:
    async def story(forwarder: Forwarder) -> None:
        forwarded = await answer_of(forwarder, Request("GET", "/cut"))
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


async def _older_server(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Agrees to SPDY where it is asked for, says by whom it was asked, and then everything twice, until the end."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    if head.startswith("POST /exec?command=ls") and "\nupgrade: SPDY/3.1\r" in head:
        said = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n"
        writer.write(f"{said}X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n".encode())
        assert "\nauthorization: Bearer ours\r" in head
        assert "\nx-stream-protocol-version: v4\r\nx-stream-protocol-version: v3\r" in head
        writer.write(b"early")
        while data := await reader.read(1000):
            writer.write(data * 2)
            if data.endswith(b"end"):
                break
    else:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 7\r\n\r\nno SPDY")
    await closed(writer)


def upgrading(talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]], path: str) -> None:
    """A client that has asked for SPDY at a front that passes everything on to `_older_server`."""

    async def main() -> None:
        server = await asyncio.start_server(_older_server, "127.0.0.1", 0)
        address = server.sockets[0].getsockname()
        forwarder = Forwarder(Connection(f"http://127.0.0.1:{address[1]}", token="ours"))
        front = HttpFront(Proxy(forwarder), Authenticator(), None)
        reader, writer = await asyncio.open_connection("127.0.0.1", await front.start())
        asked = f"POST {path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0"
        asked += "\r\nX-Stream-Protocol-Version: v4\r\nX-Stream-Protocol-Version: v3"
        writer.write(f"{asked}\r\n\r\n".encode())
        async with asyncio.timeout(60):
            await talk(reader, writer)
        writer.close()
        await front.stop()
        await forwarder.close()
        server.close()
        await server.wait_closed()

    asyncio.run(main())


def test_an_older_upgrade_is_bytes_both_ways_after_the_switch() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        assert head.startswith("http/1.1 101")
        assert "upgrade: spdy/3.1" in head
        assert "x-stream-protocol-version: v4.channel.k8s.io" in head
        assert await reader.readexactly(5) == b"early"
        writer.write(b"x" * 100_000)
        assert await reader.readexactly(200_000) == b"x" * 200_000
        writer.write(b"end")
        assert await reader.read() == b"endend"

    upgrading(talk, "/exec?command=ls")


def test_a_client_that_goes_away_ends_its_upgraded_connection() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"early")
        writer.transport.abort()

    upgrading(talk, "/exec?command=ls")


def test_where_the_server_wants_no_upgrade_its_answer_says_why() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        assert head.startswith("HTTP/1.1 400")
        assert b"no SPDY" in await reader.read(100)

    upgrading(talk, "/other")


@pytest.mark.parametrize("server", ["[fd00::1]:6443", "member.example.com:443", "127.0.0.1:6443"])
def test_a_server_is_named_in_an_upgrade_as_in_its_address(server: str) -> None:
    assert address_of(URL(f"https://{server}/exec")) == server


class TunnellingProxy:
    """A proxy that opens a way to whatever server is named (RFC 9110, 9.3.6), for who says the password."""

    def __init__(self) -> None:
        self.asked = list[str]()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.asked.append(head.split(" HTTP")[0])
        if f"\nProxy-Authorization: Basic {base64.b64encode(b'jane:secret').decode()}\r" not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        else:
            host, _, port = head.split(" ")[1].rpartition(":")
            there, back = await asyncio.open_connection(host, int(port))
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await asyncio.gather(pump(reader, back), pump(there, writer))
        await closed(writer)


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1000):
        writer.write(data)
    await closed(writer)


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


@pytest.mark.parametrize(("scheme", "password"), [("http", "secret"), ("http", "other"), ("https", "secret")])
def test_an_upgrade_goes_through_a_proxy(scheme: str, password: str, tmp_path: Path) -> None:
    authority, proxy = Authority(), TunnellingProxy()

    async def main() -> None:
        context = authority.server_context(tmp_path)
        server = await asyncio.start_server(_older_server, "127.0.0.1", 0, ssl=context)
        between = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, ssl=context if scheme == "https" else None)
        port, way = (each.sockets[0].getsockname()[1] for each in (server, between))
        url = f"{scheme}://jane:{password}@127.0.0.1:{way}"
        told = {"upgrade": "SPDY/3.1", "x-stream-protocol-version": "v4\nv3"}
        request = Request("POST", "/exec", headers=told, query_string="command=ls")
        forwarder = Forwarder(
            Connection(f"https://127.0.0.1:{port}", authority.certificate, token="ours", proxy_url=url)
        )
        async with asyncio.timeout(60), server, between:
            if password == "other":
                with pytest.raises(Unreachable, match=r"the proxy opens no way to 127\.0\.0\.1:.* 407"):
                    await forwarder.forward(request)
            else:
                answer = await forwarder.forward(request)
                assert isinstance(answer, Conversation)
                await answer.send(b"end")
                assert b"".join([piece async for piece in answer.pieces]) == b"earlyendend"
                refused = await forwarder.forward(Request("GET", "/other"))
                assert isinstance(refused, Forwarded)
                assert b"".join([piece async for piece in refused.chunks]) == b"no SPDY"
            await forwarder.close()
            await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
        assert proxy.asked == [f"CONNECT 127.0.0.1:{port}"] * (1 if password == "other" else 2)

    asyncio.run(main())


@pytest.mark.parametrize("way", ["direct", "proxy"])
def test_an_upgrade_checks_the_name_that_the_certificate_is_said_to_hold(way: str, tmp_path: Path) -> None:
    authority, proxy = Authority(), TunnellingProxy()

    async def main() -> None:
        server = await asyncio.start_server(_older_server, "127.0.0.1", 0, ssl=authority.server_context(tmp_path))
        between = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
        port, near = (each.sockets[0].getsockname()[1] for each in (server, between))
        by = f"http://jane:secret@127.0.0.1:{near}" if way == "proxy" else ""
        told = {"upgrade": "SPDY/3.1", "x-stream-protocol-version": "v4\nv3"}
        async with asyncio.timeout(60), server, between:
            for name in ("api.example.org", "other.example.org"):
                connection = Connection(
                    f"https://127.0.0.1:{port}", authority.certificate, token="ours", tls_server_name=name, proxy_url=by
                )
                forwarder = Forwarder(connection)
                if name == "other.example.org":
                    with pytest.raises(Untrusted):
                        await forwarder.forward(Request("POST", "/exec", headers=told, query_string="command=ls"))
                else:
                    answer = await forwarder.forward(Request("POST", "/exec", headers=told, query_string="command=ls"))
                    assert isinstance(answer, Conversation)
                    await answer.send(b"end")
                    assert b"".join([piece async for piece in answer.pieces]) == b"earlyendend"
                await forwarder.close()
            await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)

    asyncio.run(main())
