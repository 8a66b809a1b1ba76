"""The HTTPS server of the webhook: two paths, one deadline, a bound on every body.

The TLS context is given to it, and may learn a new certificate while it serves. Never looks into an object.
"""

import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack

from aiohttp import web

from kubeapi import codec
from kubeapi.listening import listening
from leeward.webhook.reviews import Answer, BadReview, answer_review

MAX_BODY_BYTES = 7 * 1024 * 1024
"""An object and what it replaces, at their largest, and what is around them."""
STOP_TIMEOUT_SECONDS = 2.0


class WebhookServer:
    """Serves `answers` by path, and `/healthz` and `/readyz`."""

    def __init__(self, answers: Mapping[str, Answer], context: ssl.SSLContext | None, host: str, port: int) -> None:
        self._application = web.Application(client_max_size=MAX_BODY_BYTES)
        for path, answer in answers.items():
            self._application.router.add_post(path, _handler(answer))
        for path in ("/healthz", "/readyz"):
            self._application.router.add_get(path, _healthy)
        self._context = context
        self._host = host
        self._port = port
        self._stack = AsyncExitStack()

    async def start(self) -> int:
        """Listens; gives the port. Raises: OSError when the address is taken."""
        runner = web.AppRunner(self._application, access_log=None, shutdown_timeout=STOP_TIMEOUT_SECONDS)
        return await self._stack.enter_async_context(listening(runner, self._host, self._port, self._context))

    async def stop(self) -> None:
        """Lets running requests finish for a moment."""
        await self._stack.aclose()


def _handler(answer: Answer) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handle(request: web.Request) -> web.Response:
        try:
            body = codec.encode(await answer_review(await request.read(), answer))
        except BadReview as error:
            return web.Response(status=400, text=str(error))
        return web.Response(body=body, content_type="application/json")

    return handle


async def _healthy(_: web.Request) -> web.Response:
    return web.Response(text="ok")
