"""The hosts of interpreter webhooks in a world: what each answers, with no connection opened.

They write an answer as Karmada's library does: without apiVersion and kind.
"""

from collections.abc import Awaitable, Callable

from kubeapi.codec import decode_manifest, encode
from kubeapi.meta import Manifest
from leeward.api.interpreter_config import ResourceInterpreterWebhook
from leeward.client import Response, Unreachable
from leeward.core.interpreter.webhook_exchange import address_of

Answering = Callable[[Manifest], Awaitable[Manifest]]
"""Function from the request of a question to the response, without its uid. It may hang, or raise as a connection
does."""


class InterpreterHosts:
    """The way to all webhooks of a world, as `leeward.runtime.webhook_queue.Call`."""

    def __init__(self) -> None:
        self._hosts: dict[str, Answering] = {}

    def put(self, server: str, answering: Answering) -> None:
        """`server` is the webhook's URL without its path."""
        self._hosts[server] = answering

    async def __call__(self, hook: ResourceInterpreterWebhook, body: bytes) -> Response:
        server, _, _ = address_of(hook)
        answering = self._hosts.get(server)
        if answering is None:
            raise Unreachable(f"{server}: connection refused")
        request = decode_manifest(body)["request"]
        response = {"uid": request["uid"], "successful": True, **await answering(request)}
        return Response(200, encode({"response": response}))
