"""The SPDY protocol of exec and attach: a stream each for stdin, stdout, stderr, the size of the terminal, and the end.

What kubectl before 1.31 speaks, karmadactl before 1.12, and whoever sets KUBECTL_REMOTE_COMMAND_WEBSOCKETS=false. The
client opens the streams, and says of each in the header `streamType` what it is for; what runs waits for those that the
request names.

Kubernetes: k8s.io/apimachinery/pkg/util/remotecommand; `v4.channel.k8s.io`, which clients speak since 1.4.
"""

import asyncio

from kubeapi.codec import encode
from kubeapi.loop import Supervisor
from kubeapi.meta import Manifest
from kubeapi.transport import Request
from kubecluster.channels import ERROR, PROTOCOLS, STDERR, STDIN, STDOUT, Channels
from kubecluster.spdy import Opened, Pinged, Received, Reset, SpdyConnection, SpdyError, SpdyEvent, data_frame
from kubeserver import errors
from kubeserver.handler import StreamResponse, WayBack

UPGRADE, SPDY_PROTOCOL = "SPDY/3.1", "v4.channel.k8s.io"
PROTOCOL_HEADER = "x-stream-protocol-version"
OPENING_SECONDS = 30.0
"""Seconds that a client may take to open its streams, as with a kubelet."""
LINGER_SECONDS = 5.0
"""Seconds for which a connection waits for the client to end it: who has read all does. Clients throw away what they
have not read where it ends before."""
MOST_STREAMS = 5
_CHANNELS = {"stdin": STDIN, "stdout": STDOUT, "stderr": STDERR, "error": ERROR}


class SpdyChannels(Channels):
    """One conversation over SPDY, with the channels that are `wanted`."""

    def __init__(self, wanted: frozenset[int]) -> None:
        super().__init__(SPDY_PROTOCOL)
        self._wanted = wanted
        self._spdy = SpdyConnection()
        self._streams: dict[int, int] = {}
        """Streams that the client has opened, by channel."""
        self._opened = 0
        self._are_open = asyncio.Event()

    def answer(self, work: Supervisor) -> StreamResponse:
        headers = {PROTOCOL_HEADER: self._protocol}
        return StreamResponse(self._messages(work), headers=headers, way_back=WayBack(self._take, "", UPGRADE))

    async def wait_ready(self) -> bool:
        """Returns when the client has opened its streams."""
        try:
            async with asyncio.timeout(OPENING_SECONDS):
                await self._are_open.wait()
        except TimeoutError:
            await self._output.put(None)
        return self._are_open.is_set()

    async def write(self, channel: int, data: bytes) -> None:
        """Writes to a channel; to one that the client has not opened, nothing is written."""
        if data and channel in self._streams:
            await self._output.put(data_frame(self._streams[channel], data))

    async def end(self, status: Manifest) -> None:
        await self.write(ERROR, encode(status))
        for stream in self._streams.values():
            await self._output.put(data_frame(stream, b"", is_last=True))
        await asyncio.sleep(LINGER_SECONDS)
        await self._output.put(None)

    async def _take(self, message: bytes) -> None:
        """Ends the conversation when that is no SPDY."""
        try:
            for event in self._spdy.receive(message):
                await self._act(event)
        except SpdyError:
            await self._output.put(None)

    async def _act(self, event: SpdyEvent) -> None:
        """Raises: SpdyError."""
        match event:
            case Opened(stream, headers):
                await self._open(stream, headers.get("streamtype", ""))
            case Received(stream, data, is_last) if stream == self._streams.get(STDIN):
                if data:
                    await self._input.put(data)
                if is_last:
                    await self._input.put(None)
            case Reset(stream) if stream == self._streams.get(STDIN):
                await self._input.put(None)
            case Pinged(answer):
                await self._output.put(answer)
            case _:
                pass

    async def _open(self, stream: int, what: str) -> None:
        """Raises: SpdyError for more streams than there are channels."""
        self._opened += 1
        if self._opened > MOST_STREAMS:
            raise SpdyError(f"more than {MOST_STREAMS} streams")
        await self._output.put(self._spdy.accept(stream))
        if (channel := _CHANNELS.get(what)) is not None:
            self._streams.setdefault(channel, stream)
        if self._wanted <= self._streams.keys():
            self._are_open.set()


def channels_for(request: Request) -> Channels:
    """Channels in the protocol that both sides speak. Raises: Refused."""
    wanted = request.headers.get("upgrade", "").lower()
    if wanted == "websocket" and (spoken := _agreed(request, "sec-websocket-protocol", PROTOCOLS)):
        return Channels(spoken)
    if wanted == UPGRADE.lower() and _agreed(request, PROTOCOL_HEADER, (SPDY_PROTOCOL,)):
        return SpdyChannels(_wanted(request))
    websockets = f"a WebSocket with one of the protocols {', '.join(PROTOCOLS)}"
    raise errors.bad_request(f"Upgrade to {websockets}, or to {UPGRADE} with {SPDY_PROTOCOL}, is required")


def _agreed(request: Request, header: str, spoken: tuple[str, ...]) -> str:
    """First protocol that is offered of those that are spoken here; empty when none is."""
    offered = [part.strip() for part in request.headers.get(header, "").replace("\n", ",").split(",")]
    return next((protocol for protocol in spoken if protocol in offered), "")


def _wanted(request: Request) -> frozenset[int]:
    """A terminal has its errors among the output."""
    asked = {name for name in ("stdin", "stdout", "stderr") if request.query.get(name) in ("true", "1")}
    if request.query.get("tty") in ("true", "1"):
        asked.discard("stderr")
    return frozenset({ERROR, *(_CHANNELS[name] for name in asked)})
