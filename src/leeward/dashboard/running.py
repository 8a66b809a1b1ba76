"""The dashboard as a process or a part of one: what it is made of, from its start to its end."""

import logging
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from kubeapi.loop import Clock, Randomness, Supervisor
from kubeclient import IMPATIENT, Client
from kubeclient.connection import transport_of
from leeward.dashboard.context import DashboardConfig, DashboardContext
from leeward.dashboard.following import FleetFollower
from leeward.dashboard.page_files import PageFile
from leeward.dashboard.server import application, serving
from leeward.dashboard.sessions import SessionStore

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Listening:
    """Address to listen at, and the certificate; port 0 is any that is free."""

    host: str = "127.0.0.1"
    port: int = 0
    tls: ssl.SSLContext | None = None


@asynccontextmanager
async def served_dashboard(
    config: DashboardConfig,
    where: Listening,
    page: Mapping[str, PageFile],
    clock: Clock,
    randomness: Randomness,
    client: Client | None = None,
) -> AsyncGenerator[int, None]:
    """Serves while the context lasts; gives the port. Raises: OSError when the address is taken."""
    own = client or Client(transport_of(config.connection), "leeward-dashboard")
    async with Supervisor("dashboard") as supervisor:
        follower = FleetFollower(own.with_patience(IMPATIENT), clock, randomness, supervisor, config.name)
        sessions = SessionStore(clock, randomness)
        context = DashboardContext(config, clock, own, supervisor, follower, sessions)
        try:
            async with serving(application(context, page), where.host, where.port, where.tls) as port:
                follower.start()
                yield port
        finally:
            follower.close()
            await sessions.end_all()
            await own.close()
