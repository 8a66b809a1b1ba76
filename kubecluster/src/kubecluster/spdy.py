"""SPDY/3.1 as kubectl speaks it: frames of many streams over one connection. Reads and writes no network itself.

Of the protocol there is what streams need that a client opens: their headers, data, ends and resets, and pings. Windows
are not kept, as the clients of Kubernetes do not keep them; what arrives is bounded by whoever reads it.

The draft: https://www.chromium.org/spdy/spdy-protocol/spdy-protocol-draft3-1
"""

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

MAX_FRAME_BYTES = 1024 * 1024
MAX_HEADERS_BYTES = 16 * 1024
_CONTROL, _VERSION = 0x8000, 3
_FIN = 1
_HEAD = struct.Struct(">HHI")
_SPELLED = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status"
)
_WORDS = (*_SPELLED.split(), "200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin")
_TAIL = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden"
    "404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,text/javascript,"
    "publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
DICTIONARY = b"".join(struct.pack(">I", len(word)) + word.encode() for word in _WORDS) + _TAIL.encode()
"""Dictionary by which both sides compress headers: a constant of the protocol."""


class SpdyError(Exception):
    """The client has sent bytes that are not SPDY."""


class _Type(IntEnum):
    """Types of frames that are acted upon; others are passed over."""

    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    PING = 6
    HEADERS = 8


@dataclass(frozen=True, slots=True)
class Opened:
    """The client opens a stream; header names are in lower case."""

    stream: int
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Received:
    """Data of a stream; `is_last` when there will be no more."""

    stream: int
    data: bytes
    is_last: bool


@dataclass(frozen=True, slots=True)
class Reset:
    """The client has given a stream up."""

    stream: int


@dataclass(frozen=True, slots=True)
class Pinged:
    """`answer` is to be sent back."""

    answer: bytes


SpdyEvent = Opened | Received | Reset | Pinged


class SpdyConnection:
    """The server's side of one connection."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)
        self._deflate = zlib.compressobj(9, zdict=DICTIONARY)

    def receive(self, data: bytes) -> Iterator[SpdyEvent]:
        """Events that these bytes have brought. Raises: SpdyError."""
        self._kept += data
        while len(self._kept) >= _HEAD.size:
            first, second, rest = _HEAD.unpack_from(self._kept)
            flags, size = rest >> 24, rest & 0xFFFFFF
            if size > MAX_FRAME_BYTES:
                raise SpdyError(f"a frame of {size} bytes; {MAX_FRAME_BYTES} are the most")
            if len(self._kept) < _HEAD.size + size:
                return
            payload = bytes(self._kept[_HEAD.size : _HEAD.size + size])
            del self._kept[: _HEAD.size + size]
            if not first & _CONTROL:
                yield Received(first << 16 | second, payload, bool(flags & _FIN))
            else:
                yield from self._control(second, flags, payload)

    def accept(self, stream: int) -> bytes:
        """The answer to a stream that was opened."""
        block = self._deflate.compress(struct.pack(">I", 0)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return _control_frame(_Type.SYN_REPLY, struct.pack(">I", stream) + block)

    def _control(self, kind: int, flags: int, payload: bytes) -> Iterator[SpdyEvent]:
        try:
            if kind == _Type.SYN_STREAM:
                stream = struct.unpack_from(">I", payload)[0] & 0x7FFFFFFF
                yield Opened(stream, self._headers(payload[10:]))
                if flags & _FIN:
                    yield Received(stream, b"", True)
            elif kind == _Type.HEADERS:
                self._headers(payload[4:])
            elif kind == _Type.RST_STREAM:
                yield Reset(struct.unpack_from(">I", payload)[0] & 0x7FFFFFFF)
            elif kind == _Type.PING:
                yield Pinged(_control_frame(_Type.PING, payload))
        except (struct.error, zlib.error) as error:
            raise SpdyError(f"a frame of type {kind} cannot be read: {error}") from error

    def _headers(self, block: bytes) -> dict[str, str]:
        text = self._inflate.decompress(block, MAX_HEADERS_BYTES)
        if self._inflate.unconsumed_tail:
            raise SpdyError(f"headers of more than {MAX_HEADERS_BYTES} bytes")
        count, position = struct.unpack_from(">I", text)[0], 4
        headers: dict[str, str] = {}
        for _ in range(min(count, MAX_HEADERS_BYTES)):
            name, position = _text(text, position)
            headers[name.lower()], position = _text(text, position)
        return headers


def data_frame(stream: int, data: bytes, is_last: bool = False) -> bytes:
    return _HEAD.pack(stream >> 16, stream & 0xFFFF, (_FIN if is_last else 0) << 24 | len(data)) + data


def _control_frame(kind: _Type, payload: bytes) -> bytes:
    return _HEAD.pack(_CONTROL | _VERSION, kind, len(payload)) + payload


def _text(data: bytes, position: int) -> tuple[str, int]:
    size = struct.unpack_from(">I", data, position)[0]
    end = position + 4 + size
    if end > len(data):
        raise SpdyError("a header goes beyond its block")
    return data[position + 4 : end].decode("latin-1"), end
