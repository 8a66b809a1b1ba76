"""The HTTP transport and servers that break off, say too much, or say what nobody has asked for."""

import asyncio
import gzip
from typing import Any

import pytest

from kubeapi.errors import ApiError, TooLarge, Undecodable, Unreachable
from kubeapi.transport import Request, Response
from kubeclient.connection_pool import MAX_IDLE_SECONDS
from kubeclient.exchange import MAX_SILENT_BYTES, READ_AHEAD_BYTES, Exchange
from kubeclient.http import MAX_REQUEST_CONNECTIONS, HttpTransport
from tests.kubecluster.kubeclient.scripted_server import CLOSE, HANG, SMALL, ScriptedServer, talk
from tests.kubeserver.echo import skip

OK = b"HTTP/1.1 200 OK\r\n"
ONE = OK + b"content-length: 3\r\n\r\none"
TWO = OK + b"content-length: 3\r\n\r\ntwo"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
STREAM = Request("GET", "/watch")


async def get(transport: HttpTransport, method: str = "GET", body: bytes = b"", seconds: float = 60) -> Response:
    return await transport.send(Request(method, "/x", body=body), timeout_seconds=seconds)


def answered(said: bytes, method: str = "GET", *, ends: bool = True) -> Response:
    """Response that the client makes of one answer."""
    found: list[Response] = []

    async def story(transport: HttpTransport) -> None:
        found.append(await get(transport, method))

    talk(ScriptedServer([said], ends), story)
    return found[0]


@pytest.mark.parametrize(
    ("said", "body"),
    [
        (ONE, b"one"),
        (CHUNKED + b"1\r\no\r\n2;x=y\r\nne\r\n0\r\n\r\n", b"one"),
        (CHUNKED + b"3\r\none\r\n0\r\nx-trailer: 1\r\n\r\n", b"one"),
        (OK + b"\r\none", b"one"),
        (b"HTTP/1.0 200 OK\r\n\r\none", b"one"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + ONE, b"one"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 304 Not Modified\r\ncontent-length: 3\r\n\r\n", b""),
        (OK + b"content-encoding: gzip\r\n\r\n" + gzip.compress(b"one", mtime=0), b"one"),
        (OK + b"content-length: 0\r\n\r\n", b""),
        (OK + b"content-length: 1000\r\n\r\n" + b"x" * 1000, b"x" * 1000),
    ],
)
def test_an_answer_ends_where_it_says_so(said: bytes, body: bytes) -> None:
    response = answered(said)
    assert response.body == body
    assert "x-trailer" not in response.headers
    assert "link" not in response.headers


def test_the_answer_to_head_has_no_body() -> None:
    response = answered(OK + b"content-length: 3\r\nx-a: b\r\n\r\n", "HEAD", ends=False)
    assert (response.code, response.body, response.headers["x-a"]) == (200, b"", "b")


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 200",
        OK + b"content-length: 3\r\n\r\non",
        CHUNKED + b"3\r\none\r\n",
        CHUNKED + b"3\r\non",
        CHUNKED + b"zz\r\none\r\n0\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46",
        OK + b"content-length: 3\r\ncontent-length: 4\r\n\r\none4",
        OK + b"content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n",
        OK + b"content-length: -1\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nany",
        CLOSE,
    ],
)
def test_what_breaks_off_or_is_no_http_is_unreachable(said: bytes) -> None:
    with pytest.raises(Unreachable, match=r"^GET http://127\.0\.0\.1:\d+/x: "):
        answered(said)


ENDLESS = 10 * MAX_SILENT_BYTES


@pytest.mark.parametrize(
    "said",
    [
        OK + b"x: " + b"y" * ENDLESS,
        OK + b"x: y\r\n" * ENDLESS,
        b"HTTP/1.1 100 Continue\r\n\r\n" * ENDLESS,
        CHUNKED + b"1;x=" + b"y" * ENDLESS,
        CHUNKED + b"0\r\nx: " + b"y" * ENDLESS,
        CHUNKED + b"0\r\n" + b"x: y\r\n" * ENDLESS,
    ],
)
def test_what_has_no_end_and_is_no_body_is_read_no_further_than_to_its_bound(said: bytes) -> None:
    with pytest.raises(Unreachable, match="are no body"):
        answered(said, ends=False)


@pytest.mark.parametrize(
    "said",
    [
        OK + b"content-length: 1000000\r\n\r\n" + b"x" * 1_000_000,
        OK + b"\r\n" + b"x" * 1_000_000,
        CHUNKED + b"1\r\nx\r\n" * 1_001,
        OK + b"content-encoding: gzip\r\n\r\n" + gzip.compress(b"x" * 1_001, mtime=0),
    ],
)
def test_an_answer_beyond_its_bound_is_too_large(said: bytes) -> None:
    with pytest.raises(TooLarge, match=r"^GET http://127\.0\.0\.1:\d+/x: the answer is longer than"):
        answered(said)


@pytest.mark.parametrize(
    "said", [b"gzip\r\n\r\nno gzip", b"br\r\n\r\nx", b"gzip\r\n\r\n" + gzip.compress(b"one", mtime=0)[:-4]]
)
def test_what_cannot_be_unpacked_is_undecodable(said: bytes) -> None:
    with pytest.raises(Undecodable):
        answered(OK + b"content-encoding: " + said)


@pytest.mark.parametrize(
    "more", [b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil", b"garbage", b"HTTP/1.1 200 OK\r\n"]
)
def test_what_follows_an_answer_is_nobodys_answer(more: bytes) -> None:
    server = ScriptedServer([ONE + more, TWO])

    async def story(transport: HttpTransport) -> None:
        assert (await get(transport)).body == b"one"
        assert (await get(transport)).body == b"two"

    talk(server, story)
    assert server.connections == 2


def test_a_connection_on_which_something_is_said_unasked_is_not_used_again() -> None:
    server = ScriptedServer([ONE, TWO])

    async def story(transport: HttpTransport) -> None:
        assert (await get(transport)).body == b"one"
        pool = transport._pool  # pyright: ignore[reportPrivateUsage]
        assert pool is not None
        (idle,) = pool._idle  # pyright: ignore[reportPrivateUsage]
        idle.data_received(TWO)
        assert not idle.is_open
        assert (await get(transport)).body == b"two"

    talk(server, story)
    assert server.connections == 2


def test_requests_that_follow_one_another_share_a_connection() -> None:
    server = ScriptedServer([ONE, TWO, b"HTTP/1.1 204 No Content\r\n\r\n", ONE])

    async def story(transport: HttpTransport) -> None:
        assert [(await get(transport)).body for _ in range(4)] == [b"one", b"two", b"", b"one"]

    talk(server, story)
    assert server.connections == 1


def test_who_says_that_the_connection_ends_is_believed() -> None:
    server = ScriptedServer([OK + b"connection: close\r\ncontent-length: 3\r\n\r\none", TWO])

    async def story(transport: HttpTransport) -> None:
        assert [(await get(transport)).body for _ in range(2)] == [b"one", b"two"]

    talk(server, story)
    assert server.connections == 2


@pytest.mark.parametrize(("method", "is_asked_again"), [("GET", True), ("HEAD", True), ("PUT", False), ("POST", False)])
def test_only_who_reads_is_asked_again_when_an_idle_connection_ends_s5(method: str, is_asked_again: bool) -> None:
    server = ScriptedServer([ONE, CLOSE, OK + b"content-length: 3\r\n\r\n" + b"two" * (method != "HEAD")])

    async def story(transport: HttpTransport) -> None:
        await get(transport)
        if is_asked_again:
            assert (await get(transport, method)).code == 200
        else:
            with pytest.raises(Unreachable):
                await get(transport, method, b"{}")

    talk(server, story)
    assert len(server.heads) == 2 + is_asked_again


@pytest.mark.parametrize("said", [[CLOSE, ONE], [ONE, b"HTTP/1.1 2", ONE]])
def test_who_has_begun_to_answer_or_was_never_heard_is_not_asked_again(said: list[bytes]) -> None:
    server = ScriptedServer(said)

    async def story(transport: HttpTransport) -> None:
        if said[0] == ONE:
            await get(transport)
            server.ends = True
        with pytest.raises(Unreachable):
            await get(transport)

    talk(server, story)
    assert server.said == [ONE]


def test_a_request_that_was_given_up_leaves_no_connection_behind() -> None:
    server = ScriptedServer([HANG, ONE])

    async def story(transport: HttpTransport) -> None:
        with pytest.raises(Unreachable, match="no answer in time"):
            await get(transport, seconds=0.05)
        assert (await get(transport)).body == b"one"

    talk(server, story)
    assert (server.connections, len(server.heads)) == (2, 2)


def test_there_are_no_more_connections_than_that_and_all_get_their_answer() -> None:
    server = ScriptedServer([ONE] * 3 * MAX_REQUEST_CONNECTIONS)

    async def story(transport: HttpTransport) -> None:
        await asyncio.gather(*(get(transport) for _ in range(3 * MAX_REQUEST_CONNECTIONS)))

    talk(server, story)
    assert 1 < server.most_at_once <= MAX_REQUEST_CONNECTIONS


def test_idle_connections_are_closed_after_a_while() -> None:
    server = ScriptedServer([ONE, TWO])

    async def story(transport: HttpTransport) -> None:
        await get(transport)
        skip(MAX_IDLE_SECONDS + 1)
        await server.quiet.wait()
        assert (await get(transport)).body == b"two"

    talk(server, story)
    assert server.connections == 2


def test_closing_ends_what_is_under_way() -> None:
    async def story(transport: HttpTransport) -> None:
        asked = asyncio.ensure_future(get(transport))
        await server.asked.wait()
        await transport.close()
        with pytest.raises(Unreachable):
            await asked

    server = ScriptedServer([HANG])
    talk(server, story)


def test_a_request_is_what_was_asked_and_no_header_is_two() -> None:
    server = ScriptedServer([ONE, ONE])

    async def story(transport: HttpTransport) -> None:
        await transport.send(Request("POST", "/a b", {"q": "ü"}, {"x-a": "b"}, b"{}"), timeout_seconds=60)
        await get(transport, "POST")
        with pytest.raises(ValueError, match="a header holds the end of a line"):
            await transport.send(Request("GET", "/x", headers={"x-a": "b\r\nx-c: d"}), timeout_seconds=60)

    talk(server, story)
    first, second = server.heads
    assert first.startswith(b"POST /a%20b?q=%C3%BC HTTP/1.1\r\nhost: 127.0.0.1:")
    assert b"\r\nx-a: b\r\n" in first
    assert server.bodies == [b"{}", b""]
    assert b"content-length: 0\r\n" in second


def test_a_stream_that_is_compressed_or_refused_is_an_error() -> None:
    server = ScriptedServer(
        [OK + b"content-encoding: gzip\r\n\r\n", b"HTTP/1.1 410 Gone\r\ncontent-length: 3\r\n\r\none"], ends=True
    )

    async def story(transport: HttpTransport) -> None:
        with pytest.raises(Undecodable):
            async with transport.stream(STREAM):
                pass
        with pytest.raises(ApiError):
            async with transport.stream(STREAM):
                pass

    talk(server, story)


def test_a_line_of_a_stream_has_a_bound() -> None:
    async def story(transport: HttpTransport) -> None:
        async with transport.stream(STREAM) as lines:
            assert await anext(lines) == b"short"
            with pytest.raises(TooLarge):
                await anext(lines)

    talk(ScriptedServer([OK + b"\r\nshort\n" + b"x" * 100_000]), story, SMALL)


def test_a_stream_is_not_read_ahead_of_who_reads_it() -> None:
    said: list[str] = []

    async def main() -> None:
        exchange = Exchange("GET", None, lambda: said.append("pause"), lambda: said.append("resume"))
        assert exchange.feed(OK + b"\r\n" + b"x" * READ_AHEAD_BYTES)
        assert said == []
        assert exchange.feed(b"y")
        assert exchange.feed(b"z")
        assert said == ["pause"]
        assert len(await exchange.chunk()) == READ_AHEAD_BYTES + 2
        assert said == ["pause", "resume"]
        exchange.lost(None)
        assert await exchange.chunk() == b""

    asyncio.run(main())


def test_an_endpoint_may_have_a_path_and_is_named_in_host_without_its_credentials() -> None:
    server = ScriptedServer([ONE])

    async def story(transport: HttpTransport) -> None:
        port: Any = transport._endpoint.port  # pyright: ignore[reportPrivateUsage]
        behind = HttpTransport(f"http://user:secret@127.0.0.1:{port}/k8s/", bounds=SMALL)
        assert (await get(behind)).body == b"one"
        await behind.close()
        assert server.heads[0].startswith(f"GET /k8s/x HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n".encode())

    talk(server, story)
