"""Interpreter webhooks are asked over HTTPS. One that does not answer is left alone for a while, so that it takes no
controller's time from other kinds. Holds: L4.
"""

import itertools
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from kubeapi.errors import WorldError
from kubeapi.loop.clock import Clock
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.transport import Request, Response, Transport
from leeward.api.interpreter_config import ResourceInterpreterWebhook, ResourceInterpreterWebhookConfiguration
from leeward.client.bounds import MAX_OBJECT_BYTES, Bounds
from leeward.client.connection import Connection, transport_of
from leeward.core.interpreter import webhook_exchange
from leeward.core.interpreter.rules import InterpretationError
from leeward.core.interpreter.scripts import Operation

LEFT_ALONE = timedelta(seconds=10)
_BOUNDS = Bounds(body=MAX_OBJECT_BYTES, line=MAX_OBJECT_BYTES, is_plain=True)
_MOST_SERVERS = 32

Configurations = Callable[[], Awaitable[Iterable[ResourceInterpreterWebhookConfiguration]]]
"""Those that there are now. Raises: Unreachable while that is not known."""
Call = Callable[[ResourceInterpreterWebhook, bytes], Awaitable[Response]]
"""Brings a question to a webhook. Raises: WorldError, ValueError for an address or certificate that makes no sense."""


class HttpsCalls:
    """Keeps a connection to each server."""

    def __init__(self) -> None:
        self._transports: dict[tuple[str, bytes], Transport] = {}

    async def __call__(self, hook: ResourceInterpreterWebhook, body: bytes) -> Response:
        server, path, query = webhook_exchange.address_of(hook)
        seconds = webhook_exchange.seconds_of(hook)
        request = Request("POST", path, {**query, "timeout": f"{seconds}s"}, {"content-type": "application/json"}, body)
        transport = await self._transport(server, hook.client_config.ca_bundle)
        return await transport.send(request, timeout_seconds=seconds)

    async def _transport(self, server: str, authority: bytes) -> Transport:
        found = self._transports.get((server, authority))
        if found is None:
            if len(self._transports) >= _MOST_SERVERS:
                await self.close()
            found = transport_of(Connection(server, certificate_authority=authority, bounds=_BOUNDS))
            self._transports[server, authority] = found
        return found

    async def close(self) -> None:
        transports, self._transports = list(self._transports.values()), {}
        for transport in transports:
            await transport.close()


class InterpreterWebhooks:
    def __init__(self, configurations: Configurations, call: Call, clock: Clock) -> None:
        self._configurations = configurations
        self._call = call
        self._clock = clock
        self._numbers = itertools.count(1)
        self._left_alone: dict[str, datetime] = {}
        """By webhook: until when, because it did not answer."""

    async def answers(self, manifest: ReadOnlyManifest, operation: Operation) -> bool:
        """Whether a webhook is there for this question."""
        return await self._hook(manifest, operation) is not None

    async def ask(self, manifest: ReadOnlyManifest, operation: Operation, **more: Any) -> Manifest | None:
        """What a webhook responds; None when none is there for this question. Raises: InterpretationError."""
        hook = await self._hook(manifest, operation)
        if hook is None:
            return None
        uid = str(next(self._numbers))
        body = webhook_exchange.question(uid, operation, manifest, **more)
        try:
            response = await self._answer(hook, body)
            return webhook_exchange.answer_in(response.code, response.body, uid)
        except (InterpretationError, ValueError, WorldError) as error:
            raise InterpretationError(f"webhook {hook.name}: {error}") from error

    async def _hook(self, manifest: ReadOnlyManifest, operation: Operation) -> ResourceInterpreterWebhook | None:
        known = await self._configurations()
        return webhook_exchange.hook_for(known, manifest.get("apiVersion", ""), manifest.get("kind", ""), operation)

    async def _answer(self, hook: ResourceInterpreterWebhook, body: bytes) -> Response:
        now = self._clock.now()
        if now < self._left_alone.get(hook.name, now):
            raise InterpretationError("it did not answer, and is asked again soon")
        try:
            response = await self._call(hook, body)
        except WorldError:
            self._left_alone[hook.name] = self._clock.now() + LEFT_ALONE
            raise
        self._left_alone.pop(hook.name, None)
        return response
