"""The webhook starts on a control plane: what it does first, and what it does again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from datetime import timedelta

import pytest

from kubeapi.loop.clock import SystemClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from leeward.client import Client, Request, Response, Transport, Unreachable
from leeward.webhook import Endpoint, Webhook, WebhookSettings, serving
from leeward.webhook.configurations import VALIDATING
from tests.kubeserver.api_world import api_world
from tests.ports import free_port

DEADLINE_SECONDS = 30


class Pointed:
    """Notes at every creation of a configuration whether anybody listens there. The first one fails.

    `whole` is set when both are there.
    """

    def __init__(self, inner: Transport, port: int) -> None:
        self._inner = inner
        self._port = port
        self.listening: list[bool] = []
        self.whole = asyncio.Event()

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        if request.method == "POST" and "webhookconfigurations" in request.path:
            self.listening.append(await self._is_listening())
            if len(self.listening) == 1:
                raise Unreachable("the control plane does not answer")
        response = await self._inner.send(request, timeout_seconds=timeout_seconds)
        if request.method == "POST" and VALIDATING.plural in request.path:
            self.whole.set()
        return response

    async def _is_listening(self) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            return False
        writer.close()
        return True

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


def test_a_control_plane_is_pointed_to_a_webhook_that_listens_and_soon_again_when_it_did_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(serving, "RETRY", timedelta(0))
    port = free_port()

    async def main() -> list[bool]:
        async with api_world() as world, Supervisor("webhook") as supervisor, asyncio.timeout(DEADLINE_SECONDS):
            pointed = Pointed(world.transport, port)
            await world.create("/api/v1/namespaces", {"metadata": {"name": "karmada-system"}})
            settings = WebhookSettings(endpoint=Endpoint(f"https://127.0.0.1:{port}"), host="127.0.0.1", port=port)
            webhook = Webhook(Client(pointed), SystemClock(), Randomness(1), settings)
            supervisor.start(webhook.run(), "webhook")
            await pointed.whole.wait()
            return pointed.listening

    assert asyncio.run(main()) == [True, True, True]
