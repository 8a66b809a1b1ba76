"""Deleting what is there, as it was seen.

A delete without preconditions takes whatever bears the name by then. Here each one names uid and resourceVersion, and
what has changed meanwhile is looked at again (Holds: S5).
"""

from collections.abc import Callable
from typing import TypeVar

from controller_runtime.identity import uid_of, version_of
from kubeapi.resource import Resource
from kubeclient import Client, Conflict, NotFound, NotServed

T = TypeVar("T")
ATTEMPTS = 5
"""An object whose status is written all the time is soon met between two writes."""


async def delete_seen(
    client: Client,
    resource: Resource[T],
    name: str,
    namespace: str = "",
    *,
    uid: str = "",
    only: Callable[[T], bool] = lambda _: True,
) -> bool:
    """Asks for the deletion of an object, with `uid` only of that very one, and where `only` says so.

    Returns whether it was there.

    Raises: Conflict when it never stops changing; NotServed; WorldError.
    """
    attempts = ATTEMPTS
    while True:
        attempts -= 1
        try:
            found = await client.get(resource, name, namespace)
            if (uid and uid_of(found) != uid) or not only(found):
                return False
            version = str(version_of(found))
            await client.delete(resource, name, namespace, uid=uid_of(found), resource_version=version)
            return True
        except NotServed:
            raise
        except NotFound:
            return False
        except Conflict:
            if not attempts:
                raise
