"""Ports of a process: each connection that comes in is counted (`connections.py`), and has deadlines.

TLS has to be agreed, and the head of a first request to be there, within ten seconds each. Whoever serves requests says
whose a connection is (`Listener.belongs_to`). Never reads what is sent.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Hashable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Protocol

from kubeapi.connections import Connections, Incoming, connections_of_process
from kubeapi.loop import Supervisor

log = logging.getLogger(__name__)

HANDSHAKE_SECONDS = HEAD_SECONDS = 10.0
BACKLOG = 1024
PAUSE_SECONDS = 0.1
"""Pause after the system has given no connection, for want of descriptors or memory."""


class _WithoutWhatWasSent(logging.Filter):
    """Filter for the HTTP library's log: one sentence of a head that it cannot read. Its errors show the bytes, and
    there may be a token among them."""

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and type(error).__module__ == "aiohttp.http_exceptions":
            is_long = type(error).__name__ == "LineTooLong"
            reason = "its URL or a header is too long" if is_long else f"it is no valid HTTP: {type(error).__name__}"
            record.msg, record.exc_info, record.exc_text = f"{record.getMessage()}: {reason}", None, None
            record.args = ()
        return True


logging.getLogger("aiohttp.server").addFilter(_WithoutWhatWasSent())

Tls = ssl.SSLContext | Callable[[], ssl.SSLContext]


class HttpServer(Protocol):
    """Maker of protocols, as `aiohttp.web.Server` is, which is told when one has ended."""

    request_factory: Callable[..., Any]

    def __call__(self) -> asyncio.BaseProtocol: ...


class HttpRunner(Protocol):
    """Owner of such a server, as `aiohttp.web.AppRunner` is."""

    @property
    def server(self) -> Any: ...
    async def setup(self) -> None: ...
    async def cleanup(self) -> None: ...


class Listener:
    """Listens for connections, and hands each to a protocol of the server.

    `tls` may give another context for each connection. `descriptors`: the number that a connection takes."""

    def __init__(
        self,
        server: HttpServer,
        tls: Tls | None = None,
        connections: Connections | None = None,
        *,
        descriptors: int = 1,
    ) -> None:
        self._server = server
        self._descriptors = descriptors
        self._tls = tls
        self._connections = connections if connections is not None else connections_of_process()
        self._sockets: list[socket.socket] = []
        self._open: dict[Hashable, Incoming] = {}
        self._supervisor = Supervisor("connections")
        _tell(server, self._asked, self._lost)

    async def start(self, host: str | None, port: int) -> int:
        """Listens; gives the port. Raises: OSError when the address is taken."""
        try:
            self._sockets = await _bound(host, port)
        except BaseException:
            await self.close()
            raise
        for each in self._sockets:
            self._supervisor.start(self._accept(each), "accepting connections")
        return int(self._sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Listens no more. Connections that are there are whoever's serves them."""
        await self._supervisor.close()
        for each in self._sockets:
            each.close()
        self._sockets.clear()

    def incoming(self, protocol: Hashable) -> Incoming | None:
        return self._open.get(protocol)

    def belongs_to(self, protocol: Hashable, user: str) -> None:
        """Notes whose connection it is. Raises: TooManyConnections."""
        if (incoming := self._open.get(protocol)) is not None:
            self._connections.belongs_to(incoming, user)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, peer = await loop.sock_accept(listening)
            except OSError as error:
                log.warning("no connection could be accepted: %s", error)
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            incoming = Incoming(str(peer[0]), partial(_shut, accepted), self._descriptors)
            if self._connections.enter(incoming):
                self._supervisor.start(self._receive(accepted, incoming), "connection")
            else:
                accepted.close()

    async def _receive(self, accepted: socket.socket, incoming: Incoming) -> None:
        loop = asyncio.get_running_loop()
        accepted.setblocking(False)
        with suppress(OSError):
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        seconds = HANDSHAKE_SECONDS if self._tls is not None else None
        protocol = self._server()
        self._open[protocol] = incoming
        try:
            made, _ = await loop.connect_accepted_socket(
                lambda: protocol, accepted, ssl=self._context(), ssl_handshake_timeout=seconds
            )
        except (OSError, TimeoutError) as error:
            log.debug("a connection of %s came to nothing: %s", incoming.address, error)
            self._lost(protocol)
            return
        except BaseException:
            self._lost(protocol)
            raise
        if made.is_closing():
            self._lost(protocol)
            return
        incoming.close_by(made.abort)
        loop.call_later(HEAD_SECONDS, self._end_if_silent, protocol)

    def _context(self) -> ssl.SSLContext | None:
        return self._tls() if callable(self._tls) else self._tls

    def _end_if_silent(self, protocol: Hashable) -> None:
        incoming = self._open.get(protocol)
        if incoming is not None and not incoming.has_asked:
            incoming.close()

    def _asked(self, protocol: Hashable) -> None:
        if (incoming := self._open.get(protocol)) is not None:
            self._connections.asked(incoming)

    def _lost(self, protocol: Hashable) -> None:
        incoming = self._open.pop(protocol, None)
        if incoming is not None:
            self._connections.leave(incoming)


@asynccontextmanager
async def listening(
    runner: HttpRunner, host: str, port: int, tls: ssl.SSLContext | None = None
) -> AsyncGenerator[int, None]:
    """Serves while the context lasts; gives the port. Raises: OSError when the address is taken."""
    await runner.setup()
    listener = Listener(runner.server, tls)
    try:
        yield await listener.start(host, port)
    finally:
        await listener.close()
        await runner.cleanup()


def _tell(server: Any, asked: Callable[[Hashable], None], lost: Callable[[Hashable], None]) -> None:
    """Has the server tell of the head of each request, and of the end of each connection."""
    make_request, connection_lost = server.request_factory, server.connection_lost

    def request_made(message: Any, payload: Any, protocol: Hashable, *others: Any) -> Any:
        asked(protocol)
        return make_request(message, payload, protocol, *others)

    def ended(protocol: Hashable, *error: Any) -> None:
        lost(protocol)
        connection_lost(protocol, *error)

    server.request_factory, server.connection_lost = request_made, ended


async def _bound(host: str | None, port: int) -> list[socket.socket]:
    """Raises: OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            try:
                sockets.append(_listening(family, kind, protocol, address))
            except OSError:
                if family != socket.AF_INET6 or len(found) == 1:
                    raise
    except BaseException:
        for each in sockets:
            each.close()
        raise
    if not sockets:
        raise OSError(f"{host or 'this machine'} has no address to listen at")
    return sockets


def _listening(family: int, kind: int, protocol: int, address: Any) -> socket.socket:
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.setblocking(False)
        _bind(made, address)
        made.listen(BACKLOG)
    except BaseException:
        made.close()
        raise
    return made


def _bind(made: socket.socket, address: Any) -> None:
    """Raises: OSError that names the address."""
    try:
        made.bind(address)
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        raise OSError(error.errno, f"error while attempting to bind on address {address}: {said}") from None


def _shut(accepted: socket.socket) -> None:
    """Ends a connection whose TLS is not agreed yet: its end is seen by whoever waits for that."""
    with suppress(OSError):
        accepted.shutdown(socket.SHUT_RDWR)
