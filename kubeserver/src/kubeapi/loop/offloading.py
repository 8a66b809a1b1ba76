"""Work that takes long, done beside the loop: in a thread, whose turns the interpreter cuts short for the loop's sake.

On a virtual loop, which has no threads, it is done at once.
"""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from kubeapi.loop.virtual import VirtualLoop

MUCH_BYTES = 256 * 1024
"""Bytes of an answer that is decoded beside the loop."""

P = ParamSpec("P")
T = TypeVar("T")


async def run_beside(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs `function` beside the loop, and returns or raises as it does. It touches nothing that the loop changes
    meanwhile."""
    if isinstance(asyncio.get_running_loop(), VirtualLoop):
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)


async def read_beside(read: Callable[[bytes], T], body: bytes) -> T:
    """Reads `body`; beside the loop where there is much of it."""
    return read(body) if len(body) < MUCH_BYTES else await run_beside(read, body)
