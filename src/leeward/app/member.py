"""A local member cluster in one process: an API server of its own, and simulated workloads."""

import asyncio
import logging
from dataclasses import dataclass

from kubeapi.loop import Clock, Randomness, Supervisor, SystemClock
from kubeapi.tls import server_context
from kubeclient import Client, Request, Response
from kubecluster import Workloads, WorkloadSettings
from kubecluster.resource_quota import ResourceQuotaAdmission
from kubecluster.rules.load_balancer import load_balancer_range
from kubecluster.simulated_webhooks import SimulatedWebhooks
from kubeserver.admission.service_accounts import ServiceAccountAdmission
from kubeserver.auth.authentication import load_token_file
from kubeserver.auth.tokens import load_signing_key
from kubeserver.handler import Handler, StreamResponse, User
from kubeserver.handlers.chain import handler_chain
from kubeserver.handlers.server import ApiServer
from kubeserver.health import OPEN_PATHS
from kubeserver.http.front import HttpFront
from kubeserver.inprocess import InProcessTransport
from kubeserver.registry.room import StoreBounds
from kubeserver.starting import start_apiserver
from kubeserver.store import Store
from kubeserver.store.sqlite import SqliteMedium
from kubeserver.webhooks.https import HttpsWebhooks
from leeward.app.access import grant_member_access
from leeward.app.config import SIGNING_KEY_FILE, MemberConfig
from leeward.app.local import FleetError
from leeward.app.local.faults import NO_FAULTS, Faults, read_faults
from leeward.runtime.controller_context import Server
from leeward.runtime.metrics import Metrics

log = logging.getLogger(__name__)

FAULTS_SECONDS = 0.2


async def run_member(config: MemberConfig) -> None:
    """Serves until cancelled. Raises: OSError when the port is taken."""
    member = _Member(config, SystemClock(), Randomness(), Metrics(), HttpsWebhooks())
    config.data_dir.mkdir(parents=True, exist_ok=True)
    async with Supervisor(config.name) as supervisor:
        store = await Store.open(SqliteMedium(config.data_dir / "store.db"), supervisor)
        try:
            await member.serve(store, supervisor)
        finally:
            await supervisor.close()
            await store.close()
            await member.webhooks.close()


@dataclass(frozen=True, slots=True)
class _Member:
    """Context that the parts of one member share."""

    config: MemberConfig
    clock: Clock
    randomness: Randomness
    metrics: Metrics
    webhooks: HttpsWebhooks

    async def serve(self, store: Store, supervisor: Supervisor) -> None:
        config, clock, randomness = self.config, self.clock, self.randomness
        tls = server_context(config.client_ca_file, (config.tls_cert_file, config.tls_private_key_file))
        api_server = await self._start_apiserver(store, supervisor)
        token_secrets = api_server.token_secrets(config.client_ca_file.read_bytes())
        supervisor.start(token_secrets.run(), "token-secrets")
        faulty = FaultyServer(config, api_server)
        supervisor.start(faulty.follow(), "faults")
        client = Client(InProcessTransport(api_server), "leeward-member")
        await grant_member_access(client)
        server = Server.of(client, randomness, supervisor)
        settings = WorkloadSettings(
            nodes=config.nodes,
            load_balancers=config.load_balancers,
            pod_startup_seconds=config.timing.pod_startup_seconds,
            load_balancer_cidr=load_balancer_range(config.name),
            root_certificates=config.client_ca_file.read_text(),
        )
        workloads = Workloads(server.client, clock, randomness, self.metrics, supervisor, settings)
        workloads.serve(api_server)
        await workloads.start()
        handler = faulty.stalling(handler_chain(api_server, clock, randomness, self.metrics.registry))
        front = HttpFront(handler, api_server.authenticator, tls, port=config.port, delay=faulty.delay_seconds)
        await front.start()
        try:
            config.ready()
            await asyncio.Event().wait()
        finally:
            await front.stop()

    async def _start_apiserver(self, store: Store, supervisor: Supervisor) -> ApiServer:
        config = self.config
        return await start_apiserver(
            store,
            self.clock,
            self.randomness,
            supervisor,
            admission=(ServiceAccountAdmission(store), ResourceQuotaAdmission(store)),
            metrics=self.metrics.registry,
            tokens=load_token_file(config.token_file) | load_token_file(config.impersonator_token_file),
            signing_key=load_signing_key(config.data_dir / SIGNING_KEY_FILE, self.randomness),
            webhook_client=self.webhooks,
            passed_over=SimulatedWebhooks(store).passed_over,
            event_ttl_seconds=config.timing.event_ttl,
            bounds=StoreBounds(counts_quotas=False),
        )


class FaultyServer:
    """Makes an API server as bad as its faults file says."""

    def __init__(self, config: MemberConfig, server: ApiServer) -> None:
        self._path = config.faults_file
        self._server = server
        self._faults = NO_FAULTS
        self._serving = asyncio.Event()
        self._take(self._read())

    def delay_seconds(self) -> float:
        return self._faults.latency_seconds

    def stalling(self, handler: Handler) -> Handler:
        """Answers as `handler` does, but for reads and writes while the member is stalled."""
        return _Stalling(handler, self._serving)

    async def follow(self) -> None:
        while True:
            await asyncio.sleep(FAULTS_SECONDS)
            self._take(self._read())

    def _read(self) -> Faults:
        try:
            return read_faults(self._path)
        except FleetError as error:
            log.warning("%s", error)
            return self._faults

    def _take(self, faults: Faults) -> None:
        self._faults = faults
        self._server.health.ready = not faults.unready
        if faults.stalled:
            self._serving.clear()
        else:
            self._serving.set()


class _Stalling:
    def __init__(self, handler: Handler, serving: asyncio.Event) -> None:
        self._handler = handler
        self._serving = serving

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        if not request.path.startswith(OPEN_PATHS):
            await self._serving.wait()
        return await self._handler.handle(request, user)
