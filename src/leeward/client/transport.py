"""The port below the client: it carries one request to an API server and brings the answer, or a stream of lines."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec


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
