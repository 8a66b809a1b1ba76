"""Last words of a command are told, though it took no more input: it may end before all of that has come."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

import aiohttp
import pytest

from kubeapi.errors import Unreachable
from kubeapi.transport import Request, Response
from kubeserver.auth.authentication import Authenticator
from kubeserver.handler import StreamResponse, User, WayBack
from kubeserver.http.front import HttpFront

PATIENCE_SECONDS = 60.0
LAST_WORDS = (b"typed", b"ended")


class Ended:
    """A command that takes no input any more, and whose output comes when it is told so."""

    def __init__(self, upgrade: str) -> None:
        self._upgrade = upgrade
        self._refused = asyncio.Event()

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        return StreamResponse(self._output(), line_end=b"", way_back=WayBack(self._take, "", self._upgrade))

    async def _take(self, message: bytes) -> None:
        self._refused.set()
        raise Unreachable("it has ended")

    async def _output(self) -> AsyncGenerator[bytes, None]:
        await self._refused.wait()
        for words in LAST_WORDS:
            await asyncio.sleep(0)
            yield words


async def over_a_websocket(port: int) -> bytes:
    async with aiohttp.ClientSession() as session, session.ws_connect(f"http://127.0.0.1:{port}/exec") as socket:
        await socket.send_bytes(b"input")
        return b"".join([message.data async for message in socket])


async def over_an_upgrade(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"POST /exec HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"input")
    said = await reader.read()
    writer.close()
    return said


@pytest.mark.parametrize(("speak", "upgrade"), [(over_a_websocket, ""), (over_an_upgrade, "SPDY/3.1")])
def test_the_last_words_of_what_takes_no_more_are_told(speak: Callable[[int], Awaitable[bytes]], upgrade: str) -> None:
    async def story() -> None:
        front = HttpFront(Ended(upgrade), Authenticator({}), None)
        port = await front.start()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                assert await speak(port) == b"".join(LAST_WORDS)
        finally:
            await front.stop()

    asyncio.run(story())
