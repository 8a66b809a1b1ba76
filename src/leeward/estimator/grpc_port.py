"""The port of an estimator: its connections are counted and have deadlines, as those of all other ports (`kubeapi`).

gRPC listens by itself, and knows no such bounds. So it listens at a socket in a directory of this process alone, and
whatever a connection says after TLS goes there and back:

    client ─▸ Listener ─▸ TLS ─▸ bytes ─▸ socket ─▸ gRPC

A client with a certificate is the user that its certificate names. One that does not begin to speak HTTP/2 in time is
closed. Each connection takes three descriptors.
"""

import asyncio
import logging
import os
import shutil
import ssl
import tempfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from kubeapi.connections import Connections, TooManyConnections
from kubeapi.listening import Listener
from kubeapi.loop import Supervisor

log = logging.getLogger(__name__)

DESCRIPTORS = 3
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""First bytes that a client of HTTP/2 sends."""
SOCKET = "grpc"
MOST_PATH_BYTES = 100
"""Length of the path of a socket that every system takes: Linux has room for 107, others for 103."""
SHORT_DIRECTORIES = ("/tmp", "/dev/shm")
"""Directories for the socket where the usual one has a long name, or cannot be written to."""


class EstimatorFront:
    """Listens, and hands connections to the server at `inside`; `tls` gives the context for the next connection."""

    def __init__(self, tls: Callable[[], ssl.SSLContext] | None = None, connections: Connections | None = None) -> None:
        self._directory = _private_directory()
        self.inside = self._directory / SOCKET
        self._supervisor = Supervisor("estimator's connections")
        self._accepted: set[_Accepted] = set()
        self.request_factory: Callable[..., Any] = lambda *_: None
        self._listener = Listener(self, tls, connections, descriptors=DESCRIPTORS)

    def __call__(self) -> asyncio.BaseProtocol:
        return _Accepted(self)

    async def start(self, host: str | None, port: int) -> int:
        """Listens; gives the port. Raises: OSError when the address is taken."""
        return await self._listener.start(host, port)

    async def close(self) -> None:
        await self._listener.close()
        for each in list(self._accepted):
            each.close()
        await self._supervisor.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def opened(self, accepted: "_Accepted") -> None:
        self._accepted.add(accepted)
        self._supervisor.start(accepted.reach(self.inside), "connection to gRPC")

    def belongs_to(self, accepted: "_Accepted", user: str) -> None:
        """Raises: TooManyConnections."""
        self._listener.belongs_to(accepted, user)

    def connection_lost(self, protocol: Hashable, *_: Any) -> None:
        self._accepted.discard(cast("_Accepted", protocol))


class _Way(asyncio.Protocol):
    """One side of a connection: all that it hears goes to the other, no faster than that one takes it."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.other: _Way | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.write(data)

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.end_other()

    def end_other(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()


class _Accepted(_Way):
    """The side of a client."""

    def __init__(self, front: EstimatorFront) -> None:
        super().__init__()
        self._front = front
        self._head = b""
        self._waiting = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if user := _named(transport.get_extra_info("peercert")):
            try:
                self._front.belongs_to(self, user)
            except TooManyConnections as error:
                log.warning("a connection is refused: %s", error)
                self.close()
                return
        self._front.opened(self)

    async def reach(self, inside: Path) -> None:
        """Connects to gRPC; the bytes that came meanwhile go first."""
        inner = _Way()
        inner.other = self
        try:
            await asyncio.get_running_loop().create_unix_connection(lambda: inner, str(inside))
        except OSError as error:
            log.warning("a connection cannot be handed to gRPC: %s", error)
            self.close()
            return
        self.other = inner
        if self.transport is None or self.transport.is_closing():
            self.end_other()
            return
        super().data_received(self._waiting)
        self._waiting = b""
        self.transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        if len(self._head) < len(PREFACE):
            self._head += data[: len(PREFACE) - len(self._head)]
            if not PREFACE.startswith(self._head):
                self.close()
                return
            if len(self._head) == len(PREFACE):
                self._front.request_factory(None, None, self)
        if self.other is None and self.transport is not None:
            self._waiting += data
            self.transport.pause_reading()
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._front.connection_lost(self, exc)

    def close(self) -> None:
        if self.transport is not None:
            self.transport.abort()


def _named(certificate: Mapping[str, Sequence[Sequence[tuple[str, str]]]] | None) -> str:
    """The common name of a client's certificate; empty without one."""
    names = (pair for each in (certificate or {}).get("subject", ()) for pair in each)
    return next((value for name, value in names if name == "commonName"), "")


def _private_directory() -> Path:
    """A directory for its owner alone, in which a socket has a short path. Raises: OSError where none can be made."""
    said = list[str]()
    for folder in (None, *SHORT_DIRECTORIES):
        try:
            made = Path(tempfile.mkdtemp(prefix="leeward-", dir=folder)).absolute()
        except OSError as error:
            said.append(str(error))
            continue
        if len(os.fsencode(made / SOCKET)) <= MOST_PATH_BYTES:
            return made
        made.rmdir()
        said.append(f"a socket in {made.parent} has a path of more than {MOST_PATH_BYTES} bytes")
    raise OSError(f"no directory for the socket of the estimator: {'; '.join(said)}. Set TMPDIR to a short one")
