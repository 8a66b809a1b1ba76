"""Typed requests to one Kubernetes API server.

    cluster = await client.get(CLUSTERS, "member1")
    await client.patch(CLUSTERS, "member1", {"spec": {...}}, resource_version=cluster.metadata.resource_version)

Every request has a deadline. Every failure is a `WorldError`. A request that the server puts off (429) is sent again
when the server wants to be asked, within the client's `Patience`.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from functools import partial
from typing import Any, TypeVar

from kubeapi import codec
from kubeapi.errors import NOT_FOUND, NotFound, NotServed, TooManyRequests
from kubeapi.loop import read_beside
from kubeapi.meta import Manifest
from kubeapi.resource import Resource, is_path_segment
from kubeapi.retry_after import error_of_answer, retry_after_seconds
from kubeapi.status import Status, StatusDetails
from kubeapi.transport import Request, Response, Transport
from kubeclient.caller import with_caller
from kubeclient.decoding import Page, WatchEvent, decoded, event_of, page_of
from kubeclient.patience import PATIENT, Patience, Waiting

T = TypeVar("T")

REQUEST_TIMEOUT_SECONDS = 10.0
WATCH_TIMEOUT_SECONDS = 300
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_TOO_MANY_REQUESTS = 429


class Client:
    """One API server, seen through one transport. `patience` is for a server that puts requests off."""

    def __init__(self, transport: Transport, user_agent: str = "leeward", *, patience: Patience = PATIENT) -> None:
        self._transport = transport
        self._patience = patience
        self._headers = {"accept": "application/json", "user-agent": user_agent}

    @property
    def field_manager(self) -> str:
        """Name under which API servers note the writes of this client."""
        return self._headers["user-agent"].partition("/")[0]

    async def get(self, resource: Resource[T], name: str, namespace: str = "") -> T:
        """Raises: NotFound."""
        return decoded(resource, await self._request("GET", _path_of(resource, namespace, name)))

    async def find(self, resource: Resource[T], name: str, namespace: str = "") -> T | None:
        """None where there is none, as the API server says now. That a kind is not served says nothing of its objects.

        Raises: NotServed.
        """
        try:
            return await self.get(resource, name, namespace)
        except NotServed:
            raise
        except NotFound:
            return None

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
            labelSelector=label_selector, fieldSelector=field_selector, limit=limit, **{"continue": continue_token}
        )
        body = await self._request("GET", _path_of(resource, namespace), query)
        return await read_beside(partial(page_of, resource), body)

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
        async with AsyncExitStack() as ends:
            lines = await self._opened(request, ends)
            opened()
            async for line in lines:
                yield await read_beside(partial(event_of, resource), line)

    async def create(
        self, resource: Resource[T], obj: T | Manifest, namespace: str = "", *, dry_run: bool = False
    ) -> T:
        """Raises: AlreadyExists, Invalid."""
        body, query = codec.encode(_with_kind(resource, obj)), _query(dryRun="All" if dry_run else "")
        return decoded(resource, await self._request("POST", _path_of(resource, namespace), query, body))

    async def update(
        self, resource: Resource[T], obj: T | Manifest, name: str, namespace: str = "", subresource: str = ""
    ) -> T:
        """Replaces the object; a resourceVersion in it must be the present one. Raises: Conflict, NotFound."""
        body = codec.encode(_with_kind(resource, obj))
        path = _path_of(resource, namespace, name, subresource)
        return decoded(resource, await self._request("PUT", path, body=body))

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
        return decoded(resource, body)

    async def apply(self, resource: Resource[T], manifest: Manifest, namespace: str = "", *, field_manager: str) -> T:
        """Server-side apply: the fields of `manifest` become so, and `field_manager` owns them. Idempotent."""
        name = manifest["metadata"]["name"]
        query = _query(fieldManager=field_manager, force="true")
        body = codec.encode(_with_kind(resource, manifest))
        path = _path_of(resource, namespace, name)
        return decoded(resource, await self._request("PATCH", path, query, body, APPLY_PATCH))

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
        """Requests any path; gives the answer as it is, whatever its code.

        429 is given when patience has ended, or where the server names no time to come again. A disruption budget
        refuses an eviction so. `timeout_seconds` are those of each attempt. Raises: Unreachable.
        """
        request = Request(method, path, query or {}, headers={**self._headers, "accept": accept}, body=body)
        waiting = Waiting(self._patience)
        while True:
            response = await self._transport.send(request, timeout_seconds=timeout_seconds)
            asked = retry_after_seconds(response.headers)
            if response.code != _TOO_MANY_REQUESTS or asked is None:
                return response
            if not await waiting.wait(f"{method} {path}", asked):
                return response

    def behind(self, wrap: Callable[[Transport], Transport]) -> "Client":
        """A client of the same server, whose requests go through its transport as `wrap` changes it."""
        return Client(wrap(self._transport), self._headers["user-agent"], patience=self._patience)

    def with_patience(self, patience: Patience) -> "Client":
        """A client of the same server, with that patience."""
        return Client(self._transport, self._headers["user-agent"], patience=patience)

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
        waiting = Waiting(self._patience)
        while True:
            response = await self._transport.send(request, timeout_seconds=REQUEST_TIMEOUT_SECONDS)
            if response.code < 300:
                return response.body
            error = error_of_answer(response.code, response.body, response.headers)
            if not isinstance(error, TooManyRequests):
                raise error
            if not await waiting.wait(f"{method} {path}", error.retry_after_seconds):
                raise waiting.ended(error)

    async def _opened(self, request: Request, ends: AsyncExitStack) -> AsyncIterator[bytes]:
        """Lines of a stream, which `ends` closes. Raises: ApiError."""
        waiting = Waiting(self._patience)
        while True:
            try:
                lines = await ends.enter_async_context(self._transport.stream(request))
            except TooManyRequests as error:
                if not await waiting.wait(f"{request.method} {request.path}", error.retry_after_seconds):
                    raise waiting.ended(error) from None
            else:
                return await ends.enter_async_context(aclosing(lines))  # type: ignore[type-var]


def _query(**parameters: str | int) -> dict[str, str]:
    return {key: str(value) for key, value in parameters.items() if value}


def _with_kind(resource: Resource[Any], obj: object) -> dict[str, Any]:
    manifest: dict[str, Any] = obj if isinstance(obj, dict) else codec.to_wire(obj)  # type: ignore[assignment]
    return {**manifest, "apiVersion": resource.api_version, "kind": resource.kind}


def _path_of(resource: Resource[Any], namespace: str, name: str | None = None, subresource: str = "") -> str:
    """The path of one object, or of a collection where there is no name.

    Names come from objects of others: one that would lead to another path names nothing.
    Raises: NotFound.
    """
    for segment in (namespace or "all", "all" if name is None else name):
        if not is_path_segment(segment):
            details = StatusDetails(name=name or namespace, group=resource.group, kind=resource.plural)
            message = f"{resource.group_resource} {name or namespace!r} not found: nothing can be called so"
            raise NotFound(Status(message=message, reason="NotFound", details=details, code=NOT_FOUND))
    return resource.path(namespace, name or "", subresource)
