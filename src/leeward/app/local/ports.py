"""Ports on 127.0.0.1: which are free.

They are drawn below the kernel's ephemeral range: there, a client that calls a dead member again and again would in the
end be connected to itself.
"""

import socket
from collections.abc import Collection

from kubeapi.loop import Randomness
from leeward.app.local.errors import FleetError

FIRST_PORT, LAST_PORT = 20_000, 31_999
ATTEMPTS = 200


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def pick_port(randomness: Randomness, taken: Collection[int] = ()) -> int:
    """A free port that is not in `taken`. Raises: FleetError when none was found."""
    for _ in range(ATTEMPTS):
        port = FIRST_PORT + int(randomness.token(), 16) % (LAST_PORT - FIRST_PORT + 1)
        if port not in taken and is_free(port):
            return port
    raise FleetError(f"no free port was found between {FIRST_PORT} and {LAST_PORT}: end what listens there")
