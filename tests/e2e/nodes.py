"""Nodes and kubelets for real API servers: `python -m tests.e2e.nodes KUBECONFIG ...`.

Registers simulated Nodes, binds Pods to them and makes them Ready. Deployments become Pods by the cluster's own
kube-controller-manager.
"""

import asyncio
import logging
import sys
from pathlib import Path

from kubeapi.loop.clock import SystemClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeclient import Client, WorldError
from kubeclient.connection import transport_of
from kubeclient.kubeconfig import load
from kubecluster import WorkloadSettings
from kubecluster.infrastructure import NodesController
from kubecluster.kubelet import KubeletController
from kubecluster.platform import Platform
from kubecluster.scheduler import SchedulerController
from leeward.runtime.metrics import Metrics

RETRY_SECONDS = 1.0
NODES = 5
"""Number of nodes, of 110 Pods each: room for what two members run."""


async def run(kubeconfig: Path) -> None:
    clock, randomness, settings = SystemClock(), Randomness(), WorkloadSettings(nodes=NODES, pod_startup_seconds=0.5)
    client = Client(transport_of(load(kubeconfig)), "e2e-nodes")
    async with Supervisor(f"nodes of {kubeconfig}") as supervisor:
        platform = Platform(client, clock, randomness, Metrics(), supervisor)
        nodes = NodesController(platform, settings)
        await _register(platform, nodes)
        for controller in (nodes, KubeletController(platform, settings), SchedulerController(platform)):
            controller.start()
        await asyncio.Event().wait()


async def _register(platform: Platform, nodes: NodesController) -> None:
    while True:
        try:
            await platform.wait_synced()
            return await nodes.register()
        except WorldError:
            await asyncio.sleep(RETRY_SECONDS)


async def run_all(kubeconfigs: list[Path]) -> None:
    await asyncio.gather(*map(run, kubeconfigs))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    asyncio.run(run_all([Path(argument) for argument in sys.argv[1:]]))
