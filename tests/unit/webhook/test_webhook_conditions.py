"""Questions to the webhook: none are about Works that bring their identity, which are most of all creations."""

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import msgspec
import pytest

from kubeapi.loop.clock import SystemClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from leeward.api.names import WORK_ID_LABEL
from leeward.api.resource import WORKS
from leeward.api.schema import custom_resource_definitions
from leeward.client import Client, Request, Response, Transport
from leeward.webhook import Endpoint, Webhook, WebhookSettings
from leeward.webhook.configurations import CONDITIONS, MUTATING, configurations
from tests.certificates import Authority
from tests.kubeserver.api_world import api_world
from tests.kubeserver.webhooks import InProcessWebhooks, allow, url_of

ENDPOINT = Endpoint("https://webhook.example")
AUTHORITIES = Authority("one").certificate, Authority("another").certificate


@pytest.mark.parametrize(
    ("labels", "asked"),
    [({WORK_ID_LABEL: "an-id"}, False), ({WORK_ID_LABEL: ""}, True), ({"other": "x"}, True), (None, True)],
)
def test_a_work_that_brings_its_identity_asks_nobody(labels: dict[str, str] | None, asked: bool) -> None:
    hooks = InProcessWebhooks(defaults=allow)

    async def story() -> None:
        async with api_world(crds=custom_resource_definitions(), webhook_client=hooks) as world:
            ((resource, wanted),) = [each for each in configurations(ENDPOINT, b"") if each[0] is MUTATING]
            wanted["webhooks"][0]["clientConfig"] = {"url": url_of("defaults")}
            assert (await world.create(resource.path(), wanted)).code == 201
            manifest: Manifest = {
                "apiVersion": WORKS.api_version,
                "kind": WORKS.kind,
                "metadata": {"name": "a", **({} if labels is None else {"labels": labels})},
                "spec": {"workload": {"manifests": []}},
            }
            created = await world.create(WORKS.path("default"), manifest)
            assert created.code == 201, created.body
            assert len(hooks.requests["defaults"]) == asked

    run_virtual(story())


class OlderServer:
    """Drops what it does not know, as servers before 1.28 do. `written` are the methods of what was written."""

    def __init__(self, inner: Transport, *, knows: bool) -> None:
        self._inner = inner
        self._knows = knows
        self.written: list[str] = []

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        if request.body:
            self.written.append(request.method)
            body = json.loads(request.body)
            for hook in body["webhooks"]:
                if not self._knows:
                    hook.pop(CONDITIONS, None)
            request = msgspec.structs.replace(request, body=json.dumps(body).encode())
        return await self._inner.send(request, timeout_seconds=timeout_seconds)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


@pytest.mark.parametrize(("knows", "written"), [(True, ["POST", "POST"]), (False, ["POST", "POST", "PATCH"])])
def test_a_server_that_drops_the_condition_is_told_once_more_and_then_left_alone(
    knows: bool, written: list[str]
) -> None:
    async def story() -> None:
        async with api_world() as world:
            server = OlderServer(world.transport, knows=knows)
            settings = WebhookSettings(endpoint=ENDPOINT, host="127.0.0.1", port=0)
            webhook = Webhook(Client(server), SystemClock(), Randomness(1), settings)
            for _ in range(4):
                await webhook._configure(AUTHORITIES[0])  # pyright: ignore[reportPrivateUsage]
            assert server.written == written
            await webhook._configure(AUTHORITIES[1])  # pyright: ignore[reportPrivateUsage]
            assert server.written == [*written, "PATCH", "PATCH"]

    run_virtual(story())
