"""A transport for those who may update and not patch, as the roles of `karmadactl register` have it for agents.

A merge patch that is refused is carried out here: the object is read, the patch merged in, and the whole written
back with the version that was read. So nothing is overwritten that came between, and a patch of a version that is no
more is the conflict that it would have been.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from http import HTTPStatus

from kubeapi import codec
from kubeapi.diff import merged
from kubeapi.meta import Manifest
from kubeapi.transport import Request, Response, Transport
from kubeclient.client import MERGE_PATCH

ATTEMPTS = 5
REMEMBERED_SECONDS = 600.0
"""Seconds for which a kind whose patches were refused is updated at once; then a patch is tried again."""

_Target = tuple[str, str]
"""Collection and subresource."""


class UpdatingTransport:
    """A `Transport`: merge patches that are forbidden become updates."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._refused_at: dict[_Target, float] = {}

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        if request.method != "PATCH" or request.headers.get("content-type") != MERGE_PATCH:
            return await self._inner.send(request, timeout_seconds=timeout_seconds)
        now = asyncio.get_running_loop().time
        deadline, (path, target) = now() + timeout_seconds, _parts(request.path)
        refused_at = self._refused_at.get(target)
        if refused_at is None or now() >= refused_at + REMEMBERED_SECONDS:
            response = await self._inner.send(request, timeout_seconds=timeout_seconds)
            if response.code != HTTPStatus.FORBIDDEN:
                self._refused_at.pop(target, None)
                return response
        response = await self._update(request, path, deadline)
        if response.code != HTTPStatus.FORBIDDEN:
            self._refused_at[target] = now()
        else:
            self._refused_at.pop(target, None)
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()

    async def _update(self, request: Request, path: str, deadline: float) -> Response:
        """The patch as an update; once more where another write came between, unless it is of one version."""
        patch = codec.decode_manifest(request.body)
        is_of_version = "resourceVersion" in (patch.get("metadata") or {})
        headers = {name: value for name, value in request.headers.items() if name != "content-type"}
        for attempt in range(ATTEMPTS):
            found = await self._send(Request("GET", path, headers=headers), deadline)
            if found.code >= 300:
                return found
            whole: Manifest = merged(codec.decode_manifest(found.body), patch)
            body, kept = codec.encode(whole), {**headers, "content-type": "application/json"}
            response = await self._send(Request("PUT", request.path, request.query, kept, body), deadline)
            if response.code != HTTPStatus.CONFLICT or is_of_version or attempt == ATTEMPTS - 1:
                return response
        raise AssertionError("there is at least one attempt")

    async def _send(self, request: Request, deadline: float) -> Response:
        left = deadline - asyncio.get_running_loop().time()
        return await self._inner.send(request, timeout_seconds=max(left, 0.0))


def _parts(path: str) -> tuple[str, _Target]:
    """Path of the object that `path` leads to, or to a subresource of; its collection, and the subresource."""
    segments = path.strip("/").split("/")
    collection = 3 if segments[0] == "api" else 4
    if segments[collection - 1] == "namespaces" and len(segments) > collection + 2:
        collection += 2
    within = "/" + "/".join(segments[:collection])
    return f"{within}/{segments[collection]}", (within, "/".join(segments[collection + 1 :]))
