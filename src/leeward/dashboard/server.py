"""The server of the dashboard: its routes, and how it listens.

    GET  /, /assets/*            the page
    *    /api/session            who is signed in; sign in with a token, or the key of the link; sign out (`signing_in`)
    GET  /api/events?since=      the fleet as it changes, one stream for each page (`streaming`)
    GET  /api/...                questions of this user (`answering`; with the user's own credential `asked_as_user`)
    POST /api/actions/...        what an operator does (`acting`)

Answers are JSON. An error is `{"error": sentence}`.
"""

import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from aiohttp import web

from kubeapi.listening import listening
from leeward.dashboard.acting import Acting
from leeward.dashboard.answering import Answering
from leeward.dashboard.asked_as_user import AskedAsUser
from leeward.dashboard.context import DashboardContext, errors_as_json
from leeward.dashboard.http_guard import add_headers, guard
from leeward.dashboard.page_files import INDEX, NOT_BUILT, PageFile
from leeward.dashboard.pictures import FleetPictures
from leeward.dashboard.signing_in import SigningIn
from leeward.dashboard.streaming import Streaming

MAX_BODY_BYTES = 64 * 1024
STOP_TIMEOUT_SECONDS = 0.5


def application(context: DashboardContext, page: Mapping[str, PageFile]) -> web.Application:
    app = web.Application(
        client_max_size=MAX_BODY_BYTES, middlewares=[guard(context.config.allowed_hosts), errors_as_json]
    )
    app.on_response_prepare.append(add_headers)
    app.router.add_get("/healthz", _healthz)
    pictures = FleetPictures(context.client, context.clock, context.config.name)
    routes = [SigningIn(context), Streaming(context), Answering(context, pictures), AskedAsUser(context)]
    for part in (*routes, Acting(context, pictures)):
        app.add_routes(part.routes())
    app.router.add_get("/{path:.*}", _PageRoutes(page).handle)
    return app


@asynccontextmanager
async def serving(
    app: web.Application, host: str, port: int, tls: ssl.SSLContext | None = None
) -> AsyncGenerator[int, None]:
    """Serves while the context lasts; gives the port. Raises: OSError when the address is taken."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=STOP_TIMEOUT_SECONDS)
    async with listening(runner, host, port, tls) as taken:
        yield taken


async def _healthz(_: web.Request) -> web.Response:
    return web.Response(text="ok")


class _PageRoutes:
    """Files of the page; every other path below / is a state of the page, which reads it itself."""

    def __init__(self, page: Mapping[str, PageFile]) -> None:
        self._page = page

    async def handle(self, request: web.Request) -> web.Response:
        path = request.path
        if path.startswith("/api/"):
            raise web.HTTPNotFound(text=f"there is no {path}")
        if not self._page:
            return web.Response(status=503, text=NOT_BUILT)
        found = self._page.get(path)
        if found is None and "." in path.rpartition("/")[2]:
            raise web.HTTPNotFound(text=f"there is no {path}")
        return _served(request, found or self._page[f"/{INDEX}"])


def _served(request: web.Request, file: PageFile) -> web.Response:
    is_gzipped = bool(file.gzipped) and "gzip" in request.headers.get("Accept-Encoding", "")
    charset = "utf-8" if file.content_type.startswith("text/") else None
    body = file.gzipped if is_gzipped else file.content
    response = web.Response(body=body, content_type=file.content_type, charset=charset)
    response.headers["Cache-Control"] = file.cache_control
    response.headers["Vary"] = "Accept-Encoding"
    if is_gzipped:
        response.headers["Content-Encoding"] = "gzip"
    return response
