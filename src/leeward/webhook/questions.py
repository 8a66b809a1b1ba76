"""Questions to the control plane that an answer of the webhook waits for: each has one deadline."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from leeward.client import WorldError

SECONDS = 3.0
"""Less than the kube-apiserver waits for us."""
T = TypeVar("T")


class Untold(Exception):
    """The control plane has not answered; the message says why."""


async def ask(answering: Awaitable[T]) -> T:
    """The answer, in time. Raises: Untold."""
    try:
        async with asyncio.timeout(SECONDS):
            return await answering
    except (WorldError, TimeoutError) as error:
        raise Untold(str(error) or f"no answer within {SECONDS:g} s") from error
