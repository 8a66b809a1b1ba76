"""Answers of an API server as objects: one object, a page of a list, an event of a watch."""

from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import msgspec

from kubeapi import codec
from kubeapi.errors import TooLarge, Undecodable, error_of_status
from kubeapi.meta import Manifest, TypedObject
from kubeapi.resource import Resource
from kubeapi.status import Status
from kubeclient.bounds import MAX_OBJECT_BYTES, MiB

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list, all from one revision. `remaining` are those of further pages, where the server tells."""

    items: tuple[T, ...]
    resource_version: str
    continue_token: str = ""
    remaining: int = 0


class WatchEvent(msgspec.Struct, Generic[T], frozen=True):
    """`type` is ADDED, MODIFIED, DELETED or BOOKMARK; a bookmark has no object."""

    type: str
    object: T | None
    resource_version: str


class _ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class _List(msgspec.Struct):
    items: list[msgspec.Raw]
    metadata: _ListMeta = _ListMeta()


class _Frame(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _VersionOnlyMeta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _VersionOnly(msgspec.Struct):
    metadata: _VersionOnlyMeta = _VersionOnlyMeta()


def event_of(resource: Resource[T], line: bytes) -> WatchEvent[T]:
    """Raises: Undecodable, TooLarge; ApiError for a watch that the server ends with one."""
    try:
        frame = codec.decode(line, _Frame)
        if frame.type == "ERROR":
            raise error_of_status(codec.decode(bytes(frame.object), Status))
        if frame.type == "BOOKMARK":
            return WatchEvent(frame.type, None, _version_of(bytes(frame.object)))
        obj = decoded(resource, bytes(frame.object))
        version = obj.metadata.resource_version if isinstance(obj, TypedObject) else _version_of(bytes(frame.object))
    except codec.DecodeError as error:
        raise Undecodable(f"watch of {resource.plural}: {error}") from error
    return WatchEvent(frame.type, obj, version)


def _version_of(body: bytes) -> str:
    """Raises: DecodeError."""
    return codec.decode(body, _VersionOnly).metadata.resource_version


def page_of(resource: Resource[T], body: bytes) -> Page[T]:
    """Raises: Undecodable."""
    try:
        page = codec.decode(body, _List)
    except codec.DecodeError as error:
        raise Undecodable(f"list of {resource.plural}: {error}") from error
    items = tuple(decoded(resource, bytes(item)) for item in page.items)
    return Page(items, page.metadata.resource_version, page.metadata.continue_, page.metadata.remaining_item_count or 0)


def decoded(resource: Resource[T], body: bytes) -> T:
    """Servers leave `apiVersion` and `kind` out of the items of a list; manifests always have them here.

    Raises: Undecodable, TooLarge.
    """
    if len(body) > MAX_OBJECT_BYTES:
        raise TooLarge(f"{resource.kind}: an object of more than {MAX_OBJECT_BYTES // MiB} MiB")
    try:
        obj = codec.decode(body, resource.object_type)
    except codec.DecodeError as error:
        raise Undecodable(f"{resource.kind}: {error}") from error
    if isinstance(obj, dict):
        manifest = cast(Manifest, obj)
        manifest.setdefault("apiVersion", resource.api_version)
        manifest.setdefault("kind", resource.kind)
    return cast(T, obj)
