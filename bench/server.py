"""`python -m bench.server DIRECTORY PORT [karmada]`: the embedded API server alone, as the benchmark measures it.

With `karmada` it knows Karmada's kinds, and fills in and checks them, so that `leeward serve` can work beside it; on
SIGUSR1 it makes copies of applications in its store (`fleet_copies.py`).
"""

import asyncio
import signal
import sys
from pathlib import Path

import uvloop
from prometheus_client import CollectorRegistry

from bench.fleet_copies import copy_all
from bench.servers import certificate, write_tokens
from kubeapi.loop.clock import SystemClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.tls import server_context
from kubeserver.auth.authentication import load_token_file
from kubeserver.handlers.chain import handler_chain
from kubeserver.http.front import HttpFront
from kubeserver.starting import start_apiserver
from kubeserver.store import Store
from kubeserver.store.sqlite import SqliteMedium
from leeward.api.rules.member_addresses import rules_of_control_plane
from leeward.api.schema import custom_resource_definitions
from leeward.core.propagation.reach import Reach
from leeward.manager.admission import KarmadaAdmission
from leeward.manager.timing import Timing


async def serve(directory: Path, port: int, *, karmada: bool) -> None:
    tokens = load_token_file(write_tokens(directory))
    async with Supervisor("server") as supervisor:
        store = await Store.open(SqliteMedium(directory / "store.db"), supervisor)
        clock, randomness, registry = SystemClock(), Randomness(), CollectorRegistry()
        addresses = rules_of_control_plane(f"https://127.0.0.1:{port}")
        admission = KarmadaAdmission(clock, randomness, Timing(), store, Reach(), addresses)
        server = await start_apiserver(
            store,
            clock,
            randomness,
            supervisor,
            admission=(admission,) if karmada else (),
            crds=custom_resource_definitions() if karmada else (),
            metrics=registry,
            tokens=tokens,
        )
        handler = handler_chain(server, clock, randomness, registry)
        *pair, client_ca = certificate(directory / "pki")
        tls = server_context(client_ca, (pair[0], pair[1]))
        await HttpFront(handler, server.authenticator, tls, port=port).start()
        copying = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, copying.set)
        await copying.wait()
        await copy_all(store, directory)
        await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(Path(sys.argv[1]), int(sys.argv[2]), karmada="karmada" in sys.argv[3:]))
