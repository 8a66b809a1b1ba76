"""Questions to the control plane that an answer of the webhook waits for: each has one deadline."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from kubeapi.resource import Resource
from leeward.client import Client, WorldError

SECONDS = 3.0
"""Seconds that an answer may take, less than the kube-apiserver waits for us."""
PAGE_SIZE = 500
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
