"""The webhook starts on a control plane: what it does first, and what it does again."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from datetime import timedelta

import pytest

from kubeapi.core import SECRETS
from kubeapi.loop.clock import SystemClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeclient import Client, Request, Response, Transport, Unreachable
from leeward.webhook import Endpoint, Webhook, WebhookSettings, serving
from leeward.webhook.certificates import CA
from leeward.webhook.configurations import CERTIFICATE_SECRET, NAME, VALIDATING
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


def test_replicas_whose_secret_is_deleted_stay_trusted() -> None:
    async def story() -> None:
        async with api_world() as world:
            await world.create("/api/v1/namespaces", {"metadata": {"name": "karmada-system"}})
            settings = WebhookSettings(endpoint=Endpoint("https://webhook.example"), host="127.0.0.1", port=0)
            clients = [Client(world.transport) for _ in range(2)]
            replicas = [Webhook(client, SystemClock(), Randomness(1), settings) for client in clients]
            for replica in replicas:
                await replica._refresh()  # pyright: ignore[reportPrivateUsage]
            trusted = await trusted_by(clients[0])
            await clients[0].delete(SECRETS, CERTIFICATE_SECRET, "karmada-system")
            await replicas[0]._refresh()  # pyright: ignore[reportPrivateUsage]
            assert await trusted_by(clients[0]) == trusted, "what the other one serves with was signed by that"
            assert (await clients[0].get(SECRETS, CERTIFICATE_SECRET, "karmada-system")).data[CA] == trusted

    run_virtual(story())


async def trusted_by(client: Client) -> bytes:
    """The authorities by which the kube-apiserver knows a webhook."""
    (hook, *_) = (await client.get(VALIDATING, NAME))["webhooks"]
    return base64.b64decode(hook["clientConfig"]["caBundle"])
