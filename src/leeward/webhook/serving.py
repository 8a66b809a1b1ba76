"""The webhook at work: keeps its certificate and its configurations right, and serves.

    Secret leeward-webhook-cert  ──▶ TLS context        looked at again before it ends, and every minute
                                 └─▶ caBundle of the two webhook configurations

Several replicas share the Secret: who comes second takes what the first has made. Where it is deleted they put back
what they serve with. The kube-apiserver hears of another authority before anybody serves with what that has signed.
The HTTPS server has two paths, one deadline, and a bound on every body. It never looks into an object.
"""

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import timedelta

from aiohttp import web

from kubeapi import codec
from kubeapi.listening import listening
from kubeapi.loop import Clock, Randomness
from kubeapi.meta import Manifest
from kubeapi.tls import load_pair, server_context
from kubeclient import Client, NotFound, WorldError
from leeward.api.defaulting import DefaultingSettings
from leeward.api.rules.member_addresses import DEFAULT_RULES, AddressRules
from leeward.core.propagation.reach import Reach
from leeward.webhook.certificate_secret import CertificateSecret
from leeward.webhook.certificates import CA, CERTIFICATE, KEY, renew_at
from leeward.webhook.conditions import CONDITIONS
from leeward.webhook.configurations import CERTIFICATE_SECRET, Endpoint, configurations
from leeward.webhook.quotas import QuotaJudge
from leeward.webhook.reviews import Answer, BadReview, answer_review, judge, mutate
from leeward.webhook.store_rules import (
    PATIENCE,
    judge_credentials,
    judge_customization,
    judge_joining,
    judge_policy_count,
    judge_registering,
)

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


log = logging.getLogger(__name__)

LOOK_AGAIN, RETRY = timedelta(minutes=1), timedelta(seconds=5)
"""Pause after which it is seen that somebody has changed a configuration: until then what is written may be refused, or
unjudged; and that after a failure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    """Negative toleration seconds switch that default off, as with Karmada's flags."""

    endpoint: Endpoint
    host: str
    port: int
    not_ready_toleration_seconds: int = 300
    unreachable_toleration_seconds: int = 300
    reach: Reach = field(default_factory=Reach)
    addresses: AddressRules = DEFAULT_RULES
    quota_enforcement: bool = False
    """Gate FederatedQuotaEnforcement."""
    multiple_pod_templates: bool = False
    """Gate MultiplePodTemplatesScheduling."""
    gates: tuple[str, ...] = ()
    """Gates that are on, of those of which a warning says that they are off by default."""


class Webhook:
    def __init__(self, client: Client, clock: Clock, randomness: Randomness, settings: WebhookSettings) -> None:
        client = client.with_patience(PATIENCE)
        self._client = client
        self._clock = clock
        self._randomness = randomness
        self._settings = settings
        self._context = server_context()
        self._quotas = QuotaJudge(client, clock, multiple_pod_templates=settings.multiple_pod_templates)
        self._secret = CertificateSecret(client, clock, CERTIFICATE_SECRET, settings.endpoint.hosts)
        self._knows_conditions = True
        """Tells whether the server keeps conditions; one that has dropped some is not told of it again and again."""

    async def run(self) -> None:
        """Serves until cancelled. The kube-apiserver is pointed to us when we serve, and not before.

        Raises: OSError when the port is taken.
        """
        answers = {"/mutate": self._mutate, "/validate": self._judge}
        server = WebhookServer(answers, self._context, self._settings.host, self._settings.port)
        try:
            await self._tend(self._load)
            await server.start()
            while True:
                await self._tend(self._refresh)
                await asyncio.sleep(self._rest_seconds())
        finally:
            await server.stop()
            await self._client.close()

    async def _judge(self, request: Mapping[str, object]) -> Manifest:
        answer = judge(request, self._settings.reach, self._settings.addresses, self._settings.gates)
        if not answer["allowed"]:
            return answer
        for question in (judge_credentials, judge_joining, judge_registering, judge_policy_count, judge_customization):
            if (refused := await question(request, self._client)) is not None:
                return refused
        if self._settings.quota_enforcement and (refused := await self._quotas.judge(request)) is not None:
            return refused
        return answer

    async def _mutate(self, request: Mapping[str, object]) -> Manifest:
        settings = self._settings
        return mutate(
            request,
            DefaultingSettings(
                now=self._clock.now(),
                new_uid=self._randomness.uid,
                not_ready_toleration_seconds=settings.not_ready_toleration_seconds,
                unreachable_toleration_seconds=settings.unreachable_toleration_seconds,
            ),
        )

    async def _tend(self, task: Callable[[], Awaitable[None]]) -> None:
        """Returns when it is done. A failure leaves the present certificate in use, and is tried again."""
        while True:
            try:
                return await task()
            except WorldError as error:
                log.warning("the certificate of the webhook cannot be looked after: %s", error)
                await asyncio.sleep(RETRY.total_seconds())

    async def _refresh(self) -> None:
        """Raises: WorldError."""
        data = await self._secret.current()
        await self._configure(data[CA])
        self._serve_with(data)

    async def _load(self) -> None:
        """Raises: WorldError."""
        self._serve_with(await self._secret.current())

    def _serve_with(self, data: Mapping[str, bytes]) -> None:
        if data != self._secret.loaded:
            load_pair(self._context, data[CERTIFICATE], data[KEY])
            self._secret.loaded = data

    def _rest_seconds(self) -> float:
        until = renew_at(self._secret.loaded) - self._clock.now()
        return min(LOOK_AGAIN, max(until, RETRY)).total_seconds()

    async def _configure(self, ca_bundle: bytes) -> None:
        """Raises: WorldError."""
        for resource, wanted in configurations(
            self._settings.endpoint, ca_bundle, quotas=self._settings.quota_enforcement
        ):
            try:
                present = await self._client.get(resource, wanted["metadata"]["name"])
            except NotFound:
                await self._client.create(resource, wanted)
                continue
            unknown = () if self._knows_conditions else (CONDITIONS,)
            if _differs(present["webhooks"], wanted["webhooks"], unknown):
                patch = {"webhooks": wanted["webhooks"]}
                written = await self._client.patch(resource, wanted["metadata"]["name"], patch)
                self._knows_conditions = not _differs(written["webhooks"], wanted["webhooks"])


def _differs(present: list[Manifest], wanted: list[Manifest], unknown: Collection[str] = ()) -> bool:
    """Tells whether a field that we set has another value; fields that the server has added do not count."""
    if len(present) != len(wanted):
        return True
    return any(
        is_there.get(key) != value
        for is_there, hook in zip(present, wanted, strict=True)
        for key, value in hook.items()
        if key not in unknown or key in is_there
    )
