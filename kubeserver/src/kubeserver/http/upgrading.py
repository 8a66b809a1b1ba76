"""A client's connection that stops to be HTTP: its bytes go to whom the request was for, and theirs to the client.

Neither side is read faster than the other one takes: what is kept between them is bounded.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

from aiohttp import web

from kubeapi.errors import WorldError
from kubeapi.loop import Supervisor
from kubeserver.handler import StreamResponse, WayBack

MAX_KEPT_BYTES = 256 * 1024
LAST_BYTES_SECONDS = 60.0


class _Uploads:
    """Buffer of what the client has sent and nobody has taken yet. It has the form of a parser of aiohttp's."""

    def __init__(self, transport: asyncio.ReadTransport) -> None:
        self._transport = transport
        self._kept = bytearray()
        self._ended = False
        self._there = asyncio.Event()

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        self._kept += data
        if len(self._kept) > MAX_KEPT_BYTES:
            self._transport.pause_reading()
        self._there.set()
        return False, b""

    def feed_eof(self) -> None:
        self._ended = True
        self._there.set()

    async def take(self) -> bytes:
        """Waits for bytes and takes all that have come; none at the end."""
        while not self._kept and not self._ended:
            self._there.clear()
            await self._there.wait()
        data = bytes(self._kept)
        self._kept.clear()
        if not self._ended:
            self._transport.resume_reading()
        return data


async def pass_bytes(
    incoming: web.BaseRequest, answer: StreamResponse, way_back: WayBack, streams: Supervisor
) -> web.StreamResponse:
    """Passes bytes until either side ends; what it was for may end before it has taken all, and is told to its end.
    Raises: WorldError."""
    transport = incoming.transport
    if transport is None:
        raise ConnectionResetError("the client has gone")
    headers = {**answer.headers, "connection": "Upgrade", "upgrade": way_back.upgrade}
    outgoing = web.StreamResponse(status=101, headers=headers)
    uploads = _Uploads(transport)
    await outgoing.prepare(incoming)
    incoming.protocol.set_parser(cast(Any, uploads))
    downloading = streams.start(_download(outgoing, answer, transport), "upgraded connection")
    try:
        while data := await uploads.take():
            await way_back.send(data)
    except WorldError:
        await asyncio.wait((downloading,), timeout=LAST_BYTES_SECONDS)
        raise
    finally:
        downloading.cancel()
        transport.close()
    return outgoing


async def _download(outgoing: web.StreamResponse, answer: StreamResponse, transport: asyncio.Transport) -> None:
    """Ends the connection after the last byte."""
    try:
        async with aclosing(cast(AsyncGenerator[bytes, None], answer.lines)) as chunks:
            async for chunk in chunks:
                await outgoing.write(chunk)
    finally:
        transport.close()
