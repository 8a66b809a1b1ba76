"""Presence of an object, asked of an API server itself: a list can be stale, or wrong."""

from contextlib import suppress
from typing import Any

from kubeapi.resource import Resource
from kubeclient import Client, NotFound, NotServed, Undecodable


async def is_there(client: Client, resource: Resource[Any], name: str) -> bool:
    """Tells whether the object is there; one that cannot be read is. Raises: WorldError, also where its kind is not
    served: then nothing is known of it. Holds: S5."""
    try:
        with suppress(Undecodable):
            await client.get(resource, name)
    except NotServed:
        raise
    except NotFound:
        return False
    return True
