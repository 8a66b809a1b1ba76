"""Reading a whole answer, up to a bound on its unpacked size.

A few bytes of compressed text can open to any number. So it is opened piece by piece, with a turn for others after
each, and no further than to the bound.
"""

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterable, Mapping

from kubeapi.errors import TooLarge, Undecodable
from kubeclient.bounds import MiB

PIECE_BYTES = MiB
PACKED_PIECE_BYTES = 64 * 1024
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
_PACKED, _PLAIN = ("gzip", "x-gzip", "deflate"), ("identity", "")


def encoding_of(headers: Mapping[str, str], what: str) -> str:
    """Empty for an answer as it is; `what` was asked. Raises: Undecodable for an encoding that nobody has asked for."""
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding in _PLAIN:
        return ""
    if encoding not in _PACKED:
        raise Undecodable(f"{what}: answered with the encoding {encoding[:40]!r}")
    return encoding


async def read_bounded(chunks: AsyncIterable[bytes], encoding: str, most: int, what: str) -> bytes:
    """Raises: TooLarge for more than `most` bytes, and Undecodable."""
    pieces: list[bytes] = []
    size = 0
    async for piece in _unpacked(chunks, what) if encoding else chunks:
        pieces.append(piece)
        size += len(piece)
        if size > most:
            raise TooLarge(f"{what}: the answer is longer than {most / MiB:g} MiB")
    return b"".join(pieces)


async def sliced(body: bytes) -> AsyncGenerator[bytes, None]:
    """Pieces of a packed body, each of which opens to a bounded number of bytes."""
    for start in range(0, len(body), PACKED_PIECE_BYTES):
        yield body[start : start + PACKED_PIECE_BYTES]


async def _unpacked(chunks: AsyncIterable[bytes], what: str) -> AsyncGenerator[bytes, None]:
    opening = zlib.decompressobj(_GZIP_OR_ZLIB)
    async for chunk in chunks:
        while chunk:
            try:
                yield opening.decompress(chunk, PIECE_BYTES)
            except zlib.error as error:
                raise Undecodable(f"{what}: not unpacked: {error}") from error
            chunk = opening.unconsumed_tail
            await asyncio.sleep(0)
    if not opening.eof:
        raise Undecodable(f"{what}: the answer breaks off")
