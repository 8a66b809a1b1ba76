"""Preflight: a transport asks first whether anybody answers, so that a server which is frozen is named soon."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from urllib.parse import urlsplit

from kubeapi.errors import Unreachable, Untrusted
from kubeapi.transport import Request, Response, Transport
from kubeclient.connection import Connection, transport_of

ANSWER_SECONDS = 2.0
"""A server on this machine that has not answered within that is frozen, or gone."""
REMOTE_ANSWER_SECONDS = 10.0
"""Elsewhere: there may be an identity to be fetched first, and a long way."""
_THIS_MACHINE = ("127.0.0.1", "::1", "localhost")
_GREETING = Request("GET", "/livez")


def preflight_transport_of(connection: Connection) -> Transport:
    """Transport as `transport_of`, for who waits for the answer. Raises: ValueError."""
    is_near = urlsplit(connection.server).hostname in _THIS_MACHINE and connection.exec_plugin is None
    seconds = ANSWER_SECONDS if is_near else REMOTE_ANSWER_SECONDS
    return PreflightTransport(transport_of(connection), connection.server, seconds)


class PreflightTransport:
    """Transport that, before the first request, asks for a path that a living server answers at once, whoever asks.

    Any answer will do, whatever it says. `server` is named in the error.
    """

    def __init__(self, inner: Transport, server: str, answer_seconds: float) -> None:
        self._inner = inner
        self._server = server
        self.answer_seconds = answer_seconds
        self._greeted = False
        self._greeting = asyncio.Lock()

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        """Raises: Unreachable, also when nobody has answered the greeting in time; Untrusted."""
        async with self._greeting:
            if not self._greeted:
                await self._greet()
        return await self._inner.send(request, timeout_seconds=timeout_seconds)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()

    async def _greet(self) -> None:
        try:
            await self._inner.send(_GREETING, timeout_seconds=self.answer_seconds)
        except Untrusted:
            raise
        except Unreachable as error:
            raise Unreachable(
                f"the API server at {self._server} has not answered within {self.answer_seconds:g} s, and nothing was "
                f"changed: is it stopped, frozen or overloaded? ({error})"
            ) from error
        self._greeted = True
