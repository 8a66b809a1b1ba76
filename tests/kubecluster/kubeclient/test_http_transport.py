"""The HTTP transport, tried with the front of kubeserver over real sockets."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, cast
from unittest import mock
from unittest.mock import AsyncMock

import pytest

from kubeapi.errors import Expired, Unreachable, Untrusted
from kubeapi.transport import Request
from kubeclient.connection import Connection, transport_of
from kubeclient.forwarding import Forwarder
from kubeclient.http import IDLE_TIMEOUT_SECONDS, HttpTransport
from kubeclient.http_connection import HttpConnection
from kubeserver.auth.authentication import Authenticator
from kubeserver.http.front import HttpFront
from tests.certificates import Authority
from tests.kubeserver import http_contract
from tests.kubeserver.echo import Echo, skip
from tests.kubeserver.http_contract import ask

Story = Callable[[HttpTransport], Awaitable[None]]


def serve(story: Story, handler: Echo | None = None, token: str = "", **options: Any) -> None:
    """Plays a story with a client of a plain HTTP server."""
    http_contract.serve(
        lambda url: cast(HttpTransport, transport_of(Connection(url, token=token))), story, handler, **options
    )


def test_a_request_arrives_as_it_was_sent() -> None:
    serve(http_contract.a_request_arrives_as_it_was_sent)


def test_a_stream_brings_lines_as_they_come_until_it_ends() -> None:
    echo = Echo()
    serve(partial(http_contract.a_stream_brings_lines_as_they_come_until_it_ends, echo=echo), echo)


def test_a_stream_that_breaks_off_does_not_look_as_if_it_had_ended() -> None:
    echo = Echo()
    serve(partial(http_contract.a_stream_that_breaks_off_is_an_error, echo=echo, error=Unreachable), echo)


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
    asyncio.run(http_contract.stopping_with_open_streams_ends_them_cleanly(HttpTransport, Unreachable))


def test_a_slow_server_exceeds_the_deadline_of_its_clients() -> None:
    async def story(transport: HttpTransport) -> None:
        with pytest.raises(Unreachable, match=r"GET http://127\.0\.0\.1:\d+/x: no answer in time"):
            await transport.send(Request("GET", "/x"), timeout_seconds=0.05)

    serve(story, delay=lambda: 30.0)


def tls(directory: Path, connection: Callable[[Authority], dict[str, Any]]) -> Any:
    """Result that a client with this connection gets from a TLS server: the answer, or the exception."""
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


def test_who_stops_in_the_moment_in_which_a_connection_opens_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, opened = Authority(), list[Any]()

    async def main() -> None:
        front = HttpFront(Echo(), Authenticator(), authority.server_context(tmp_path))
        port = await front.start()
        transport = transport_of(Connection(f"https://127.0.0.1:{port}", certificate_authority=authority.certificate))
        asking = asyncio.ensure_future(ask(transport))
        is_made = HttpConnection.connection_made

        def made(connection: HttpConnection, its_transport: asyncio.BaseTransport) -> None:
            is_made(connection, its_transport)
            opened.append(its_transport.get_extra_info("socket"))
            asking.cancel()

        monkeypatch.setattr(HttpConnection, "connection_made", made)
        with pytest.raises(asyncio.CancelledError):
            await asking
        await transport.close()
        assert [socket.fileno() for socket in opened] == [-1]
        await front.stop()

    asyncio.run(main())


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
    serve(http_contract.a_bearer_token_says_who_asks, token="secret")


def test_a_server_of_another_authority_is_not_trusted_unless_verification_is_off(tmp_path: Path) -> None:
    assert isinstance(tls(tmp_path, lambda _: {"certificate_authority": Authority("other").certificate}), Untrusted)
    code, _ = tls(tmp_path, lambda _: {"insecure_skip_tls_verify": True})
    assert code == 201


@pytest.mark.parametrize("host", ["api.example.org", "api.example.org.", "other.example.org"])
def test_a_dot_at_the_end_of_the_servers_name_is_no_part_of_its_certificate(host: str, tmp_path: Path) -> None:
    authority = Authority()

    async def main() -> None:
        front = HttpFront(Echo(), Authenticator(), authority.server_context(tmp_path))
        port = await front.start()
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
        connection = Connection(f"https://{host}:{port}", authority.certificate)
        transport, forwarder = transport_of(connection), Forwarder(connection)
        for client in (ask(transport), forwarder.forward(Request("GET", "/a"))):
            with mock.patch.object(asyncio.get_running_loop(), "getaddrinfo", AsyncMock(return_value=found)):
                if host.startswith("other"):
                    with pytest.raises(Untrusted):
                        await client
                else:
                    await client
        await transport.close()
        await forwarder.close()
        await front.stop()

    asyncio.run(main())


def test_a_server_that_is_not_there_refuses_the_connection_in_plain_words() -> None:
    async def main() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        transport = transport_of(Connection(f"http://127.0.0.1:{port}"))
        with pytest.raises(Unreachable, match=r"^GET [^ ]*: connection refused$"):
            await ask(transport)
        await transport.close()

    asyncio.run(main())


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
