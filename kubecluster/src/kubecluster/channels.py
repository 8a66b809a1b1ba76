"""The WebSocket protocol of exec and attach: the first byte of a message says which stream the rest belongs to.

    0 stdin   1 stdout   2 stderr   3 error (how it has ended, a Status)   4 size of the terminal   255 end of a stream

Kubernetes: k8s.io/apimachinery/pkg/util/remotecommand; `v5.channel.k8s.io`, and `v4` without the end of a stream.
"""

import asyncio
from collections.abc import AsyncGenerator

from kubeapi.codec import encode
from kubeapi.loop import Supervisor
from kubeapi.meta import Manifest
from kubeserver.handler import StreamResponse, WayBack

PROTOCOLS = ("v5.channel.k8s.io", "v4.channel.k8s.io")
STDIN, STDOUT, STDERR, ERROR, CLOSE = 0, 1, 2, 3, 255
MAX_WAITING = 256
"""Messages that one side has sent and the other has not taken."""
SUCCESS: Manifest = {"metadata": {}, "status": "Success"}


class Channels:
    """One conversation over a WebSocket. The command uses `write` and `end`, and `read` for its input."""

    def __init__(self, protocol: str) -> None:
        self._protocol = protocol
        self._output: asyncio.Queue[bytes | None] = asyncio.Queue(MAX_WAITING)
        self._input: asyncio.Queue[bytes | None] = asyncio.Queue(MAX_WAITING)

    def answer(self, work: Supervisor) -> StreamResponse:
        """The conversation as an answer; when the client has gone, `work` is closed."""
        return StreamResponse(self._messages(work), way_back=WayBack(self._take, self._protocol))

    async def wait_ready(self) -> bool:
        """False when the client has not done its part in time: the conversation is over."""
        return True

    async def write(self, channel: int, data: bytes) -> None:
        await self._output.put(bytes([channel]) + data)

    async def end(self, status: Manifest) -> None:
        """Ends the conversation; nothing may be written after that."""
        await self.write(ERROR, encode(status))
        await self._output.put(None)

    async def read(self) -> bytes | None:
        """Input that was typed next; None at the end."""
        return await self._input.get()

    async def _take(self, message: bytes) -> None:
        if message[:1] == bytes([STDIN]):
            await self._input.put(message[1:])
        elif message[:2] == bytes([CLOSE, STDIN]):
            await self._input.put(None)

    async def _messages(self, work: Supervisor) -> AsyncGenerator[bytes, None]:
        try:
            while (message := await self._output.get()) is not None:
                yield message
        finally:
            await work.close()


def failed(message: str, code: int = 500) -> Manifest:
    return {"metadata": {}, "status": "Failure", "message": message, "reason": "InternalError", "code": code}


def exited(code: int) -> Manifest:
    """Status with which a command ended that ran."""
    if code == 0:
        return SUCCESS
    return {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: exit status {code}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
    }
