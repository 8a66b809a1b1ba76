"""The control plane of a local fleet in one process: the embedded API server, and all controllers over it."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from kubeapi.loop import Clock, Randomness, Supervisor, SystemClock
from kubeapi.tls import server_context
from kubeclient import Client, NotFound
from kubeclient.connection import Connection
from kubeserver.auth.authentication import load_token_file
from kubeserver.auth.tokens import load_signing_key
from kubeserver.handlers.audit import AuditFile
from kubeserver.handlers.chain import handler_chain
from kubeserver.handlers.connecting import PROXY
from kubeserver.handlers.server import ApiServer
from kubeserver.http.front import HttpFront
from kubeserver.inprocess import InProcessTransport
from kubeserver.starting import start_apiserver
from kubeserver.store import Store
from kubeserver.store.sqlite import SqliteMedium
from kubeserver.webhooks.https import HttpsWebhooks
from leeward.api.names import MANAGER_LEASE, SCHEDULER_LEASE
from leeward.api.resource import CLUSTERS
from leeward.api.rules.member_addresses import AddressRules, rules_of_control_plane
from leeward.api.schema import custom_resource_definitions
from leeward.app.cluster_info import publish_current
from leeward.app.config import AUDIT_FILE, SIGNING_KEY_FILE, ControlPlaneConfig
from leeward.app.connect import connecting, reaching
from leeward.lua.jail import ProcessJail
from leeward.manager.admission import KarmadaAdmission, store_bounds
from leeward.manager.agents import AGENT_ACCESS, AgentRestriction, AgentRights, approve_agents
from leeward.manager.bootstrap import ensure_namespaces
from leeward.manager.choice import SCHEDULER
from leeward.manager.cluster_proxy import ClusterProxy
from leeward.manager.control_plane import ControllerManager
from leeward.manager.quota_admission import quota_admissions
from leeward.manager.webhook_templates import WebhookTemplates
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.interpreter_webhooks import HttpsCalls
from leeward.runtime.metrics import Metrics


async def run_control_plane(config: ControlPlaneConfig) -> None:
    """Serves until cancelled. Raises: OSError when the port is taken."""
    clock, randomness, metrics = SystemClock(), Randomness(), Metrics()
    config.data_dir.mkdir(parents=True, exist_ok=True)
    tls = server_context(config.client_ca_file, (config.tls_cert_file, config.tls_private_key_file))
    webhooks, audit_file = HttpsWebhooks(), AuditFile(config.data_dir / AUDIT_FILE)
    addresses = rules_of_control_plane(f"https://127.0.0.1:{config.port}", allowed=config.member_addresses)
    async with Supervisor("api server") as serving, Supervisor("controllers") as controlling:
        store = await Store.open(SqliteMedium(config.data_dir / "store.db"), serving)
        try:
            environment = _Environment(config, clock, randomness, metrics, webhooks, addresses, serving)
            api_server = await _start_apiserver(environment, store)
            client = Client(InProcessTransport(api_server), "leeward")
            await ensure_namespaces(client)
            await lead_to_own_members(client, config.member_ports)
            await _publish(config, client)
            _start_signers(config, api_server, serving)
            proxy = ClusterProxy(client, reaching(addresses), api_server)
            api_server.connect(CLUSTERS.group, CLUSTERS.plural, PROXY, proxy.connect)
            jail, calls = ProcessJail(controlling), HttpsCalls(addresses)
            plane = ControlPlane.of(client, clock, randomness, metrics, controlling, jail, calls)
            manager = ControllerManager(plane, connecting(addresses), config.settings)
            metrics.process.leads(MANAGER_LEASE, lambda: True)
            metrics.process.leads(SCHEDULER_LEASE, lambda: config.settings.controllers.runs(SCHEDULER))
            handler = handler_chain(api_server, clock, randomness, metrics.registry, audit_file)
            front = HttpFront(handler, api_server.authenticator, tls, port=config.port)
            await front.start()
            try:
                manager.start()
                config.ready()
                await asyncio.Event().wait()
            finally:
                await front.stop()
                await manager.close()
                await proxy.close()
                await controlling.close()
        finally:
            await store.close()
            await webhooks.close()
            audit_file.close()


@dataclass(frozen=True, slots=True)
class _Environment:
    """Environment of the API server."""

    config: ControlPlaneConfig
    clock: Clock
    randomness: Randomness
    metrics: Metrics
    webhooks: HttpsWebhooks
    addresses: AddressRules
    serving: Supervisor


async def _start_apiserver(environment: _Environment, store: Store) -> ApiServer:
    """An API server that knows Karmada's kinds. Raises: OSError, ValueError for files that cannot be read."""
    config, clock, randomness = environment.config, environment.clock, environment.randomness
    timing, reach = config.settings.timing, config.settings.skipped.reach
    admission = KarmadaAdmission(clock, randomness, timing, store, reach, environment.addresses)
    return await start_apiserver(
        store,
        clock,
        randomness,
        environment.serving,
        admission=(admission, AgentRestriction(store), *quota_admissions(store, config.settings.gates)),
        crds=custom_resource_definitions(),
        objects=AGENT_ACCESS,
        metrics=environment.metrics.registry,
        tokens=load_token_file(config.token_file),
        signing_key=load_signing_key(config.data_dir / SIGNING_KEY_FILE, randomness),
        webhook_client=environment.webhooks,
        passed_over=WebhookTemplates(store).passed_over,
        rules_of_user=AgentRights(store),
        event_ttl_seconds=timing.event_ttl,
        bounds=store_bounds(config.settings.storage),
    )


async def _publish(config: ControlPlaneConfig, client: Client) -> None:
    """Tells whoever wants to join the identity of this control plane. Raises: OSError, WorldError."""
    authority = config.client_ca_file.read_bytes()
    await publish_current(client, Connection(f"https://127.0.0.1:{config.port}", certificate_authority=authority))


def _start_signers(config: ControlPlaneConfig, api_server: ApiServer, serving: Supervisor) -> None:
    """Signs certificates of agents and the cluster-info, and writes tokens of accounts into their Secrets.

    Raises: OSError, ValueError.
    """
    authority = config.client_ca_file.read_bytes(), config.client_ca_key_file.read_bytes()
    serving.start(api_server.certificate_signer(*authority, approve_agents).run(), "certificate-signer")
    serving.start(api_server.token_secrets(authority[0]).run(), "token-secrets")
    serving.start(api_server.bootstrap_signer().run(), "bootstrap-signer")


async def lead_to_own_members(client: Client, ports: Mapping[str, int]) -> None:
    """Has each Cluster lead to the port, on this machine, of the member with its name. Raises: WorldError."""
    for name, port in ports.items():
        endpoint = f"https://127.0.0.1:{port}"
        try:
            cluster = await client.get(CLUSTERS, name)
        except NotFound:
            continue
        if cluster.spec.api_endpoint not in ("", endpoint):
            await client.patch(CLUSTERS, name, {"spec": {"apiEndpoint": endpoint}})
