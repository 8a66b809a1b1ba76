"""The client's way in without a network: a transport that calls the handler of an API server in the same process.

Requests and answers are the same bytes as over HTTP, so that a controller cannot tell the difference.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from kubeapi.errors import Unreachable
from kubeapi.retry_after import error_of_answer
from kubeapi.transport import Request, Response, split_lines
from kubeserver.handler import ADMIN_GROUP, Handler, StreamResponse, User

ADMIN = User("admin", (ADMIN_GROUP, "system:authenticated"))


class InProcessTransport:
    """Carries requests to `server` as `user`. Every request lets other tasks run at least once."""

    def __init__(self, server: Handler, user: User = ADMIN) -> None:
        self._server = server
        self._user = user

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        """Raises: Unreachable when there was no answer in time."""
        try:
            async with asyncio.timeout(timeout_seconds):
                answer = await self._ask(request)
        except TimeoutError:
            raise Unreachable(f"{request.method} {request.path}: no answer within {timeout_seconds:g} s") from None
        return answer if isinstance(answer, Response) else await _collect(answer, timeout_seconds)

    async def carry(self, request: Request, timeout_seconds: float) -> Response:
        """Carries a request as `send`, where the caller watches over the deadline already."""
        answer = await self._ask(request)
        return answer if isinstance(answer, Response) else await _collect(answer, timeout_seconds)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[bytes], None]:
        """Raises: ApiError for an answer of 400 and above."""
        answer = await self._ask(request)
        if isinstance(answer, Response):
            if answer.code >= 400:
                raise error_of_answer(answer.code, answer.body, answer.headers)
            yield _lines(answer.body)
            return
        lines = answer.lines if answer.line_end else split_lines(answer.lines)
        try:
            yield lines
        finally:
            await _close(lines)
            await _close(answer.lines)

    async def _ask(self, request: Request) -> Response | StreamResponse:
        await asyncio.sleep(0)
        return await self._server.handle(request, self._user)

    async def close(self) -> None:
        """Closes nothing: there is nothing to let go of."""


async def _collect(answer: StreamResponse, timeout_seconds: float) -> Response:
    """A stream that was not asked for as one: what it says within the deadline."""
    lines: list[bytes] = []
    try:
        async with asyncio.timeout(timeout_seconds):
            async for line in answer.lines:
                lines.append(line)
    except TimeoutError:
        raise Unreachable(f"the stream did not end within {timeout_seconds:g} s") from None
    finally:
        await _close(answer.lines)
    body = answer.line_end.join(lines)
    return Response(answer.code, body, {**answer.headers, "content-type": answer.content_type})


async def _lines(body: bytes) -> AsyncGenerator[bytes, None]:
    for line in body.splitlines():
        yield line


async def _close(lines: AsyncIterator[bytes]) -> None:
    if isinstance(lines, AsyncGenerator):
        await lines.aclose()
