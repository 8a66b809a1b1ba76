"""Differences, on purpose, between the embedded API server's answers and those of the recorded kube-apiserver.

A difference is a rule about the request and the place in the answer, never the name of a conversation, and has its
reason beside it.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Request = Mapping[str, Any]


class Difference(NamedTuple):
    """`request` says which requests; `place` is the beginning of the differing places."""

    reason: str
    request: Callable[[Request], bool]
    place: str


def _is_root(request: Request) -> bool:
    return request["method"] == "GET" and request["path"] == "/"


DIFFERENCES = (
    Difference(
        "GET / lists what is served: this server has health checks of its own, and none for the hooks of a program "
        "in Go, nor paths for its flags",
        _is_root,
        "body.paths",
    ),
)


def is_on_purpose(request: Request, found: str) -> bool:
    return any(known.request(request) and found.startswith(known.place) for known in DIFFERENCES)
