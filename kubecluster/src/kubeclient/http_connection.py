"""A connection to an HTTP server, with one request under way at most, which goes out in one write."""

import asyncio
import ssl
from dataclasses import dataclass
from typing import cast

from kubeclient.exchange import Exchange
from kubeclient.resolving import JudgesAddresses, is_of_the_address, judged_addresses, more_telling


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Address of a server, the name by which its certificate is known, and the addresses that its name may have."""

    host: str
    port: int
    tls: ssl.SSLContext | None
    server_name: str | None = None
    addresses: JudgesAddresses | None = None


class HttpConnection(asyncio.Protocol):
    """Connection to a server, made by `connect`. It ends itself when the server says something that nobody has asked
    for."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self.is_open = False
        self.is_fresh = True
        """Tells whether nothing was asked yet: that the server does not answer has no reason in what was before."""
        self.idle_since = 0.0

    def ask(self, request: bytes, method: str, most: int | None = None) -> Exchange:
        """Sends a request; `most` bytes are read of its answer, None for a stream. Raises: OSError."""
        if self._transport is None or not self.is_open:
            raise ConnectionResetError("the server has closed the connection")
        transport = self._transport
        self._exchange = Exchange(method, most, transport.pause_reading, transport.resume_reading)
        transport.write(request)
        return self._exchange

    def finish(self) -> bool:
        """Ends the request that is under way. Returns whether the connection can have another one."""
        exchange, self._exchange = self._exchange, None
        self.is_fresh = False
        if exchange is not None:
            exchange.close()
        is_unsent = self._transport is None or self._transport.get_write_buffer_size() > 0
        if exchange is None or not exchange.is_reusable or is_unsent or not self.is_open:
            self.abort()
        return self.is_open

    def abort(self) -> None:
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        if self._exchange is None or not self._exchange.feed(data):
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        if self._exchange is not None:
            self._exchange.lost(exc)


async def connect(endpoint: ServerAddress) -> HttpConnection:
    """Opens a connection; whoever calls bounds the time that it takes. Raises: OSError, ssl.SSLError,
    ForbiddenAddress."""
    failed: OSError | None = None
    for address in await judged_addresses(endpoint.addresses, endpoint.host, endpoint.port):
        try:
            return await _connect(endpoint, address)
        except OSError as error:
            if not is_of_the_address(error):
                raise
            failed = more_telling(failed, error)
    raise failed or OSError(f"{endpoint.host} has no address")


async def _connect(endpoint: ServerAddress, address: str) -> HttpConnection:
    name = None if endpoint.tls is None else endpoint.server_name or endpoint.host
    loop, connection = asyncio.get_running_loop(), HttpConnection()
    try:
        await loop.create_connection(lambda: connection, address, endpoint.port, ssl=endpoint.tls, server_hostname=name)
    except BaseException:
        connection.abort()  # asyncio would wait half a minute for a TLS server to say that it ends, too
        raise
    return connection
