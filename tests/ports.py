"""Ports of servers that listen later, or come back to them: nobody else may be given one meanwhile.

A connection gets the port of its own end from the kernel's range. A port out of that range could be taken, while its
server is down, by any connection of this machine; even by one to that very port, which is then connected to itself.
`leeward up` draws its ports from a range of its own: a suite beside it would take one before it listens.
"""

import random
import socket
from collections.abc import Iterator
from pathlib import Path

RANGE_OF_CONNECTIONS = Path("/proc/sys/net/ipv4/ip_local_port_range")
LINUX_DEFAULT = (32768, 60999)
OF_FLEETS = range(20_000, 32_000)
"""Range of `leeward.app.local.ports`."""
LOWEST, HIGHEST = 12000, 65535


def free_port() -> int:
    """Another one each time. Raises: AssertionError when there is none."""
    port = next((port for port in _untried if _is_free(port)), None)
    assert port is not None, f"no port from {LOWEST} to {HIGHEST} is free for a server"
    return port


def _in_any_order() -> Iterator[int]:
    """Ports that neither connections nor fleets are given, so that suites on one machine hardly ever want the same."""
    first, last = _range_of_connections()
    ports = [port for port in range(LOWEST, HIGHEST + 1) if port not in OF_FLEETS]
    ports = [port for port in ports if not first <= port <= last] or ports
    return iter(random.sample(ports, len(ports)))


def _range_of_connections() -> tuple[int, int]:
    try:
        first, last = map(int, RANGE_OF_CONNECTIONS.read_text().split())
    except FileNotFoundError:
        return LINUX_DEFAULT
    return first, last


def _is_free(port: int) -> bool:
    with socket.socket() as listener:
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


_untried = _in_any_order()
