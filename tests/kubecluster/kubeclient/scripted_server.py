"""A server that says, byte for byte, what it is told to: on whatever connection, to whatever it is asked."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from kubeclient.bounds import Bounds
from kubeclient.http import HttpTransport
from tests.kubeserver.echo import SkippingLoop

CLOSE = b""
"""Said instead of an answer: the connection ends."""
HANG = b"hang"
SMALL = Bounds(body=1000, line=1000)


@dataclass
class ScriptedServer:
    """`said` are the answers in their order; `ends`: the connection is closed after each."""

    said: list[bytes] = field(default_factory=list[bytes])
    ends: bool = False
    heads: list[bytes] = field(default_factory=list[bytes])
    bodies: list[bytes] = field(default_factory=list[bytes])
    connections: int = 0
    most_at_once: int = 0
    at_once: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    quiet: asyncio.Event = field(default_factory=asyncio.Event)
    """Nobody is connected."""

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.quiet.clear()
        try:
            while self.said:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                self.asked.set()
                self.bodies.append(await reader.readexactly(_length_of(head)))
                answer = self.said.pop(0)
                if answer == CLOSE:
                    return
                if answer != HANG:
                    writer.write(answer)
                    await writer.drain()
                if self.ends:
                    return
            await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            self.at_once -= 1
            if not self.at_once:
                self.quiet.set()
            writer.close()


def _length_of(head: bytes) -> int:
    lines = [line.partition(b":") for line in head.lower().split(b"\r\n")]
    return next((int(value) for name, _, value in lines if name == b"content-length"), 0)


def talk(
    server: ScriptedServer, story: Callable[[HttpTransport], Awaitable[None]], bounds: Bounds = SMALL, **options: Any
) -> None:
    """Plays a story with a client of that server."""

    async def main() -> None:
        listening = await asyncio.start_server(server.converse, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        transport = HttpTransport(f"http://127.0.0.1:{port}", bounds=bounds, **options)
        try:
            await story(transport)
        finally:
            await transport.close()
            listening.close()
            if server.connections:
                await server.quiet.wait()

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        runner.run(main())
