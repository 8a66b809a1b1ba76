"""The HTTP transport, tried with the front of kubeserver over real sockets."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from kubeapi.errors import Expired, Unreachable, Untrusted
from kubeapi.transport import Request
from kubeserver.auth.authentication import Authenticator
from kubeserver.handler import User
from kubeserver.http.front import HttpFront
from leeward.client.connection import Connection, transport_of
from leeward.client.http import IDLE_TIMEOUT_SECONDS, HttpTransport
from tests.certificates import Authority
from tests.kubeserver.echo import Echo, SkippingLoop, skip

Story = Callable[[HttpTransport], Awaitable[None]]


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


def test_a_bearer_token_says_who_asks() -> None:
    async def story(transport: HttpTransport) -> None:
        assert (await ask(transport))[1]["user"] == ["alice", "dev", "system:authenticated"]

    serve(story, token="secret")


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
