"""Typed requests to one Kubernetes API server.

    cluster = await client.get(CLUSTERS, "member1")
    await client.patch(CLUSTERS, "member1", {"spec": {...}}, resource_version=cluster.metadata.resource_version)

Every request has a deadline. Every failure is a `WorldError`.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar, cast

import msgspec

from kubeapi import codec
from kubeapi.errors import NOT_FOUND, NotFound, TooLarge, Undecodable, error_of, error_of_status
from kubeapi.loop.offloading import read_beside
from kubeapi.meta import Manifest
from kubeapi.resource import Resource, is_path_segment
from kubeapi.status import Status, StatusDetails
from kubeapi.transport import Request, Response, Transport
from leeward.api.meta import TypedObject
from leeward.client.bounds import MAX_OBJECT_BYTES, MiB
from leeward.client.caller import with_caller

T = TypeVar("T")

REQUEST_TIMEOUT_SECONDS = 10.0
WATCH_TIMEOUT_SECONDS = 300
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


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


class Client:
    """One API server, seen through one transport."""

    def __init__(self, transport: Transport, user_agent: str = "leeward") -> None:
        self._transport = transport
        self._headers = {"accept": "application/json", "user-agent": user_agent}

    async def get(self, resource: Resource[T], name: str, namespace: str = "") -> T:
        """Raises: NotFound."""
        return _decode(resource, await self._request("GET", _path_of(resource, namespace, name)))

    async def list(
        self,
        resource: Resource[T],
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 0,
        continue_token: str = "",
    ) -> Page[T]:
        """One page; all of it when `limit` is 0. Raises: Expired when the page's revision is gone."""
        query = _query(
            labelSelector=label_selector,
            fieldSelector=field_selector,
            limit=limit,
            **{"continue": continue_token},
        )
        body = await self._request("GET", _path_of(resource, namespace), query)
        return await read_beside(partial(_page, resource), body)

    async def watch(
        self,
        resource: Resource[T],
        namespace: str = "",
        *,
        resource_version: str,
        label_selector: str = "",
        field_selector: str = "",
        timeout_seconds: int = WATCH_TIMEOUT_SECONDS,
        bookmarks: bool = True,
        opened: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[WatchEvent[T], None]:
        """Changes after `resource_version`, until the server ends the stream. Close it with `aclosing`.

        `bookmarks`: whether the server is to say now and then how far it has come, though nothing happens. `opened` is
        called when the server has accepted the watch.

        Raises: Expired when the version is too old.
        """
        query = _query(
            watch="true",
            allowWatchBookmarks="true" if bookmarks else "",
            resourceVersion=resource_version,
            labelSelector=label_selector,
            fieldSelector=field_selector,
            timeoutSeconds=timeout_seconds,
        )
        request = Request("GET", _path_of(resource, namespace), query, self._headers)
        async with self._transport.stream(request) as lines, aclosing(lines):  # type: ignore[type-var]
            opened()
            async for line in lines:
                yield await read_beside(partial(_event, resource), line)

    async def create(self, resource: Resource[T], obj: T | Manifest, namespace: str = "") -> T:
        """Raises: AlreadyExists, Invalid."""
        body = codec.encode(_with_kind(resource, obj))
        return _decode(resource, await self._request("POST", _path_of(resource, namespace), body=body))

    async def update(
        self, resource: Resource[T], obj: T | Manifest, name: str, namespace: str = "", subresource: str = ""
    ) -> T:
        """Replaces the object; a resourceVersion in it must be the present one. Raises: Conflict, NotFound."""
        body = codec.encode(_with_kind(resource, obj))
        path = _path_of(resource, namespace, name, subresource)
        return _decode(resource, await self._request("PUT", path, body=body))

    async def patch(
        self,
        resource: Resource[T],
        name: str,
        patch: Mapping[str, Any],
        namespace: str = "",
        *,
        subresource: str = "",
        resource_version: str = "",
    ) -> T:
        """Applies a JSON merge patch; with `resource_version`, only to that version. Raises: Conflict, NotFound."""
        if resource_version:
            metadata = {**patch.get("metadata", {}), "resourceVersion": resource_version}
            patch = {**patch, "metadata": metadata}
        path = _path_of(resource, namespace, name, subresource)
        body = await self._request("PATCH", path, body=codec.encode(patch), content_type=MERGE_PATCH)
        return _decode(resource, body)

    async def apply(self, resource: Resource[T], manifest: Manifest, namespace: str = "", *, field_manager: str) -> T:
        """Server-side apply: the fields of `manifest` become so, and `field_manager` owns them. Idempotent."""
        name = manifest["metadata"]["name"]
        query = _query(fieldManager=field_manager, force="true")
        body = codec.encode(_with_kind(resource, manifest))
        path = _path_of(resource, namespace, name)
        return _decode(resource, await self._request("PATCH", path, query, body, APPLY_PATCH))

    async def delete(
        self,
        resource: Resource[Any],
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: str = "Background",
        grace_seconds: int | None = None,
    ) -> None:
        """Asks for the deletion, of that uid and version where given, after the object's own time where not given.

        Raises: Conflict, NotFound.
        """
        preconditions = {key: value for key, value in (("uid", uid), ("resourceVersion", resource_version)) if value}
        options = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": propagation,
            **({"preconditions": preconditions} if preconditions else {}),
            **({} if grace_seconds is None else {"gracePeriodSeconds": grace_seconds}),
        }
        await self._request("DELETE", _path_of(resource, namespace, name), body=codec.encode(options))

    async def raw(
        self,
        method: str,
        path: str,
        *,
        timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
        body: bytes = b"",
        accept: str = "application/json",
        query: Mapping[str, str] | None = None,
    ) -> Response:
        """Requests any path; gives the answer as it is, whatever its code. Raises: Unreachable."""
        request = Request(method, path, query or {}, headers={**self._headers, "accept": accept}, body=body)
        return await self._transport.send(request, timeout_seconds=timeout_seconds)

    def behind(self, wrap: Callable[[Transport], Transport]) -> "Client":
        """A client of the same server, whose requests go through what `wrap` makes of its transport."""
        return Client(wrap(self._transport), self._headers["user-agent"])

    async def close(self) -> None:
        await self._transport.close()

    async def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
        content_type: str = "application/json",
    ) -> bytes:
        headers = {**self._headers, "content-type": content_type} if body else self._headers
        request = Request(method, path, query or {}, with_caller(headers), body)
        response = await self._transport.send(request, timeout_seconds=REQUEST_TIMEOUT_SECONDS)
        if response.code >= 300:
            raise error_of(response.code, response.body)
        return response.body


def _event(resource: Resource[T], line: bytes) -> WatchEvent[T]:
    """Raises: Undecodable, TooLarge; ApiError for a watch that the server ends with one."""
    try:
        frame = codec.decode(line, _Frame)
        if frame.type == "ERROR":
            raise error_of_status(codec.decode(bytes(frame.object), Status))
        if frame.type == "BOOKMARK":
            return WatchEvent(frame.type, None, _version_of(bytes(frame.object)))
        obj = _decode(resource, bytes(frame.object))
        version = obj.metadata.resource_version if isinstance(obj, TypedObject) else _version_of(bytes(frame.object))
    except codec.DecodeError as error:
        raise Undecodable(f"watch of {resource.plural}: {error}") from error
    return WatchEvent(frame.type, obj, version)


def _version_of(body: bytes) -> str:
    """Raises: DecodeError."""
    return codec.decode(body, _VersionOnly).metadata.resource_version


def _page(resource: Resource[T], body: bytes) -> Page[T]:
    """Raises: Undecodable."""
    try:
        page = codec.decode(body, _List)
    except codec.DecodeError as error:
        raise Undecodable(f"list of {resource.plural}: {error}") from error
    items = tuple(_decode(resource, bytes(item)) for item in page.items)
    return Page(items, page.metadata.resource_version, page.metadata.continue_, page.metadata.remaining_item_count or 0)


def _decode(resource: Resource[T], body: bytes) -> T:
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


def _query(**parameters: str | int) -> dict[str, str]:
    return {key: str(value) for key, value in parameters.items() if value}


def _with_kind(resource: Resource[Any], obj: object) -> dict[str, Any]:
    manifest: dict[str, Any] = obj if isinstance(obj, dict) else codec.to_wire(obj)  # type: ignore[assignment]
    return {**manifest, "apiVersion": resource.api_version, "kind": resource.kind}


def _path_of(resource: Resource[Any], namespace: str, name: str | None = None, subresource: str = "") -> str:
    """The path of one object, or of a collection where there is no name.

    Names come from objects that others wrote: what would lead to another path is the name of nothing.
    Raises: NotFound.
    """
    for segment in (namespace or "all", "all" if name is None else name):
        if not is_path_segment(segment):
            details = StatusDetails(name=name or namespace, group=resource.group, kind=resource.plural)
            message = f"{resource.group_resource} {name or namespace!r} not found: nothing can be called so"
            raise NotFound(Status(message=message, reason="NotFound", details=details, code=NOT_FOUND))
    return resource.path(namespace, name or "", subresource)
