"""Transports of tests: one that answers everything with an empty object and notes it, and one that answers nothing."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

from kubeclient import Request, Response, Unreachable


class Sent:
    def __init__(self) -> None:
        self.methods: list[str] = []
        self.instants: list[float] = []

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        self.methods.append(request.method)
        self.instants.append(asyncio.get_running_loop().time())
        return Response(200, b"{}")

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise NotImplementedError("nothing is watched")

    async def close(self) -> None:
        """Nothing to let go of."""


class Deaf:
    """A way to a control plane that refuses connections, or never answers."""

    def __init__(self, *, hangs: bool) -> None:
        self._hangs = hangs

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        if self._hangs:
            await asyncio.Event().wait()
        raise Unreachable("connection refused")

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        raise NotImplementedError("nothing is watched")

    async def close(self) -> None:
        pass
