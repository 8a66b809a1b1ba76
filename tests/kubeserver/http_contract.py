"""Stories that hold for every HTTP client of the front, whoever wrote it, for the tests of each."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar

import pytest

from kubeapi.transport import Request, Response
from kubeserver.auth.authentication import Authenticator
from kubeserver.handler import User
from kubeserver.http import front as http_front
from kubeserver.http.front import HttpFront
from tests.kubeserver.echo import Echo, SkippingLoop

PATIENCE_SECONDS = 60
"""Ends what would hang."""


class HttpClient(Protocol):
    async def send(self, request: Request, *, timeout_seconds: float) -> Response: ...

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]: ...

    async def close(self) -> None: ...


C = TypeVar("C", bound=HttpClient)


def serve(
    connect: Callable[[str], C], story: Callable[[C], Awaitable[None]], handler: Echo | None = None, **options: Any
) -> None:
    """Plays a story with a client of a plain HTTP server, which knows alice by the token `secret`."""

    async def main() -> None:
        front = HttpFront(handler or Echo(), Authenticator({"secret": User("alice", ("dev",))}), None, **options)
        client = connect(f"http://127.0.0.1:{await front.start()}")
        try:
            await story(client)
        finally:
            await client.close()
            await front.stop()

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        runner.run(main())


async def ask(client: HttpClient, path: str = "/x", **fields: Any) -> tuple[int, dict[str, Any]]:
    response = await client.send(Request("GET", path, **fields), timeout_seconds=PATIENCE_SECONDS)
    return response.code, json.loads(response.body)


async def a_request_arrives_as_it_was_sent(client: HttpClient) -> None:
    path = "/apis/a b/ü%2Fc/:x"
    headers = {"content-type": "application/merge-patch+json", "X-Test": "yes"}
    request = Request("PATCH", path, {"labelSelector": "a in (b,c)", "x": "&=ü+ /"}, headers, b'{"a":1}')
    response = await client.send(request, timeout_seconds=PATIENCE_SECONDS)
    assert response.code == 201
    assert response.headers["warning"] == "299"
    assert json.loads(response.body) == {
        "method": "PATCH",
        "path": path,
        "query": {"labelSelector": "a in (b,c)", "x": "&=ü+ /"},
        "headers": {"content-type": "application/merge-patch+json", "x-test": "yes"},
        "body": '{"a":1}',
        "user": ["system:anonymous", "system:unauthenticated"],
    }


async def a_bearer_token_says_who_asks(client: HttpClient) -> None:
    """`client` shows the token `secret`."""
    assert (await ask(client))[1]["user"] == ["alice", "dev", "system:authenticated"]


async def a_stream_brings_lines_as_they_come_until_it_ends(client: HttpClient, echo: Echo) -> None:
    async with client.stream(Request("GET", "/watch")) as lines:
        for line in (b"one", b"two", b"x" * 5_000_000):
            echo.lines.put_nowait(line)
            assert await anext(lines) == line
        echo.lines.put_nowait(None)
        assert [line async for line in lines] == []


async def a_stream_that_breaks_off_is_an_error(client: HttpClient, echo: Echo, error: type[Exception]) -> None:
    """A broken stream does not look as if it had ended."""
    async with client.stream(Request("GET", "/watch")) as lines:
        echo.lines.put_nowait(b"one")
        assert await anext(lines) == b"one"
        echo.lines.put_nowait(ValueError("broken"))
        with pytest.raises(error):
            await anext(lines)


async def stopping_with_open_streams_ends_them_cleanly(
    connect: Callable[[str], HttpClient], error: type[Exception]
) -> None:
    """Streams that the front does not end itself are broken off in the end, which is no clean end."""
    front = HttpFront(Echo(), Authenticator(), None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(http_front, "STOP_TIMEOUT_SECONDS", PATIENCE_SECONDS)
        client = connect(f"http://127.0.0.1:{await front.start()}")
    try:
        async with (
            client.stream(Request("GET", "/watch")) as one,
            client.stream(Request("GET", "/watch")) as two,
        ):
            await front.stop()
            assert [line async for line in one] == [line async for line in two] == []
        with pytest.raises(error):
            await client.send(Request("GET", "/x"), timeout_seconds=PATIENCE_SECONDS)
    finally:
        await client.close()
        await front.stop()
