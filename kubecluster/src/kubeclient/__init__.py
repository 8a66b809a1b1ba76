"""The client of a Kubernetes API: typed requests over a transport, kubeconfig, and one tree of errors.

`Client` knows paths, bodies and errors; a `Transport` only carries bytes: `HttpTransport` to any API server, the
embedded API server's own in its process. Others wrap one of these: `LimitedTransport`, `ProxiedTransport`,
`PreflightTransport`, `UpdatingTransport`, `ReplaceableTransport`. Whoever holds a `Client` cannot tell which it has.

Never caches. What failed is tried again by `leeward.runtime`. But a request that the server puts off (429), which was
not carried out, is sent again when the server wants it (`patience.py`); controllers, which have queues, have no such
patience. A read is asked once more where an idle connection was closed just then (`http.py`), and an update that stands
for a refused patch where another write came between (`updating.py`).
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
from kubeclient.bounds import MEMBER_BOUNDS, Bounds, MiB
from kubeclient.client import Client
from kubeclient.decoding import Page, WatchEvent
from kubeclient.limits import RequestPace, limited, paced
from kubeclient.listing import all_of, every
from kubeclient.patience import IMPATIENT, PATIENT, Patience

__all__ = [
    "IMPATIENT",
    "MEMBER_BOUNDS",
    "PATIENT",
    "AlreadyExists",
    "ApiError",
    "Bounds",
    "Client",
    "Conflict",
    "Expired",
    "Forbidden",
    "Invalid",
    "MiB",
    "NotFound",
    "NotServed",
    "Page",
    "Patience",
    "Request",
    "RequestPace",
    "Response",
    "TooManyRequests",
    "Transport",
    "Unauthorized",
    "Undecodable",
    "Unreachable",
    "WatchEvent",
    "WorldError",
    "all_of",
    "every",
    "limited",
    "paced",
]
