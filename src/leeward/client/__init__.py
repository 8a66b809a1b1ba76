"""The client of a Kubernetes API: typed requests over a transport, kubeconfig, and one tree of errors.

`Client` knows paths, bodies and errors; a `Transport` only carries bytes. There are two transports: `HttpTransport`
(any API server) and the embedded API server's in-process one. Whoever holds a `Client` cannot tell which it has.

Never caches, never retries: that is the business of `leeward.runtime`.
"""

from kubeapi.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NotFound,
    NotServed,
    TooManyRequests,
    Unauthorized,
    Undecodable,
    Unreachable,
    WorldError,
)
from kubeapi.transport import Request, Response, Transport
from leeward.client.client import Client, Page, WatchEvent

__all__ = [
    "AlreadyExists",
    "ApiError",
    "Client",
    "Conflict",
    "Expired",
    "Forbidden",
    "Invalid",
    "NotFound",
    "NotServed",
    "Page",
    "Request",
    "Response",
    "TooManyRequests",
    "Transport",
    "Unauthorized",
    "Undecodable",
    "Unreachable",
    "WatchEvent",
    "WorldError",
]
