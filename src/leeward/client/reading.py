"""Reading a whole answer, up to a bound on what it is when it is unpacked.

A few bytes of compressed text can open to any number. So it is opened piece by piece, with a turn for others after
each, and no further than to the bound.
"""

import asyncio
import zlib
from collections.abc import AsyncGenerator

import aiohttp

from kubeapi.errors import TooLarge, Undecodable
from leeward.client.bounds import MiB

PIECE_BYTES = MiB
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
_PACKED, _PLAIN = ("gzip", "x-gzip", "deflate"), ("identity", "")


async def read_bounded(answer: aiohttp.ClientResponse, most: int) -> bytes:
    """Raises: TooLarge for more than `most` bytes, and Undecodable; the connection is closed then."""
    pieces: list[bytes] = []
    size = 0
    async for piece in _unpacked(answer):
        pieces.append(piece)
        size += len(piece)
        if size > most:
            answer.close()
            raise TooLarge(f"{answer.method} {answer.url.path}: the answer is longer than {most / MiB:g} MiB")
    return b"".join(pieces)


def encoding_of(answer: aiohttp.ClientResponse) -> str:
    """Empty for an answer as it is. Raises: Undecodable for an encoding that nobody has asked for."""
    encoding = answer.headers.get("content-encoding", "").strip().lower()
    if encoding in _PLAIN:
        return ""
    if encoding not in _PACKED:
        answer.close()
        raise Undecodable(f"{answer.method} {answer.url.path}: answered with the encoding {encoding[:40]!r}")
    return encoding


async def _unpacked(answer: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    opening = zlib.decompressobj(_GZIP_OR_ZLIB) if encoding_of(answer) else None
    async for chunk in answer.content.iter_any():
        if opening is None:
            yield chunk
            continue
        while chunk:
            try:
                yield opening.decompress(chunk, PIECE_BYTES)
            except zlib.error as error:
                answer.close()
                raise Undecodable(f"{answer.method} {answer.url.path}: not unpacked: {error}") from error
            chunk = opening.unconsumed_tail
            await asyncio.sleep(0)
    if opening is not None and not opening.eof:
        raise Undecodable(f"{answer.method} {answer.url.path}: the answer breaks off")
