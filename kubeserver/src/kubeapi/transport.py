"""The port below the client: it carries one request to an API server and brings the answer, or a stream of lines."""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol
from urllib.parse import quote

import msgspec

from kubeapi.errors import TooLarge

MAX_LINE_BYTES = 16 * 1024 * 1024
"""Most bytes of one object in a stream: ten times what etcd takes."""
_PATH_SAFE = "/:@!$&'()*+,;=~"


class Request(msgspec.Struct, frozen=True):
    """One HTTP request. `path` is absolute and not escaped; header names are lower case."""

    method: str
    path: str
    query: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    body: bytes = b""
    query_string: str = ""
    """The query as it was received, still escaped, for those who pass it on: a key may be there twice."""


class Response(msgspec.Struct, frozen=True):
    """A whole answer of any code."""

    code: int
    body: bytes
    headers: Mapping[str, str] = {}


class Transport(Protocol):
    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        """Carries one request and returns the whole answer, errors of the API included.

        Raises: Unreachable when none came within `timeout_seconds`.
        """
        ...

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        """Opens an answer that is a stream of lines (a watch), without their line ends.

        The stream ends when the server ends it. Raises: ApiError for an answer of 400 and above; Unreachable when it
        cannot be opened, or breaks.
        """
        ...

    async def close(self) -> None:
        """Lets go of all connections."""
        ...


def escaped(path: str) -> str:
    """A path as it is written in a URL."""
    return quote(path, safe=_PATH_SAFE)


async def split_lines(
    chunks: AsyncIterable[bytes], max_line_bytes: int = MAX_LINE_BYTES
) -> AsyncGenerator[bytes, None]:
    """The lines of a stream of bytes, without their ends and without empty ones.

    Raises: TooLarge when one is longer than `max_line_bytes`.
    """
    parts: list[bytes] = []
    size = 0
    async for chunk in chunks:
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            parts.append(end)
            if line := b"".join(parts):
                yield line
            parts, size = [], 0
        parts.append(rest)
        size += len(rest)
        if size > max_line_bytes:
            raise TooLarge(f"a line of a stream is longer than {max_line_bytes} bytes")
    if line := b"".join(parts):
        yield line
