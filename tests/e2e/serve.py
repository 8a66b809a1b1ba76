"""All controllers in one process, beside a kube-apiserver: `python -m tests.e2e.serve KUBECONFIG`."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

from leeward.app.connect import connect
from leeward.cli.serving import log_to_stderr, serve
from leeward.client import Client
from leeward.client.connection import transport_of
from leeward.client.kubeconfig import load
from leeward.loop.clock import SystemClock
from leeward.loop.randomness import Randomness
from leeward.loop.supervisor import Supervisor
from leeward.manager.control_plane import ControllerManager, ManagerSettings
from leeward.manager.timing import Timing
from leeward.runtime.events import EventRecorder
from leeward.runtime.metrics import Metrics
from leeward.runtime.plane import ControlPlane, Server

TIMING = replace(Timing.fast(), cluster_failure_threshold=4, failover_eviction_timeout=3)


async def control(kubeconfig: Path) -> None:
    clock, randomness = SystemClock(), Randomness()
    client = Client(transport_of(load(kubeconfig)), "leeward")
    async with Supervisor("controllers") as supervisor:
        server = Server.of(client, randomness, supervisor)
        events = EventRecorder(client, clock, randomness)
        plane = ControlPlane(server, clock, randomness, Metrics(), events, supervisor)
        manager = ControllerManager(plane, connect, ManagerSettings(timing=TIMING))
        try:
            manager.start()
            await asyncio.Event().wait()
        finally:
            await manager.close()


if __name__ == "__main__":
    log_to_stderr()
    serve(control(Path(sys.argv[1])), "controllers")
