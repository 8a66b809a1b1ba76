"""Questions to the control plane that an answer of the webhook waits for: each has one deadline.

A control plane that has too much to do is asked again within that. Who writes is told to come again after it: with 429,
which kubectl and every other client obeys.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.client import Client, TooManyRequests, WorldError
from leeward.client.patience import Patience
from leeward.webhook.reviews import refusal

SECONDS = 3.0
"""Seconds that an answer may take, less than the kube-apiserver waits for us."""
PATIENCE = Patience(seconds=SECONDS - 1.0)
"""Patience of the webhook's client: the reason for which it is put off can still be told."""
PAGE_SIZE = 500
T = TypeVar("T")


class Untold(Exception):
    """The control plane has not answered; the message says why. `retry_after` are the seconds after which it wants to
    be asked again, where it has said so."""

    def __init__(self, why: str, retry_after: int = 0) -> None:
        super().__init__(why)
        self.retry_after = retry_after


async def ask(answering: Awaitable[T]) -> T:
    """The answer, in time. Raises: Untold."""
    try:
        async with asyncio.timeout(SECONDS):
            return await answering
    except TooManyRequests as error:
        raise Untold(str(error), max(error.retry_after_seconds, 1)) from error
    except (WorldError, TimeoutError) as error:
        raise Untold(str(error) or f"no answer within {SECONDS:g} s") from error


def refusal_for_now(unknown: str, untold: Untold) -> Manifest:
    """The refusal of a write that cannot be judged yet, since `unknown` is not told."""
    message = f"{unknown}: {untold}; try again"
    return refusal(429, message, retry_after=untold.retry_after) if untold.retry_after else refusal(503, message)


async def every(client: Client, resource: Resource[T]) -> list[T]:
    """All objects of a kind. Raises: WorldError."""
    found: list[T] = []
    token = ""
    while True:
        page = await client.list(resource, limit=PAGE_SIZE, continue_token=token)
        found += page.items
        token = page.continue_token
        if not token:
            return found
