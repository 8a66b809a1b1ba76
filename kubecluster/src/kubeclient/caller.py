"""The controller for which a request is sent: who runs a controller says so once, and all that it sends tells it.

The name goes in a header of its own: API servers take the field manager from the `user-agent`, and a process is one.
"""

from collections.abc import Mapping
from contextvars import ContextVar

HEADER = "leeward-controller"
CALLER: ContextVar[str] = ContextVar("caller", default="")
"""Name of the controller in the context of whose tasks it is asked; empty for anybody else."""


def with_caller(headers: Mapping[str, str]) -> Mapping[str, str]:
    caller = CALLER.get()
    return {**headers, HEADER: caller} if caller else headers
