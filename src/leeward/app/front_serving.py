"""`leeward cluster-proxy` at work: keeps its certificate and its address right, and serves (`hub_front`).

    ConfigMap kube-system/extension-apiserver-authentication   the client CA: whose certificates name a user
    Secret karmada-system/leeward-cluster-proxy-cert           the certificate that it shows, which it makes and renews
    ConfigMap karmada-system/leeward-cluster-proxy             its URL and its CA, for `--print-kubeconfig`

Another client CA ends all connections, so that nobody stays whom the old one has named.
"""

import asyncio
import logging
import ssl
from dataclasses import dataclass
from datetime import timedelta

from kubeapi.loop import Clock
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.tls import load_pair, server_context
from kubeapi.untrusted import mapping_in, text_in
from kubeclient import Client, NotFound, WorldError
from kubeclient.connection import Connection
from kubeclient.forwarding import Forwarder
from kubeserver.http.front import HttpFront
from leeward.api.rules.member_addresses import AddressRules
from leeward.app.connect import reaching
from leeward.app.front_address import NAME, FrontAddress, publish_front
from leeward.app.hub_front import Certificates, HubFront
from leeward.app.install.manifests import PROXY_CERTIFICATE_SECRET
from leeward.webhook import Endpoint
from leeward.webhook.certificate_secret import CertificateSecret
from leeward.webhook.certificates import CA, CERTIFICATE, KEY, renew_at

log = logging.getLogger(__name__)

LOOK_AGAIN, RETRY = timedelta(minutes=1), timedelta(seconds=5)
AUTHENTICATION, CLIENT_CA = "extension-apiserver-authentication", "client-ca-file"
"""ConfigMap in which each kube-apiserver says by whom its clients are known, and the key of that."""
CONFIG_MAPS: Resource[Manifest] = Resource.of_manifests("v1", "configmaps", "ConfigMap", True)


@dataclass(frozen=True, slots=True)
class FrontSettings:
    """`endpoint` is where clients find it."""

    endpoint: Endpoint
    host: str
    port: int
    addresses: AddressRules


class FrontServer:
    def __init__(self, client: Client, connection: Connection, clock: Clock, settings: FrontSettings) -> None:
        self._client = client
        self._clock = clock
        self._settings = settings
        self._forwarder = Forwarder(connection)
        self._front = HubFront(client, self._forwarder.forward, reaching(settings.addresses))
        self._secret = CertificateSecret(client, clock, PROXY_CERTIFICATE_SECRET, settings.endpoint.hosts, NAME)
        self._authority = ""
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._server: HttpFront | None = None

    async def run(self) -> None:
        """Serves until cancelled. Raises: OSError when the port is taken."""
        try:
            while True:
                await self._tend()
                until = renew_at(self._secret.loaded) - self._clock.now()
                await asyncio.sleep(min(LOOK_AGAIN, max(until, RETRY)).total_seconds())
        finally:
            await self._stop()
            await self._front.close()
            await self._forwarder.close()
            await self._client.close()

    async def _tend(self) -> None:
        """Returns when it is done. A failure leaves the present one in use, and is tried again."""
        while True:
            try:
                return await self._refresh()
            except WorldError as error:
                log.warning("the cluster proxy cannot be looked after: %s", error)
                await asyncio.sleep(RETRY.total_seconds())

    async def _refresh(self) -> None:
        """Raises: WorldError; OSError."""
        authority, data = await self._client_authority(), await self._secret.current()
        if self._server is None or authority != self._authority:
            await self._serve_clients_of(authority, data)
        elif data != self._secret.loaded:
            load_pair(self._context, data[CERTIFICATE], data[KEY])
        self._secret.loaded = data
        await publish_front(self._client, FrontAddress(self._settings.endpoint.url, data[CA]))

    async def _client_authority(self) -> str:
        """Authority of the control plane's clients; empty where certificates name nobody. Raises: WorldError."""
        try:
            found = await self._client.get(CONFIG_MAPS, AUTHENTICATION, "kube-system")
        except NotFound:
            return ""
        return text_in(mapping_in(found, "data"), CLIENT_CA)

    async def _serve_clients_of(self, authority: str, data: dict[str, bytes]) -> None:
        await self._stop()
        context = server_context()
        if authority:
            context.load_verify_locations(cadata=authority)
            context.verify_mode = ssl.CERT_OPTIONAL
        load_pair(context, data[CERTIFICATE], data[KEY])
        server = HttpFront(self._front, Certificates(), context, self._settings.host, self._settings.port)
        await server.start()
        self._server, self._context, self._authority = server, context, authority
        log.info("the cluster proxy serves at %s", self._settings.endpoint.url)

    async def _stop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.stop()
