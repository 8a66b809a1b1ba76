"""Name, namespace and version of any object, typed or manifest."""

import sys
from functools import lru_cache
from typing import Any, NamedTuple, cast

from kubeapi.core import ObjectReference
from kubeapi.meta import Manifest, TypedObject
from kubeapi.resource import Resource


class Key(NamedTuple):
    """Names one object of a kind; `namespace` is empty for cluster-scoped ones."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def key_of(obj: object) -> Key:
    if isinstance(obj, TypedObject):
        return Key(obj.metadata.namespace, obj.metadata.name)
    metadata = cast(Manifest, obj)["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])


@lru_cache(maxsize=1024)
def kept(key: Key) -> Key:
    """The key, as it is kept in a place that outlives the object. All such places share its texts, and most the key."""
    return Key(sys.intern(key.namespace), sys.intern(key.name))


def version_of(obj: object) -> int:
    """The resourceVersion as a number: they are comparable within one kind of one API server."""
    if isinstance(obj, TypedObject):
        return int(obj.metadata.resource_version or 0)
    return int(cast(Manifest, obj)["metadata"].get("resourceVersion", 0))


def uid_of(obj: object) -> str:
    return obj.metadata.uid if isinstance(obj, TypedObject) else cast(Manifest, obj)["metadata"].get("uid", "")


def reference_of(resource: Resource[Any], obj: object) -> ObjectReference:
    """Reference to the object that an event is about."""
    if isinstance(obj, TypedObject):
        version = obj.metadata.resource_version
    else:
        version = cast(Manifest, obj)["metadata"].get("resourceVersion", "")
    key = key_of(obj)
    return ObjectReference(
        api_version=resource.api_version,
        kind=resource.kind,
        namespace=key.namespace,
        name=key.name,
        uid=uid_of(obj),
        resource_version=version,
    )


def is_over(known: object, found: object, listed_at: int) -> bool:
    """Tells whether a list shows an earlier state of what was known, or another object, and is not older than that."""
    is_later = uid_of(found) == uid_of(known) and version_of(found) >= version_of(known)
    return version_of(known) <= listed_at and not is_later
