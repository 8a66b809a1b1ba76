"""The dashboard as a process: beside any control plane, or as a part of a local fleet."""

import asyncio
import ipaddress
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

from kubeapi.loop.clock import SystemClock
from kubeapi.loop.randomness import Randomness
from leeward.client.connection import Connection
from leeward.dashboard.context import DashboardConfig
from leeward.dashboard.page_files import NOT_BUILT, read_page
from leeward.dashboard.running import Listening, served_dashboard

__all__ = ["NOT_BUILT", "DashboardRequest", "run_dashboard"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardRequest:
    """`key` is that of the link; empty: a new one. Only a dashboard of this machine alone has such a link."""

    name: str
    connection: Connection
    host: str
    port: int
    tls: ssl.SSLContext | None = None
    allowed_hosts: tuple[str, ...] = ()
    allow_actions: bool = False
    key: str = field(default="", repr=False)

    @property
    def is_private(self) -> bool:
        """Tells whether it listens for this machine alone."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host or "0.0.0.0"
        return f"{'http' if self.tls is None else 'https'}://{host}:{self.port}/"


async def run_dashboard(request: DashboardRequest, ready: Callable[[str], None]) -> None:
    """Serves until cancelled; `ready` is told the link when it does. Raises: OSError when the address is taken."""
    randomness = Randomness()
    key = (request.key or randomness.token()) if request.is_private else ""
    config = DashboardConfig(
        name=request.name,
        connection=request.connection,
        key=key,
        allowed_hosts=request.allowed_hosts,
        allow_actions=request.allow_actions,
        is_secure=request.tls is not None,
        port=request.port,
    )
    where = Listening(request.host, request.port, request.tls)
    async with served_dashboard(config, where, read_page(), SystemClock(), randomness):
        ready(f"{request.address}open?key={key}" if key else request.address)
        await asyncio.Event().wait()
