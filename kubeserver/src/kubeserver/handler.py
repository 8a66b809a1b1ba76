"""The seam between the API server and its two ways in: a request and a user go in, an answer or a stream comes out."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from kubeapi.transport import Request, Response


@dataclass(frozen=True, slots=True)
class User:
    """User who asks. `extra` is what the one who vouches for the user knows beyond: keys with their values."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def info(self) -> dict[str, Any]:
        """The user as an `authentication.k8s.io/v1` UserInfo; empty fields are left out."""
        extra = {key: list(values) for key, values in self.extra}
        info = {"username": self.name, "uid": self.uid, "groups": list(self.groups), "extra": extra}
        return {key: value for key, value in info.items() if value}


ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))
REJECTED = User("")
"""User who shows a credential that nobody vouches for. Refused whatever is asked, and told of as any other."""
ADMIN_GROUP = "system:masters"


@dataclass(frozen=True, slots=True)
class WayBack:
    """Way back to the client, which makes an answer a WebSocket: `send` gets each message of the client, `protocol` is
    what both agreed on.

    With an `upgrade`, such as SPDY/3.1, it is no WebSocket but that, of which nothing is known but the bytes.
    """

    send: Callable[[bytes], Awaitable[None]]
    protocol: str
    upgrade: str = ""


@dataclass(frozen=True, slots=True)
class StreamResponse:
    """An answer that goes on until `lines` ends. Close it with `lines.aclose()`.

    `line_end` follows each of them. It is empty where they are pieces: of several lines with their ends, as a watch has
    them, or of another server's answer, as they come.
    With a way back, each of them is a message, and the client speaks, too.
    """

    lines: AsyncIterator[bytes]
    content_type: str = "application/json"
    code: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    line_end: bytes = b"\n"
    way_back: WayBack | None = None


class Handler(Protocol):
    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        """Answers one request; errors are answers, too. `user` is ANONYMOUS when no credential was shown."""
        ...
