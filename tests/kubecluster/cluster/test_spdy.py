"""SPDY as the server's side reads it, against a client that is written here, and the ports of a Pod behind it."""

import asyncio
import struct
import zlib

import pytest

from kubeapi.transport import Request
from kubecluster.spdy import (
    DICTIONARY,
    MAX_FRAME_BYTES,
    Opened,
    Pinged,
    Received,
    Reset,
    SpdyConnection,
    SpdyError,
    data_frame,
)
from tests.e2e.port_forward import TUNNEL, forward_ports, served_ports
from tests.kubecluster.cluster.manifests import pod


class Client:
    """Writes frames, and reads the server's."""

    def __init__(self) -> None:
        self._deflate = zlib.compressobj(9, zdict=DICTIONARY)
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)

    def open(self, stream: int, flags: int = 0, **headers: str) -> bytes:
        text = struct.pack(">I", len(headers))
        for name, value in headers.items():
            text += struct.pack(">I", len(name)) + name.encode() + struct.pack(">I", len(value)) + value.encode()
        block = self._deflate.compress(text) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return control(1, struct.pack(">IIH", stream, 0, 0) + block, flags)

    def read(self, frame: bytes) -> tuple[int, bytes, bool]:
        """Gives of a data frame its stream, data and whether it is the last; of a reply its stream and headers."""
        first, second, rest = struct.unpack_from(">HHI", frame)
        assert len(frame) == 8 + (rest & 0xFFFFFF)
        if first & 0x8000:
            assert (first, second) == (0x8003, 2)
            return struct.unpack_from(">I", frame, 8)[0], self._inflate.decompress(frame[12:]), False
        return first << 16 | second, frame[8:], bool(rest >> 24 & 1)


def control(kind: int, payload: bytes, flags: int = 0) -> bytes:
    return struct.pack(">HHI", 0x8003, kind, flags << 24 | len(payload)) + payload


def test_the_dictionary_is_that_of_the_protocol() -> None:
    assert (len(DICTIONARY), zlib.adler32(DICTIONARY)) == (1423, 0xE3C6A7C2)


def test_frames_are_read_however_they_are_cut() -> None:
    client = Client()
    sent = client.open(1, streamType="error", Port="80") + client.open(3, flags=1)
    sent += data_frame(1, b"hello") + data_frame(70000, b"", is_last=True)
    sent += control(3, struct.pack(">II", 3, 5)) + control(6, b"ping") + control(4, b"ignored")
    wanted = [
        Opened(1, {"streamtype": "error", "port": "80"}),
        Opened(3, {}),
        Received(3, b"", True),
        Received(1, b"hello", False),
        Received(70000, b"", True),
        Reset(3),
        Pinged(control(6, b"ping")),
    ]
    assert list(SpdyConnection().receive(sent)) == wanted
    client, piecewise = Client(), SpdyConnection()
    assert [event for byte in sent for event in piecewise.receive(bytes([byte]))] == wanted


@pytest.mark.parametrize(
    "sent",
    [
        struct.pack(">HHI", 0, 1, MAX_FRAME_BYTES + 1),
        control(1, b"short"),
        control(1, bytes(10) + b"no zlib"),
        Client().open(1, huge="x" * 100_000),
    ],
)
def test_what_is_no_spdy_or_too_large_is_refused(sent: bytes) -> None:
    with pytest.raises(SpdyError):
        list(SpdyConnection().receive(sent))


WEB = pod("web-0", spec={"containers": [{"name": "main", "ports": [{"containerPort": 80}]}]})


async def forwarded(*sent: bytes, pieces: int) -> list[bytes]:
    """Frames that come back to a client that sends this."""
    headers = {"upgrade": "websocket", "sec-websocket-protocol": f"other, {TUNNEL}"}
    answer = forward_ports(WEB, Request("GET", "/", headers=headers))
    assert answer.way_back is not None
    assert (answer.way_back.protocol, answer.way_back.upgrade) == (TUNNEL, "")
    for data in sent:
        await answer.way_back.send(data)
    lines = aiter(answer.lines)
    return [await anext(lines) for _ in range(pieces)]


def test_a_port_that_is_declared_answers_with_the_name_of_its_pod() -> None:
    assert served_ports(WEB) == {80}
    client = Client()
    opened = client.open(1, streamtype="error", port="80", requestid="0")
    opened += client.open(3, streamtype="data", port="80", requestid="0")
    got = asyncio.run(forwarded(opened, data_frame(3, b"GET / HT"), data_frame(3, b"TP/1.1\r\n\r\n"), pieces=4))
    accepted, page, end = [client.read(frame) for frame in got[:2]], client.read(got[2]), client.read(got[3])
    assert accepted == [(1, bytes(4), False), (3, bytes(4), False)]
    assert (page[0], page[2], end) == (3, True, (1, b"", True))
    head, body = page[1].split(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert body == b"Pod default/web-0, port 80 (simulated)\n"


def test_another_port_refuses_and_says_so_on_the_stream_of_errors() -> None:
    client = Client()
    opened = client.open(1, streamtype="error", port="81", requestid="0")
    opened += client.open(3, streamtype="data", port="81", requestid="0")
    got = [client.read(frame) for frame in asyncio.run(forwarded(opened, pieces=4))]
    said = b"error forwarding port 81 to pod web-0, uid uid-web-0: connect: connection refused"
    assert got[2:] == [(1, said, True), (3, b"", True)]
