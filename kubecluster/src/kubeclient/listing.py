"""Lists of any length, a page at a time."""

from collections.abc import AsyncGenerator
from typing import TypeVar

from kubeapi.resource import Resource
from kubeclient.client import Client

PAGE_SIZE = 500
T = TypeVar("T")


async def every(
    client: Client, resource: Resource[T], namespace: str = "", *, label_selector: str = ""
) -> AsyncGenerator[T, None]:
    """All objects of a kind, or of one namespace, one after the other. Raises: WorldError; Expired where a page comes
    too late for its revision."""
    token = ""
    while True:
        page = await client.list(
            resource, namespace, label_selector=label_selector, limit=PAGE_SIZE, continue_token=token
        )
        for each in page.items:
            yield each
        token = page.continue_token
        if not token:
            return


async def all_of(client: Client, resource: Resource[T], namespace: str = "") -> list[T]:
    """All objects of a kind, or of one namespace. Raises: as `every`."""
    return [each async for each in every(client, resource, namespace)]
