"""The dashboard as a process: beside any control plane, or as a part of a local fleet."""

import asyncio
import ipaddress
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field

from kubeapi.loop import Randomness, SystemClock
from kubeclient.connection import Connection
from leeward.dashboard.context import DashboardConfig
from leeward.dashboard.page_files import NOT_BUILT, read_page
from leeward.dashboard.running import Listening, served_dashboard
from leeward.dashboard.sessions import LinkKey

__all__ = ["NOT_BUILT", "DashboardRequest", "run_dashboard"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardRequest:
    """`key` is that of the first link; empty: a new one. `renewed` is told the key of each next one, when one was used.

    Only a dashboard of this machine alone has such links.
    """

    name: str
    connection: Connection
    host: str
    port: int
    tls: ssl.SSLContext | None = None
    allowed_hosts: tuple[str, ...] = ()
    allow_actions: bool = False
    key: str = field(default="", repr=False)
    renewed: Callable[[str], None] = lambda _: None

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

    def link(self, key: str) -> str:
        """Address with the key in its fragment, which no browser sends to anybody."""
        return f"{self.address}#key={key}"


async def run_dashboard(request: DashboardRequest, ready: Callable[[str], None]) -> None:
    """Serves until cancelled; `ready` is told the link when it does. Raises: OSError when the address is taken."""
    randomness = Randomness()
    key = (request.key or randomness.token()) if request.is_private else ""
    config = DashboardConfig(
        name=request.name,
        connection=request.connection,
        key=LinkKey(key, randomness, request.renewed) if key else None,
        allowed_hosts=request.allowed_hosts,
        allow_actions=request.allow_actions,
    )
    where = Listening(request.host, request.port, request.tls)
    async with served_dashboard(config, where, read_page(), SystemClock(), randomness):
        ready(request.link(key) if key else request.address)
        await asyncio.Event().wait()
