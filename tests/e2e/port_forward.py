"""`kubectl port-forward`: each connection to a port of a Pod is a pair of SPDY streams, one for data, one for errors.

Over a WebSocket whose messages are pieces of SPDY (`SPDY/3.1+portforward.k8s.io`), or after an upgrade to SPDY itself.
A port that a container declares answers every HTTP request with a page that says which Pod it is; others refuse.

Kubernetes: k8s.io/apimachinery/pkg/util/portforward.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, field

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.transport import Request
from kubeapi.unstructured import list_at
from kubecluster.rules.references import all_containers
from kubecluster.spdy import Opened, Pinged, Received, Reset, SpdyConnection, SpdyError, SpdyEvent, data_frame
from kubeserver import errors
from kubeserver.handler import StreamResponse, WayBack

TUNNEL = "SPDY/3.1+portforward.k8s.io"
UPGRADE, PROTOCOL = "SPDY/3.1", "portforward.k8s.io"
MAX_HEAD_BYTES = 64 * 1024
MAX_STREAMS = 1_000
MAX_WAITING = 256
"""Pieces that the client has not taken yet."""
_END_OF_HEAD = b"\r\n\r\n"


def forward_ports(pod: Manifest, request: Request) -> StreamResponse:
    """Raises: Refused."""
    offered = [part.strip() for part in request.headers.get("sec-websocket-protocol", "").split(",")]
    wanted = request.headers.get("upgrade", "").lower()
    forwarding = PortForwarding(pod)
    if wanted == "websocket" and TUNNEL in offered:
        return StreamResponse(forwarding.pieces(), way_back=WayBack(forwarding.take, TUNNEL))
    if wanted == UPGRADE.lower():
        headers = {"x-stream-protocol-version": PROTOCOL}
        return StreamResponse(forwarding.pieces(), headers=headers, way_back=WayBack(forwarding.take, "", UPGRADE))
    raise errors.bad_request(f"Upgrade to {UPGRADE}, or to a WebSocket with the protocol {TUNNEL}, is required")


def served_ports(pod: ReadOnlyManifest) -> frozenset[int]:
    """Ports that the Pod's containers declare."""
    return frozenset(p["containerPort"] for c in all_containers(pod) for p in list_at(c, "ports"))


@dataclass(slots=True)
class _Connection:
    """Connection to a port, with what it has sent as long as that is not answered."""

    port: int
    error_stream: int
    request: bytearray = field(default_factory=bytearray)


class PortForwarding:
    """Port forwarding to one Pod, for one client."""

    def __init__(self, pod: Manifest) -> None:
        self._pod = pod
        self._ports = served_ports(pod)
        self._spdy = SpdyConnection()
        self._error_streams: dict[str, int] = {}
        self._connections: dict[int, _Connection] = {}
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue(MAX_WAITING)

    async def take(self, data: bytes) -> None:
        """Takes what the client has sent; ends the conversation when that is no SPDY."""
        try:
            for event in self._spdy.receive(data):
                for piece in self._answer(event):
                    await self._pieces.put(piece)
        except SpdyError:
            await self._pieces.put(None)

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        while (piece := await self._pieces.get()) is not None:
            yield piece

    def _answer(self, event: SpdyEvent) -> Iterator[bytes]:
        match event:
            case Opened(stream, headers):
                yield self._spdy.accept(stream)
                yield from self._open(stream, headers)
            case Received(stream, data, is_last):
                yield from self._receive(stream, data, is_last)
            case Reset(stream):
                self._connections.pop(stream, None)
            case Pinged(answer):
                yield answer

    def _open(self, stream: int, headers: Mapping[str, str]) -> Iterator[bytes]:
        request_id, port = headers.get("requestid", ""), headers.get("port", "")
        if headers.get("streamtype") == "error" and len(self._error_streams) < MAX_STREAMS:
            self._error_streams[request_id] = stream
            return
        error_stream = self._error_streams.pop(request_id, 0)
        if not port.isdecimal() or int(port) not in self._ports or len(self._connections) >= MAX_STREAMS:
            metadata = self._pod["metadata"]
            where = f"error forwarding port {port} to pod {metadata['name']}, uid {metadata['uid']}"
            yield data_frame(error_stream, f"{where}: connect: connection refused".encode(), is_last=True)
            yield data_frame(stream, b"", is_last=True)
        else:
            self._connections[stream] = _Connection(int(port), error_stream)

    def _receive(self, stream: int, data: bytes, is_last: bool) -> Iterator[bytes]:
        connection = self._connections.get(stream)
        if connection is None:
            return
        connection.request += data
        if _END_OF_HEAD in connection.request:
            yield data_frame(stream, self._page(connection.port), is_last=True)
        elif is_last or len(connection.request) > MAX_HEAD_BYTES:
            yield data_frame(stream, b"", is_last=True)
        else:
            return
        yield data_frame(connection.error_stream, b"", is_last=True)
        del self._connections[stream]

    def _page(self, port: int) -> bytes:
        metadata = self._pod["metadata"]
        body = f"Pod {metadata['namespace']}/{metadata['name']}, port {port} (simulated)\n".encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close"
        return head.encode() + _END_OF_HEAD + body
