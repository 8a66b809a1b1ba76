"""Calls webhooks over HTTPS: one pool of connections for each server and authority, the least used one goes first."""

import ssl
from collections import OrderedDict

from kubeapi.errors import WorldError
from kubeapi.transport import Request
from kubeserver.webhooks.calling import Address, Uncallable, split_url
from leeward.client.http import HttpTransport

MAX_SERVERS = 64
MAX_SHOWN = 200
MAX_ANSWER_BYTES = 32 * 1024 * 1024
"""Several times what a webhook is asked about at once."""
_HEADERS = {"content-type": "application/json", "accept": "application/json", "user-agent": "kube-apiserver-admission"}

_Key = tuple[str, str, str]


class HttpsWebhooks:
    """A `WebhookClient`. Certificates are checked against the webhook's own authority, else against the system's."""

    def __init__(self) -> None:
        self._transports: OrderedDict[_Key, HttpTransport] = OrderedDict()

    async def post(self, address: Address, body: bytes, timeout_seconds: float) -> bytes:
        server, path = split_url(address.url)
        query = {"timeout": f"{timeout_seconds:g}s"}
        try:
            transport = await self._transport(server, address)
            response = await transport.send(
                Request("POST", path, query, _HEADERS, body), timeout_seconds=timeout_seconds
            )
        except (WorldError, ssl.SSLError, ValueError) as error:
            raise Uncallable(str(error)) from error
        if response.code != 200:
            said = response.body[:MAX_SHOWN].decode(errors="replace")
            raise Uncallable(f"{address.url} answered with code {response.code}: {said}")
        if len(response.body) > MAX_ANSWER_BYTES:
            raise Uncallable(f"{address.url} answered with {len(response.body)} bytes: limit is {MAX_ANSWER_BYTES}")
        return response.body

    async def close(self) -> None:
        while self._transports:
            await self._transports.popitem()[1].close()

    async def _transport(self, server: str, address: Address) -> HttpTransport:
        key = (server, address.authority, address.server_name)
        if key not in self._transports:
            context = ssl.create_default_context(cadata=address.authority or None)
            self._transports[key] = HttpTransport(server, context, server_name=address.server_name)
        self._transports.move_to_end(key)
        transport = self._transports[key]
        if len(self._transports) > MAX_SERVERS:
            await self._transports.popitem(last=False)[1].close()
        return transport
