"""Estimators as processes, and the channels to them. gRPC is imported only where one of these is wanted."""

import asyncio
import logging
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from controller_runtime import Backoff, Trouble, attempt
from kubeapi.loop import Randomness, Supervisor, SystemClock
from kubeclient import MEMBER_BOUNDS, Client, limited
from kubeclient.connection import Connection, transport_of
from leeward.app.flags.settings import ComponentSettings, Estimation
from leeward.app.probes import Probes, served
from leeward.estimator.access import EstimatorAccess
from leeward.estimator.answering import MemberEstimates
from leeward.runtime.controller_context import Member
from leeward.runtime.metrics import Metrics

if TYPE_CHECKING:
    from leeward.estimator.channels import EstimatorChannels
    from leeward.estimator.serving import EstimatorServer, ServerCertificates

log = logging.getLogger(__name__)

NAME = "karmada-scheduler-estimator"
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 1.0, 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatorConfig:
    """`connection` leads to the member that `cluster` names."""

    cluster: str
    connection: Connection
    settings: ComponentSettings


async def run_estimator(config: EstimatorConfig) -> None:
    """Serves until cancelled. Raises: OSError when an address is taken, or a certificate cannot be read."""
    metrics = Metrics()
    probes, settings = Probes(metrics), config.settings
    connection = replace(config.connection, bounds=MEMBER_BOUNDS)
    client = Client(limited(transport_of(connection), settings.limits.control_plane), NAME)
    try:
        async with served(probes, settings.serving), Supervisor(NAME) as supervisor:
            member = Member.of(config.cluster, client, Randomness(), supervisor)
            estimates = MemberEstimates(member, SystemClock())
            server = _server(estimates, settings.estimation)
            try:
                log.info("estimating for %s on port %d", config.cluster, await server.start())
                await _meet(estimates)
                probes.ready = True
                await asyncio.Event().wait()
            finally:
                await server.close()
    finally:
        await client.close()


def estimator_channels(client: Client, access: EstimatorAccess) -> "EstimatorChannels | None":
    """None where no estimator is to be asked. `client` is the control plane's."""
    if not access.enabled:
        return None
    _quiet()
    from leeward.estimator.channels import EstimatorChannels

    return EstimatorChannels(client, access)


def _server(estimates: MemberEstimates, settings: Estimation) -> "EstimatorServer":
    _quiet()
    from leeward.estimator.serving import EstimatorServer

    host, port = settings.address
    return EstimatorServer(estimates, host, port, _certificates(settings))


def _certificates(settings: Estimation) -> "ServerCertificates | None":
    from leeward.estimator.serving import ServerCertificates

    if settings.certificate is None or settings.key is None:
        return None
    authority: Path | None = None if settings.skip_client_verify else settings.client_authority
    return ServerCertificates(certificate=settings.certificate, key=settings.key, client_authority=authority)


async def _meet(estimates: MemberEstimates) -> None:
    """Returns when the member has been listed."""
    pauses = Backoff(FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS)
    await attempt(estimates.wait_synced, pauses, Trouble(log, "waiting for the member"))


def _quiet() -> None:
    """gRPC writes each failed handshake to standard error. The important part is logged here."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
