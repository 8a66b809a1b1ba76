"""A way to an API server on which one kind can vanish: what is seen when an aggregated API changes hands.

While it is hidden its lists are empty, its objects are not found, watches are told that all were deleted; what is
written there is refused. When it is shown again those watches end, so that their clients list anew.
"""

import asyncio
import json
import ssl
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, ClientTimeout, web

from tests.certificates import Authority

SECONDS = 30.0
HOP_BY_HOP = {"connection", "content-length", "host", "keep-alive", "transfer-encoding", "upgrade"}


class HidingProxy:
    """Serves on 127.0.0.1 over TLS, in a thread of its own; `path` is that of the collection that can vanish.

    `token` is one of the server's, with which the proxy itself may list it.
    """

    def __init__(self, upstream: str, upstream_authority: Path, path: str, token: str) -> None:
        self.authority = Authority()
        self.url = ""
        self.in_place = 0
        """Requests that were answered in place of the server."""
        self._upstream, self._path, self._token = upstream, path, token
        self._upstream_context = ssl.create_default_context(cafile=str(upstream_authority))
        self._hidden = False
        self._started = threading.Event()

    def hide(self) -> None:
        self._loop.call_soon_threadsafe(self._turn, True)

    def show(self) -> None:
        self._loop.call_soon_threadsafe(self._turn, False)

    def start(self, directory: Path) -> None:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(directory)), daemon=True)
        self._thread.start()
        assert self._started.wait(SECONDS), "the proxy did not start"

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._ending.set)
        self._thread.join(SECONDS)

    def _turn(self, hidden: bool) -> None:
        self._hidden = hidden
        turned, self._turned = self._turned, asyncio.Event()
        turned.set()

    async def _serve(self, directory: Path) -> None:
        self._loop, self._ending, self._turned = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        application = web.Application(client_max_size=16 * 1024 * 1024)
        application.router.add_route("*", "/{path:.*}", self._answer)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        async with ClientSession(timeout=ClientTimeout(), auto_decompress=False) as self._session:
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self.authority.server_context(directory)).start()
            self.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
            self._started.set()
            await self._ending.wait()
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        ours = request.path == self._path or request.path.startswith(f"{self._path}/")
        watched = ours and request.query.get("watch") in ("1", "true")
        if ours and self._hidden:
            self.in_place += 1
            return await self._watch_nothing(request) if watched else self._nothing(request)
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP}
        body = await request.read() if request.can_read_body else None
        url = self._upstream + request.raw_path
        async with self._session.request(
            request.method, url, headers=headers, data=body, ssl=self._upstream_context, allow_redirects=False
        ) as given:
            kept = {name: value for name, value in given.headers.items() if name.lower() not in HOP_BY_HOP}
            answer = web.StreamResponse(status=given.status, headers=kept)
            await answer.prepare(request)
            copying = asyncio.ensure_future(_copy(given.content, answer))
            if not watched:
                await copying
                return answer
            turned = asyncio.ensure_future(self._turned.wait())
            await asyncio.wait({copying, turned}, return_when=asyncio.FIRST_COMPLETED)
            if turned.done() and not copying.done():
                await self._tell_deleted(answer)
                await self._turned.wait()
            turned.cancel()
            copying.cancel()
            return answer

    def _nothing(self, request: web.Request) -> web.Response:
        if request.method == "GET" and request.path == self._path:
            group, version = self._path.split("/")[2:4]
            empty: dict[str, Any] = {"apiVersion": f"{group}/{version}", "kind": "ClusterList", "items": []}
            return web.json_response({**empty, "metadata": {"resourceVersion": "1"}})
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404, "reason": "NotFound"}
        name = request.path.removeprefix(f"{self._path}/").split("/")[0]
        details = {"name": name, "group": self._path.split("/")[2], "kind": "clusters"}
        return web.json_response({**status, "message": f'clusters "{name}" not found', "details": details}, status=404)

    async def _watch_nothing(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"content-type": "application/json"})
        await answer.prepare(request)
        await self._turned.wait()
        return answer

    async def _tell_deleted(self, answer: web.StreamResponse) -> None:
        headers = {"authorization": f"Bearer {self._token}"}
        async with self._session.get(
            self._upstream + self._path, headers=headers, ssl=self._upstream_context
        ) as listed:
            found: Mapping[str, Any] = await listed.json()
        for item in found["items"]:
            deleted = {"apiVersion": found["apiVersion"], "kind": "Cluster", **item}
            await answer.write(json.dumps({"type": "DELETED", "object": deleted}).encode() + b"\n")


async def _copy(content: Any, answer: web.StreamResponse) -> None:
    """Copies until either side has gone."""
    with suppress(ConnectionError):
        async for chunk in content.iter_any():
            await answer.write(chunk)


@contextmanager
def hiding_proxy(proxy: HidingProxy, directory: Path) -> Generator[HidingProxy]:
    proxy.start(directory)
    try:
        yield proxy
    finally:
        proxy.stop()
