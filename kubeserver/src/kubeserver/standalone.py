"""The API server alone, in one process: built-in kinds, a store in a directory, and HTTPS.

As with kube-apiserver, nobody empties namespaces that end and nobody collects dependents, unless `controllers` asks.
"""

import asyncio
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client import CollectorRegistry

from kubeapi.loop import Clock, Randomness, Supervisor, SystemClock
from kubeapi.meta import Manifest
from kubeapi.tls import server_context
from kubeserver.auth.authentication import load_token_file
from kubeserver.auth.tokens import load_signing_key
from kubeserver.certificates import Authority, Pair
from kubeserver.controllers.expiring import EVENT_TTL_SECONDS
from kubeserver.handlers.audit import MAX_BYTES, AuditFile, Sink, write_to_stdout
from kubeserver.handlers.chain import handler_chain
from kubeserver.http.front import HttpFront
from kubeserver.starting import start_apiserver
from kubeserver.store import Store
from kubeserver.store.sqlite import SqliteMedium
from kubeserver.webhooks.calling import WebhookClient
from kubeserver.webhooks.https import HttpsWebhooks

SIGNING_KEY_FILE, CERTIFICATES = "service-account.key", "pki"
"""Names in `data_dir` of what the server shows when it was given no certificate."""


@dataclass(frozen=True, slots=True)
class AuditLog:
    """Place of the audit log, and how much of it is kept: `backups` full files beside the one that is written.

    No `path` is the standard output, of which nothing is kept.
    """

    path: Path | None
    max_bytes: int = MAX_BYTES
    backups: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiServerConfig:
    """Configuration of a server. Without a certificate it makes its own; without `client_ca_file` no client is known by
    certificate.

    Without `audit_log` nobody is told who asked for what.
    """

    data_dir: Path
    port: int
    """0 is one that is free."""
    address: str = "127.0.0.1"
    token_auth_file: Path | None = None
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    client_ca_file: Path | None = None
    event_ttl_seconds: float = EVENT_TTL_SECONDS
    audit_log: AuditLog | None = None
    controllers: bool = False
    """Namespaces that end are emptied, dependents collected, roles aggregated, and objects deleted that have come to
    their end: what kube-apiserver leaves to a kube-controller-manager."""
    initializing_seconds: float = 0.0
    """Seconds for which the objects of a new definition are put off (429), for tests of clients."""
    crds: Sequence[Manifest] = ()
    ready: Callable[[int], None] = field(default=lambda port: None)
    """Function that is given the port, once the server listens."""


async def run_apiserver(config: ApiServerConfig) -> None:
    """Serves until cancelled. Raises: OSError when the port is taken, ValueError for files that cannot be read."""
    config.data_dir.mkdir(parents=True, exist_ok=True)
    tls = _server_context(config, SystemClock())
    webhooks, sink = HttpsWebhooks(), _audit_sink(config.audit_log)
    async with Supervisor("apiserver") as supervisor:
        store = await Store.open(SqliteMedium(config.data_dir / "store.db"), supervisor)
        try:
            front = await _front(config, store, supervisor, webhooks, sink, tls)
            config.ready(await front.start())
            try:
                await asyncio.Event().wait()
            finally:
                await front.stop()
        finally:
            await supervisor.close()
            await store.close()
            await webhooks.close()
            if isinstance(sink, AuditFile):
                sink.close()


async def _front(
    config: ApiServerConfig,
    store: Store,
    supervisor: Supervisor,
    webhooks: WebhookClient,
    sink: Sink | None,
    tls: ssl.SSLContext,
) -> HttpFront:
    clock, randomness, registry = SystemClock(), Randomness(), CollectorRegistry()
    server = await start_apiserver(
        store,
        clock,
        randomness,
        supervisor,
        crds=config.crds,
        metrics=registry,
        tokens=load_token_file(config.token_auth_file) if config.token_auth_file else {},
        signing_key=load_signing_key(config.data_dir / SIGNING_KEY_FILE, randomness),
        collectors=config.controllers,
        webhook_client=webhooks,
        event_ttl_seconds=config.event_ttl_seconds,
    )
    handler = handler_chain(server, clock, randomness, registry, sink, config.initializing_seconds)
    return HttpFront(handler, server.authenticator, tls, config.address, config.port)


def _audit_sink(wanted: AuditLog | None) -> Sink | None:
    if wanted is None:
        return None
    return write_to_stdout if wanted.path is None else AuditFile(wanted.path, wanted.max_bytes, wanted.backups)


def _server_context(config: ApiServerConfig, clock: Clock) -> ssl.SSLContext:
    pair = _pair(config, clock)
    return server_context(config.client_ca_file, (pair.certificate, pair.key))


def _pair(config: ApiServerConfig, clock: Clock) -> Pair:
    if config.tls_cert_file is not None and config.tls_private_key_file is not None:
        return Pair(config.tls_cert_file, config.tls_private_key_file)
    return Authority(config.data_dir / CERTIFICATES, clock.now()).server("apiserver")
