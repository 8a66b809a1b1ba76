"""Interpreter webhooks: which one is asked, and how it is reached. How long for, and what is remembered, is said in
`webhook_queue`.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from kubeapi.loop import Clock, Supervisor
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.transport import Request, Response, Transport
from kubeclient.bounds import MAX_OBJECT_BYTES, Bounds
from kubeclient.connection import Connection, transport_of
from leeward.api.interpreter_config import ResourceInterpreterWebhook, ResourceInterpreterWebhookConfiguration
from leeward.api.rules.interpreters import gate_webhook_rules, https_fault, webhook_rules
from leeward.api.rules.member_addresses import DEFAULT_RULES, AddressRules
from leeward.core.interpreter import webhook_exchange
from leeward.core.interpreter.scripts import Operation
from leeward.runtime.webhook_queue import Call, WebhookFailed, WebhookQueue

_BOUNDS = Bounds(body=MAX_OBJECT_BYTES, line=MAX_OBJECT_BYTES, is_plain=True)
_MOST_SERVERS = 32

Configurations = Callable[[], Awaitable[Iterable[ResourceInterpreterWebhookConfiguration]]]
"""Configurations that there are now. Raises: Unreachable while that is not known."""


class HttpsCalls:
    """Keeps a connection to each server. `addresses` are the rules for those of members; see `webhook_url_fault`.

    Gates have calls of their own (`of_gates`): their servers close no connection to an interpreter's.
    """

    def __init__(
        self, addresses: AddressRules = DEFAULT_RULES, rules_of: Callable[[AddressRules], AddressRules] = webhook_rules
    ) -> None:
        self._given, self._addresses = addresses, rules_of(addresses)
        self._of_gates: HttpsCalls | None = None
        self._transports: dict[tuple[str, bytes], Transport] = {}

    def of_gates(self) -> "HttpsCalls":
        """Calls of gates, by the same rules of members."""
        if self._of_gates is None:
            self._of_gates = HttpsCalls(self._given, gate_webhook_rules)
        return self._of_gates

    async def __call__(self, hook: ResourceInterpreterWebhook, body: bytes) -> Response:
        server, path, query = webhook_exchange.address_of(hook)
        if fault := https_fault(server, self._addresses):
            raise ValueError(fault)
        seconds = webhook_exchange.seconds_of(hook)
        request = Request("POST", path, {**query, "timeout": f"{seconds}s"}, {"content-type": "application/json"}, body)
        transport = await self._transport(server, hook.client_config.ca_bundle)
        return await transport.send(request, timeout_seconds=seconds)

    async def _transport(self, server: str, authority: bytes) -> Transport:
        found = self._transports.get((server, authority))
        if found is None:
            if len(self._transports) >= _MOST_SERVERS:
                await self.close()
            found = transport_of(
                Connection(server, certificate_authority=authority, addresses=self._addresses, bounds=_BOUNDS)
            )
            self._transports[server, authority] = found
        return found

    async def close(self) -> None:
        transports, self._transports = list(self._transports.values()), {}
        for transport in transports:
            await transport.close()
        if self._of_gates is not None:
            await self._of_gates.close()


class InterpreterWebhooks:
    """Questions are carried by tasks of the supervisor."""

    def __init__(self, configurations: Configurations, call: Call, clock: Clock, supervisor: Supervisor) -> None:
        self._configurations = configurations
        self._call = call
        self._clock = clock
        self._supervisor = supervisor
        self._queues: dict[ResourceInterpreterWebhook, WebhookQueue] = {}

    async def answers(self, manifest: ReadOnlyManifest, operation: Operation) -> bool:
        """Tells whether a webhook is there for this question."""
        return self._hook(await self._configurations(), manifest, operation) is not None

    async def ask(self, manifest: ReadOnlyManifest, operation: Operation, **more: Any) -> Manifest | None:
        """Response of a webhook; None when none is there for this question.

        Raises: WebhookFailed, NotAnsweredYet; Unreachable while the configurations are not known.
        """
        known = list(await self._configurations())
        hook = self._hook(known, manifest, operation)
        if hook is None:
            return None
        if hook.client_config.url is None and hook.client_config.service is None:
            raise WebhookFailed(f"webhook {hook.name}: it says neither a url nor a service, or cannot be read")
        try:
            return await self._queue(hook, known).ask(
                lambda uid: webhook_exchange.question(uid, operation, manifest, **more)
            )
        except WebhookFailed as error:
            raise WebhookFailed(f"webhook {hook.name}: {error}") from error

    def _hook(
        self, known: Iterable[ResourceInterpreterWebhookConfiguration], manifest: ReadOnlyManifest, operation: Operation
    ) -> ResourceInterpreterWebhook | None:
        return webhook_exchange.hook_for(known, manifest.get("apiVersion", ""), manifest.get("kind", ""), operation)

    def _queue(
        self, hook: ResourceInterpreterWebhook, known: Iterable[ResourceInterpreterWebhookConfiguration]
    ) -> WebhookQueue:
        """The queue of a webhook; those of webhooks that are configured no more end."""
        found = self._queues.get(hook)
        if found is None:
            configured = {each for configuration in known for each in configuration.webhooks}
            self._queues = {each: queue for each, queue in self._queues.items() if each in configured}
            found = self._queues[hook] = WebhookQueue(hook, self._call, self._clock, self._supervisor)
        return found
