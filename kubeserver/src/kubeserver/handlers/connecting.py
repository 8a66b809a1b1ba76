"""Connect subresources: paths below an object that lead out of this server, to what the object stands for.

    /apis/{group}/{version}/{plural}/{name}/{subresource}/{anything}

Whoever composes the server says what is behind one (`ApiServer.connect`); who may go there is asked at the gate, as
for any other subresource. This module knows of no kind that has one.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from kubeapi.transport import Request, Response
from kubeserver.handler import StreamResponse, User

PROXY = "proxy"
_DEPTH = 6
"""Parts of a path up to and with the subresource."""


@dataclass(frozen=True, slots=True)
class ConnectRequest:
    """Request to connect to the object `name`, and who makes it. `path` begins with a slash; the request has all the
    rest.

    `resource` is the group, version and plural of the object.
    """

    resource: tuple[str, str, str]
    subresource: str
    name: str
    path: str
    request: Request
    user: User


Connect = Callable[[ConnectRequest], Awaitable[Response | StreamResponse]]
"""Answers, or raises Refused. Impersonation is done with: `user` is the one in whose name the request goes on."""


@dataclass(frozen=True, slots=True)
class Connects:
    """Table of the subresources that lead elsewhere: `clusters.cluster.karmada.io/proxy`."""

    known: dict[str, Connect]

    def find(self, request: Request, user: User) -> tuple[Connect, ConnectRequest] | None:
        """None for a path that stays within this server, and for one that the gate cuts in another way."""
        parts = request.path.split("/", _DEPTH + 1)[1:]
        if len(parts) < _DEPTH or parts[0] != "apis" or not all(parts[:_DEPTH]):
            return None
        _, group, version, plural, name, subresource, *rest = parts
        connect = self.known.get(key_of(group, plural, subresource))
        if connect is None:
            return None
        path = f"/{rest[0]}" if rest else "/"
        return connect, ConnectRequest((group, version, plural), subresource, name, path, request, user)


def key_of(group: str, plural: str, subresource: str) -> str:
    return f"{plural}.{group}/{subresource}"


def leads_out(path: str) -> bool:
    """Tells whether a path may lead out of the server, so that its answer takes as long as somebody else takes."""
    parts = path.split("/", _DEPTH + 1)
    return len(parts) > _DEPTH and parts[1] == "apis" and parts[_DEPTH] == PROXY
