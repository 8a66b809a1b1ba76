"""The transport that blocks, tried with the front of kubeserver over real sockets, from a thread of its own."""

import asyncio
import gzip
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any

import pytest

from kubeapi.core import CONFIG_MAPS
from kubeapi.errors import TooLarge, Undecodable, Unreachable, Untrusted
from kubeapi.transport import Request, Response, Transport
from kubeclient import Client
from kubeclient.blocking import BlockingTransport
from kubeclient.bounds import CONTROL_PLANE_BOUNDS, Bounds
from kubeclient.connection import Connection, asking_transport_of
from kubeclient.http import HttpTransport
from kubeclient.proxied import ProxiedTransport
from kubeserver.auth.authentication import Authenticator
from kubeserver.http.front import HttpFront
from tests.certificates import Authority
from tests.kubeserver import http_contract
from tests.kubeserver.echo import Echo
from tests.kubeserver.http_contract import ask


class Nowhere:
    """Rules by which nothing is sent."""

    def address_fault(self, address: IPv4Address | IPv6Address, port: int, /) -> str:
        return f"{address}:{port} is forbidden"


class Elsewhere:
    """A transport that is used in another thread, as the server needs this one."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        async def work() -> Response:
            return await self._inner.send(request, timeout_seconds=timeout_seconds)

        return await asyncio.to_thread(lambda: asyncio.run(work()))

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


def serve(story: Callable[[Elsewhere], Awaitable[None]], token: str = "", **options: Any) -> None:
    http_contract.serve(lambda url: Elsewhere(asking_transport_of(Connection(url, token=token))), story, **options)


def test_a_request_arrives_as_it_was_sent() -> None:
    serve(http_contract.a_request_arrives_as_it_was_sent)


def test_a_bearer_token_says_who_asks() -> None:
    serve(http_contract.a_bearer_token_says_who_asks, token="secret")


def test_requests_that_follow_one_another_share_a_connection() -> None:
    with answering(ANSWER % (2, b"{}"), ANSWER % (4, b"none")) as (transport, accepted):
        assert send(transport).body == b"{}"
        assert send(transport).body == b"none"
        assert len(accepted) == 1


def tls(directory: Path, connection: Callable[[Authority], dict[str, Any]]) -> Any:
    """Result that it gets from a TLS server: the answer, or the exception."""
    authority = Authority()

    async def main() -> Any:
        front = HttpFront(Echo(), Authenticator(), authority.server_context(directory))
        port = await front.start()
        transport = Elsewhere(asking_transport_of(Connection(f"https://127.0.0.1:{port}", **connection(authority))))
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
        return {"certificate_authority": authority.certificate, "client_certificate": certificate, "client_key": key}

    _, answer = tls(tmp_path, connection)
    assert answer["user"] == ["bob", "system:masters", "ops", "system:authenticated"]


def test_a_server_of_another_authority_is_not_trusted_unless_verification_is_off(tmp_path: Path) -> None:
    assert isinstance(tls(tmp_path, lambda _: {"certificate_authority": Authority("other").certificate}), Untrusted)
    assert tls(tmp_path, lambda _: {"insecure_skip_tls_verify": True})[0] == 201


ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s"


@contextmanager
def answering(
    *answers: bytes, bounds: Bounds = CONTROL_PLANE_BOUNDS
) -> Generator[tuple[Transport, list[socket.socket]], None, None]:
    """A server that says these, one for each request, and after the last nothing more; and whom it has let in.

    A client that gives up early, however early that is on a busy machine, ends it.
    """
    accepted: list[socket.socket] = []

    def serve_all(listener: socket.socket) -> None:
        with suppress(ConnectionError):
            for answer in answers:
                if not accepted:
                    accepted.append(listener.accept()[0])
                asked = b""
                while not asked.endswith(b"\r\n\r\n"):
                    received = accepted[-1].recv(65536)
                    if not received:
                        return
                    asked += received
                accepted[-1].sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve_all, args=(listener,), daemon=True)
        thread.start()
        transport = asking_transport_of(Connection(f"http://127.0.0.1:{listener.getsockname()[1]}", bounds=bounds))
        yield transport, accepted
        asyncio.run(transport.close())
        if not accepted:
            socket.create_connection(listener.getsockname()).close()
        thread.join(http_contract.PATIENCE_SECONDS)
        assert not thread.is_alive()
        for each in accepted:
            each.close()


def send(transport: Transport, seconds: float = 60.0) -> Response:
    async def main() -> Response:
        return await transport.send(Request("GET", "/x"), timeout_seconds=seconds)

    return asyncio.run(main())


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"])
def test_a_server_that_says_no_more_exceeds_the_deadline_of_the_whole_request(said: bytes) -> None:
    with answering(said) as (transport, _), pytest.raises(Unreachable, match="no answer in time"):
        send(transport, 0.05)


def test_a_longer_answer_than_is_bounded_is_not_read_to_its_end() -> None:
    bounds = Bounds(body=8, line=8)
    with answering(ANSWER % (9, b"123456789"), bounds=bounds) as (transport, _), pytest.raises(TooLarge):
        send(transport)


def test_an_answer_that_is_compressed_unasked_is_not_taken_for_what_it_says() -> None:
    body = gzip.compress(b"{}")
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(body)
    with answering(head + body) as (transport, _), pytest.raises(Undecodable):
        send(transport)


def test_what_is_no_http_is_no_answer() -> None:
    with answering(b"SSH-2.0-OpenSSH_9.2\r\n\r\n") as (transport, _), pytest.raises(Unreachable):
        send(transport)


def test_whom_nobody_answers_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(Unreachable, match=r"^GET [^ ]*: connection refused$"):
        send(asking_transport_of(Connection(f"http://127.0.0.1:{port}")))


@pytest.mark.parametrize(
    "given", [{"proxy_url": "http://proxy"}, {"tls_server_name": "other"}, {"addresses": Nowhere()}]
)
def test_what_it_cannot_do_the_other_transport_does(given: dict[str, Any]) -> None:
    made = asking_transport_of(Connection("http://127.0.0.1:1", **given))
    assert isinstance(made, ProxiedTransport if "proxy_url" in given else HttpTransport)
    assert isinstance(asking_transport_of(Connection("http://127.0.0.1:1")), BlockingTransport)


def test_what_is_put_off_is_asked_for_again_by_a_client_over_it() -> None:
    put_off = b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n"
    body = b'{"metadata": {"name": "a", "namespace": "default"}}'
    with answering(put_off, ANSWER % (len(body), body)) as (transport, accepted):
        found = asyncio.run(Client(transport).get(CONFIG_MAPS, "a", "default"))
        assert (found.name, len(accepted)) == ("a", 1)
