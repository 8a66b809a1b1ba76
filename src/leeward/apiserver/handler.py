"""The seam between the API server and its two ways in: a request and a user go in, an answer or a stream comes out."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from leeward.client.transport import Request, Response


@dataclass(frozen=True, slots=True)
class User:
    """Who asks."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""


ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))
ADMIN_GROUP = "system:masters"


@dataclass(frozen=True, slots=True)
class StreamResponse:
    """An answer with code 200 that goes on until `lines` ends. Close it with `lines.aclose()`."""

    lines: AsyncIterator[bytes]
    content_type: str = "application/json"


class Handler(Protocol):
    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        """Answers one request; errors are answers, too. `user` is ANONYMOUS when no credential was shown."""
        ...
