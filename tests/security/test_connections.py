"""Connections: who only opens them keeps nobody out, and nobody takes all of a process's descriptors.

has            the way to a port of the control plane, of a member or of a component, and perhaps a credential
does           opens as many connections as it can, and says nothing, or does not come to the end of a head
must not get   the place of somebody who has a credential, or a descriptor that the process needs itself
"""

import asyncio
import resource
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import grpc
import grpc.aio
import pytest
import uvloop

from kubeapi import connections as counting
from kubeapi import listening
from kubeapi.connections import Connections, Incoming, TooManyConnections
from kubeapi.process import raise_descriptor_limit
from kubeclient import Request
from kubeclient.http import HttpTransport
from kubeserver.auth.authentication import Authenticator
from kubeserver.handler import User
from kubeserver.http.front import HttpFront
from leeward.app.flags.parsing import Address
from leeward.app.flags.settings import Serving
from leeward.app.probes import Probes, served
from leeward.estimator.grpc_port import DESCRIPTORS, EstimatorFront
from leeward.estimator.serving import ServerCertificates
from leeward.runtime.metrics import Metrics
from tests.certificates import Authority
from tests.kubeserver.echo import Echo
from tests.ports import free_port

MOST = 12
CREATED = 201


class Table:
    """Connections of a process with few places, and which of them were closed."""

    def __init__(self, most: int = 4) -> None:
        self.connections = Connections(most)
        self.closed: list[str] = []

    def enter(self, name: str, address: str = "") -> Incoming:
        incoming = Incoming(address or name, lambda: self.closed.append(name))
        assert self.connections.enter(incoming)
        return incoming


def test_the_oldest_that_has_asked_nothing_goes_first() -> None:
    table = Table()
    first, _, third, _ = (table.enter(name) for name in "abcd")
    table.connections.asked(first)
    table.connections.belongs_to(third, "alice")
    for name in "efgh":
        table.enter(name)
    assert table.closed == ["b", "d", "e", "f"], "neither a, which has asked, nor c, whose user is known"
    assert len(table.connections) == 4


def test_strangers_that_have_asked_go_before_anybody_who_is_known() -> None:
    table = Table()
    known = [table.enter(name) for name in "ab"]
    for incoming, user in zip(known, ("alice", "bob"), strict=True):
        table.connections.belongs_to(incoming, user)
    for name in "cd":
        table.connections.asked(table.enter(name))
    table.connections.asked(table.enter("e"))
    assert table.closed == ["c"]


def test_one_address_takes_half_of_the_places() -> None:
    table = Table(8)
    table.enter("other")
    for number in range(20):
        table.enter(f"x{number}", "flood")
    assert table.closed == [f"x{number}" for number in range(16)]
    assert len(table.connections) == 5


def test_one_user_takes_half_of_the_places_and_idle_ones_go_for_those_in_use() -> None:
    table = Table(8)
    theirs = [table.enter(f"c{number}") for number in range(4)]
    for incoming in theirs:
        table.connections.belongs_to(incoming, "alice")
        incoming.serving += 1
    theirs[2].serving -= 1
    table.connections.belongs_to(table.enter("c4"), "alice")
    assert table.closed == ["c2"]
    table.connections.leave(theirs[0])
    table.connections.belongs_to(table.enter("c5"), "alice")
    assert table.closed == ["c2"]


def test_a_user_whose_connections_are_all_in_use_is_told_so() -> None:
    table = Table(8)
    for number in range(4):
        incoming = table.enter(f"c{number}")
        table.connections.belongs_to(incoming, "alice")
        incoming.serving += 1
    with pytest.raises(TooManyConnections, match="close some of them"):
        table.connections.belongs_to(table.enter("c5"), "alice")
    table.connections.belongs_to(table.enter("d0"), "bob")


def test_a_connection_that_leaves_twice_is_counted_once() -> None:
    table = Table()
    one = table.enter("a")
    table.enter("b")
    table.connections.leave(one)
    table.connections.leave(one)
    assert len(table.connections) == 1


def test_a_quarter_of_the_descriptors_is_kept() -> None:
    counting.connections_of_process.cache_clear()
    with mock.patch.object(resource, "getrlimit", return_value=(256, 256)):
        assert counting.connections_of_process().most == 192
    counting.connections_of_process.cache_clear()


def test_the_soft_limit_is_raised_to_the_hard_one() -> None:
    with (
        mock.patch.object(resource, "getrlimit", return_value=(256, 4096)),
        mock.patch.object(resource, "setrlimit") as written,
    ):
        assert raise_descriptor_limit() == 4096
    written.assert_called_once_with(resource.RLIMIT_NOFILE, (4096, 4096))


@asynccontextmanager
async def flooded(port: int, count: int) -> AsyncGenerator[list[asyncio.StreamReader], None]:
    """Connections that say nothing."""
    opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(count)]
    yield [reader for reader, _ in opened]
    for _, writer in opened:
        writer.transport.abort()


async def closed(readers: list[asyncio.StreamReader], least: int) -> None:
    """Waits until the server has closed so many."""

    async def ended(reader: asyncio.StreamReader) -> None:
        with suppress(ConnectionError):
            await reader.read()

    async with asyncio.timeout(20):
        for number, end in enumerate(asyncio.as_completed(map(ended, readers)), 1):
            await end
            if number == least:
                return


def run(work: Coroutine[Any, Any, None]) -> None:
    """Runs it on the loop that processes have."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work)


def serve(story: Callable[[HttpFront, int, Connections], Coroutine[Any, Any, None]], tls: Path | None = None) -> None:
    async def main() -> None:
        connections = Connections(MOST)
        context = None if tls is None else Authority().server_context(tls)
        front = HttpFront(Echo(), Authenticator({"secret": User("alice")}), context, connections=connections)
        port = await front.start()
        try:
            await story(front, port, connections)
        finally:
            await front.stop()
        assert not len(connections)

    run(main())


async def ask(port: int, path: str = "/echo") -> int:
    transport = HttpTransport(f"http://127.0.0.1:{port}", headers={"authorization": "Bearer secret"})
    try:
        return (await transport.send(Request("GET", path), timeout_seconds=20)).code
    finally:
        await transport.close()


def test_idle_connections_keep_nobody_out() -> None:
    async def story(_: HttpFront, port: int, connections: Connections) -> None:
        async with flooded(port, 10 * MOST) as readers:
            await closed(readers, 9 * MOST)
            assert len(connections) <= MOST
            assert await ask(port) == CREATED

    serve(story)


def test_connections_that_do_not_come_to_tls_make_room(tmp_path: Path) -> None:
    async def story(_: HttpFront, port: int, connections: Connections) -> None:
        async with flooded(port, 5 * MOST) as readers:
            await closed(readers, 4 * MOST)
            assert len(connections) <= MOST

    serve(story, tmp_path)


def test_the_head_of_a_first_request_has_a_deadline() -> None:
    async def story(_: HttpFront, port: int, connections: Connections) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /echo HTTP/1.1\r\nHost: x\r\n")
        await closed([reader], 1)
        writer.transport.abort()

    with mock.patch.object(listening, "HEAD_SECONDS", 0.01):
        serve(story)


def test_a_client_that_has_asked_keeps_its_connection_through_a_flood() -> None:
    async def story(_: HttpFront, port: int, connections: Connections) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        question = b"GET /echo HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n\r\n"
        writer.write(question)
        assert b"201" in await reader.readuntil(b"\r\n")
        async with flooded(port, 5 * MOST) as readers:
            await closed(readers, 4 * MOST)
            writer.write(question)
            async with asyncio.timeout(20):
                await reader.readuntil(b"HTTP/1.1 201")
        writer.transport.abort()

    serve(story)


def test_a_user_with_too_many_connections_in_use_is_put_off() -> None:
    async def story(_: HttpFront, port: int, connections: Connections) -> None:
        theirs = [Incoming(f"a{number}", lambda: None) for number in range(MOST // 2)]
        for incoming in theirs:
            connections.enter(incoming)
            connections.belongs_to(incoming, "alice")
            incoming.serving += 1
        assert await ask(port) == 429
        theirs[0].serving -= 1
        assert await ask(port) == CREATED
        for incoming in theirs[1:]:
            connections.leave(incoming)

    serve(story)


def test_health_and_metrics_ports_have_the_same_bounds() -> None:
    async def main() -> None:
        connections, port = Connections(MOST), free_port()
        address = Address("127.0.0.1", port)
        with mock.patch.object(listening, "connections_of_process", return_value=connections):
            async with (
                served(Probes(Metrics()), Serving(health=address, metrics=address)),
                flooded(port, 5 * MOST) as readers,
            ):
                await closed(readers, 4 * MOST)
                assert len(connections) <= MOST
                assert await ask(port, "/healthz") == 200

    run(main())


async def echo(data: bytes, _: "grpc.aio.ServicerContext[bytes, bytes]") -> bytes:
    return data


@asynccontextmanager
async def estimating(certificates: ServerCertificates | None = None) -> AsyncGenerator[tuple[int, Connections]]:
    """The port of an estimator that gives back what it is asked."""
    connections = Connections(MOST)
    front = EstimatorFront(None if certificates is None else certificates.contexts(), connections)
    server = grpc.aio.server()
    method: grpc.RpcMethodHandler[bytes, bytes] = grpc.unary_unary_rpc_method_handler(echo)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("Estimator", {"ask": method}),))
    server.add_insecure_port(f"unix:{front.inside}")
    await server.start()
    try:
        yield await front.start("127.0.0.1", 0), connections
    finally:
        await server.stop(0)
        await front.close()
    assert not front.inside.parent.exists()


async def ask_estimator(channel: grpc.aio.Channel, question: bytes = b"room") -> bytes:
    call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/Estimator/ask")
    return await call(question, timeout=20)


def test_the_port_of_an_estimator_has_the_same_bounds() -> None:
    async def main() -> None:
        async with estimating() as (port, connections), flooded(port, 5 * MOST) as readers:
            await closed(readers, 4 * MOST)
            assert len(connections) <= MOST // DESCRIPTORS
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                assert await ask_estimator(channel) == b"room"

    run(main())


def test_a_client_of_an_estimator_keeps_its_connection_through_a_flood(tmp_path: Path) -> None:
    """A client is named by its certificate; one without does not come to gRPC."""
    authority = Authority()
    files = [tmp_path / name for name in ("server.crt", "server.key", "ca.crt")]
    for file, content in zip(files, (*authority.issue("estimator"), authority.certificate), strict=True):
        file.write_bytes(content)
    certificates = ServerCertificates(certificate=files[0], key=files[1], client_authority=files[2])
    certificate, key = authority.issue("scheduler")
    shown = grpc.ssl_channel_credentials(authority.certificate, key, certificate)

    async def main() -> None:
        async with (
            estimating(certificates) as (port, connections),
            grpc.aio.secure_channel(f"127.0.0.1:{port}", shown) as channel,
        ):
            assert await ask_estimator(channel, bytes(1_000_000)) == bytes(1_000_000)
            (known,) = connections.users()
            assert known == "scheduler"
            async with flooded(port, 5 * MOST) as readers:
                await closed(readers, 4 * MOST)
                assert await ask_estimator(channel) == b"room"
                assert connections.users() == {"scheduler": 1}

    run(main())


@pytest.mark.parametrize("said", [b"", b"PRI * HTTP/2.0\r\n", b"GET / HTTP/1.1\r\n\r\n"])
def test_whoever_does_not_speak_http_2_to_an_estimator_is_closed(said: bytes) -> None:
    async def main() -> None:
        async with estimating() as (port, connections):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(said)
            await closed([reader], 1)
            writer.transport.abort()
            assert not connections.users()

    with mock.patch.object(listening, "HEAD_SECONDS", 0.05):
        run(main())
