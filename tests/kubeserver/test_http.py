"""The HTTP front and the HTTP transport, each tried with the other over real sockets."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

import pytest

from kubeapi.errors import Expired, Unreachable, Untrusted
from kubeapi.transport import Request, Response
from kubeserver.auth.authentication import Authenticator
from kubeserver.handler import StreamResponse, User
from kubeserver.http.front import WRITE_TIMEOUT_SECONDS, HttpFront
from leeward.client.connection import Connection, transport_of
from leeward.client.http import IDLE_TIMEOUT_SECONDS, HttpTransport
from tests.certificates import Authority
from tests.ports import free_port

Story = Callable[[HttpTransport], Awaitable[None]]


class SkippingLoop(asyncio.SelectorEventLoop):
    """A loop on sockets whose deadlines need not be waited for: `skip` takes it past them."""

    skipped_seconds = 0.0

    def time(self) -> float:
        return super().time() + self.skipped_seconds


def skip(seconds: float) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SkippingLoop)
    loop.skipped_seconds += seconds


class Echo:
    """A handler that says what it was asked, and streams what it is told to."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[bytes | Exception | None] = asyncio.Queue()
        self.closed = asyncio.Event()

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        match request.path:
            case "/watch":
                return StreamResponse(self._stream())
            case "/crash":
                raise ZeroDivisionError
            case "/large":
                return Response(200, b'{"a":"' + b"x" * 300_000 + b'"}')
            case "/huge":
                return Response(200, b"x" * 30_000_000)
            case "/expired":
                return Response(410, b'{"kind":"Status","reason":"Expired","code":410}')
            case _:
                return Response(201, json.dumps(_seen(request, user)).encode(), {"warning": "299"})

    async def _stream(self) -> AsyncGenerator[bytes, None]:
        try:
            while (line := await self.lines.get()) is not None:
                if isinstance(line, Exception):
                    raise line
                yield line
        finally:
            self.closed.set()


def _seen(request: Request, user: User) -> dict[str, Any]:
    headers = {key: request.headers[key] for key in ("content-type", "x-test") if key in request.headers}
    return {
        "method": request.method,
        "path": request.path,
        "query": dict(request.query),
        "headers": headers,
        "body": request.body.decode(),
        "user": [user.name, *user.groups],
    }


def serve(story: Story, handler: Echo | None = None, token: str = "", **options: Any) -> None:
    """Plays a story with a client of a plain HTTP server."""

    async def main() -> None:
        front = HttpFront(handler or Echo(), Authenticator({"secret": User("alice", ("dev",))}), None, **options)
        port = await front.start()
        transport = transport_of(Connection(f"http://127.0.0.1:{port}", token=token))
        try:
            await story(transport)
        finally:
            await transport.close()
            await front.stop()

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        runner.run(main())


async def ask(transport: HttpTransport, path: str = "/x", **fields: Any) -> tuple[int, dict[str, Any]]:
    response = await transport.send(Request("GET", path, **fields), timeout_seconds=5)
    return response.code, json.loads(response.body)


def test_a_request_arrives_as_it_was_sent() -> None:
    async def story(transport: HttpTransport) -> None:
        path = "/apis/a b/ü%2Fc/:x"
        headers = {"content-type": "application/merge-patch+json", "X-Test": "yes"}
        request = Request("PATCH", path, {"labelSelector": "a in (b,c)", "x": "&=ü+ /"}, headers, b'{"a":1}')
        response = await transport.send(request, timeout_seconds=5)
        assert response.code == 201
        assert response.headers["warning"] == "299"
        assert json.loads(response.body) == {
            "method": "PATCH",
            "path": path,
            "query": {"labelSelector": "a in (b,c)", "x": "&=ü+ /"},
            "headers": {"content-type": "application/merge-patch+json", "x-test": "yes"},
            "body": '{"a":1}',
            "user": ["system:anonymous", "system:unauthenticated"],
        }

    serve(story)


def test_of_repeated_query_keys_the_first_one_counts() -> None:
    async def story(transport: HttpTransport) -> None:
        _, answer = await ask(transport, query=cast(Mapping[str, str], [("a", "1"), ("b", "2"), ("a", "3")]))
        assert answer["query"] == {"a": "1", "b": "2"}

    serve(story)


def test_a_bearer_token_says_who_asks() -> None:
    async def story(transport: HttpTransport) -> None:
        assert (await ask(transport))[1]["user"] == ["alice", "dev", "system:authenticated"]

    serve(story, token="secret")


def test_who_shows_a_wrong_token_is_nobody_and_is_not_listened_to() -> None:
    async def story(transport: HttpTransport) -> None:
        _, seen = await ask(transport, body=b"x" * 100)
        assert (seen["user"], seen["body"]) == ([""], "")

    serve(story, token="wrong")


def test_a_body_that_is_too_large_is_answered_with_a_413_status() -> None:
    async def story(transport: HttpTransport) -> None:
        assert (await ask(transport, body=b"x" * 3 * 1024 * 1024))[0] == 201
        code, status = await ask(transport, body=b"x" * (3 * 1024 * 1024 + 1))
        assert (code, status["reason"]) == (413, "RequestEntityTooLarge")

    serve(story, token="secret")


def test_who_shows_no_credential_is_not_listened_to_for_long() -> None:
    async def story(transport: HttpTransport) -> None:
        assert (await ask(transport, body=b"x" * 64 * 1024))[0] == 201
        code, status = await ask(transport, body=b"x" * (64 * 1024 + 1))
        assert (code, status["message"]) == (413, "Request entity too large: limit is 65536")

    serve(story)


def tell_raw(sent: bytes, **options: Any) -> bytes:
    """What a plain server answers to these bytes, until it ends the connection."""

    async def main() -> bytes:
        front = HttpFront(Echo(), Authenticator(), None, **options)
        reader, writer = await asyncio.open_connection("127.0.0.1", await front.start())
        writer.write(sent)
        async with asyncio.timeout(5):
            answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        await front.stop()
        return answer

    return asyncio.run(main())


@pytest.mark.parametrize("sent", [b"", b"POST /x HTTP/1.1\r\nAuthorization: Bearer wrong\r\n"])
def test_a_connection_that_comes_to_no_request_is_ended(sent: bytes) -> None:
    assert tell_raw(sent, idle_seconds=0.05) == b""


def test_of_one_user_only_so_many_bytes_are_held_at_a_time() -> None:
    async def story(transport: HttpTransport) -> None:
        answers = [await ask(transport, body=b"x" * size) for size in (6, 6, 11, 10)]
        assert [code for code, _ in answers] == [201, 201, 429, 201]

    serve(story, token="secret", bodies_bytes=10)


def test_large_answers_that_nobody_fetches_are_few_and_given_up() -> None:
    port = free_port()

    async def story(transport: HttpTransport) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        try:
            writer.write(b"GET /huge HTTP/1.1\r\nHost: x\r\n\r\n")
            async with asyncio.timeout(3 * WRITE_TIMEOUT_SECONDS):
                while await large(transport) != 429:
                    pass
                skip(WRITE_TIMEOUT_SECONDS + 1)
                while await large(transport) != 200:
                    pass
        finally:
            writer.transport.abort()

    serve(story, port=port, answers_bytes=20_000_000)


async def large(transport: HttpTransport) -> int:
    """The code of an answer that is much smaller than what nobody fetches."""
    return (
        await transport.send(Request("GET", "/large", {}, {"accept-encoding": "identity"}), timeout_seconds=60)
    ).code


def test_bytes_that_are_no_text_are_replaced() -> None:
    answer = tell_raw(b"GET /x HTTP/1.1\r\nHost: x\r\nX-Test: a\xff\r\nConnection: close\r\n\r\n")
    assert b'"x-test": "a?"' in answer


def test_what_a_garbled_head_says_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    assert b" 400 " in tell_raw(b"GET /x HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer s3cret\x00\r\n\r\n")
    assert "Error handling request from 127.0.0.1" in caplog.text
    assert "s3cret" not in caplog.text


def test_a_handler_that_crashes_is_answered_with_a_500_status() -> None:
    async def story(transport: HttpTransport) -> None:
        code, status = await ask(transport, "/crash")
        assert (code, status["reason"]) == (500, "InternalError")

    serve(story)


def test_a_large_answer_is_compressed_for_those_who_accept_it() -> None:
    async def story(transport: HttpTransport) -> None:
        packed = await transport.send(Request("GET", "/large"), timeout_seconds=5)
        plain = await transport.send(Request("GET", "/large", {}, {"accept-encoding": "identity"}), timeout_seconds=5)
        assert packed.headers["content-encoding"] == "gzip"
        assert "content-encoding" not in plain.headers
        assert packed.body == plain.body

    serve(story)


def test_a_stream_brings_lines_as_they_come_until_it_ends() -> None:
    echo = Echo()

    async def story(transport: HttpTransport) -> None:
        big = b"x" * 5_000_000
        async with transport.stream(Request("GET", "/watch")) as lines:
            for line in (b"one", b"two", big):
                echo.lines.put_nowait(line)
                assert await anext(lines) == line
            echo.lines.put_nowait(None)
            assert [line async for line in lines] == []

    serve(story, echo)


def test_a_client_that_goes_away_ends_the_stream() -> None:
    echo = Echo()

    async def story(transport: HttpTransport) -> None:
        async with transport.stream(Request("GET", "/watch")) as lines, aclosing(cast(Any, lines)):
            echo.lines.put_nowait(b"one")
            await anext(lines)
        async with asyncio.timeout(5):
            await echo.closed.wait()

    serve(story, echo)


def test_a_stream_that_breaks_off_does_not_look_as_if_it_had_ended() -> None:
    echo = Echo()

    async def story(transport: HttpTransport) -> None:
        async with transport.stream(Request("GET", "/watch")) as lines:
            echo.lines.put_nowait(b"one")
            assert await anext(lines) == b"one"
            echo.lines.put_nowait(ValueError("broken"))
            with pytest.raises(Unreachable):
                await anext(lines)

    serve(story, echo)


def test_an_error_instead_of_a_stream_is_raised() -> None:
    async def story(transport: HttpTransport) -> None:
        with pytest.raises(Expired):
            async with transport.stream(Request("GET", "/expired")):
                pass

    serve(story)


def test_a_dead_peer_of_a_stream_is_noticed() -> None:
    async def story(transport: HttpTransport) -> None:
        async with transport.stream(Request("GET", "/watch")) as lines:
            waiting = asyncio.ensure_future(anext(lines))
            await asyncio.sleep(0)
            skip(IDLE_TIMEOUT_SECONDS + 1)
            with pytest.raises(Unreachable, match="no answer in time"):
                await waiting

    serve(story)


def test_stopping_with_open_streams_ends_them_cleanly() -> None:
    """Those that are not ended by the front itself are broken off after a moment, which is no clean end."""

    async def main() -> None:
        front = HttpFront(Echo(), Authenticator(), None)
        transport = HttpTransport(f"http://127.0.0.1:{await front.start()}")
        try:
            async with (
                transport.stream(Request("GET", "/watch")) as one,
                transport.stream(Request("GET", "/watch")) as two,
            ):
                await front.stop()
                assert [line async for line in one] == [line async for line in two] == []
            with pytest.raises(Unreachable):
                await transport.send(Request("GET", "/x"), timeout_seconds=60)
        finally:
            await transport.close()
            await front.stop()

    asyncio.run(main())


def test_a_slow_server_exceeds_the_deadline_of_its_clients() -> None:
    async def story(transport: HttpTransport) -> None:
        with pytest.raises(Unreachable, match=r"GET http://127\.0\.0\.1:\d+/x: no answer in time"):
            await transport.send(Request("GET", "/x"), timeout_seconds=0.05)

    serve(story, delay=lambda: 30.0)


def test_a_taken_port_is_an_error() -> None:
    async def main() -> None:
        front = HttpFront(Echo(), Authenticator(), None)
        port = await front.start()
        with pytest.raises(OSError, match="address already in use"):
            await HttpFront(Echo(), Authenticator(), None, port=port).start()
        await front.stop()

    asyncio.run(main())


def tls(directory: Path, connection: Callable[[Authority], dict[str, Any]]) -> Any:
    """What a client with this connection gets from a TLS server: the answer, or the exception."""
    authority = Authority()

    async def main() -> Any:
        front = HttpFront(Echo(), Authenticator(), authority.server_context(directory))
        port = await front.start()
        transport = transport_of(Connection(f"https://127.0.0.1:{port}", **connection(authority)))
        try:
            return await ask(transport)
        except Unreachable as error:
            return error
        finally:
            await transport.close()
            await front.stop()

    return asyncio.run(main())


def test_a_client_certificate_says_who_asks(tmp_path: Path) -> None:
    def connection(authority: Authority) -> dict[str, Any]:
        certificate, key = authority.issue("bob", "system:masters", "ops")
        return {
            "certificate_authority": authority.certificate,
            "client_certificate": certificate,
            "client_key": key,
        }

    _, answer = tls(tmp_path, connection)
    assert answer["user"] == ["bob", "system:masters", "ops", "system:authenticated"]


def test_without_a_certificate_a_client_is_anonymous(tmp_path: Path) -> None:
    _, answer = tls(tmp_path, lambda authority: {"certificate_authority": authority.certificate})
    assert answer["user"][0] == "system:anonymous"


def test_a_server_of_another_authority_is_not_trusted_unless_verification_is_off(tmp_path: Path) -> None:
    assert isinstance(tls(tmp_path, lambda _: {"certificate_authority": Authority("other").certificate}), Untrusted)
    code, _ = tls(tmp_path, lambda _: {"insecure_skip_tls_verify": True})
    assert code == 201


def test_a_handshake_that_is_cut_off_is_unreachable_and_not_untrusted() -> None:
    async def main() -> None:
        async def cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(10)
            writer.close()

        server = await asyncio.start_server(cut, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        transport = transport_of(Connection(f"https://127.0.0.1:{port}"))
        with pytest.raises(Unreachable) as caught:
            await ask(transport)
        assert not isinstance(caught.value, Untrusted)
        await transport.close()
        server.close()

    asyncio.run(main())


def test_a_stream_is_not_asked_for_more_than_its_client_takes() -> None:
    echo = Echo()

    async def story(transport: HttpTransport) -> None:
        for _ in range(100):
            echo.lines.put_nowait(b"x" * 1_000_000)
        async with transport.stream(Request("GET", "/watch")) as lines:
            await anext(lines)
            for _ in range(10):
                await ask(transport)
            assert echo.lines.qsize() > 50

    serve(story, echo)
