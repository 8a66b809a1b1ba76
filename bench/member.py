"""`python -m bench.member DIRECTORY PORT`: the embedded API server, in which every Deployment becomes ready at once.

It stands for a member whose own work is not measured: the status of a Deployment is written in three steps, as a
rollout of new Pods writes it.
"""

import asyncio
import sys
from contextlib import aclosing
from pathlib import Path

import uvloop
from prometheus_client import CollectorRegistry

from bench.servers import certificate, write_tokens
from kubeapi.loop.clock import SystemClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.tls import server_context
from kubeclient import Client, Expired, NotFound, WorldError
from kubeserver.auth.authentication import load_token_file
from kubeserver.handlers.chain import handler_chain
from kubeserver.http.front import HttpFront
from kubeserver.inprocess import InProcessTransport
from kubeserver.starting import start_apiserver
from kubeserver.store import Store
from kubeserver.store.sqlite import SqliteMedium

DEPLOYMENTS = Resource.of_manifests("apps/v1", "deployments", "Deployment", namespaced=True)
STEP_SECONDS = 0.3
STEPS = 2
"""Steps between nothing ready and everything."""


class Rollouts:
    """Plays the controllers and the kubelets of a cluster for its Deployments."""

    def __init__(self, client: Client, supervisor: Supervisor) -> None:
        self._client = client
        self._supervisor = supervisor
        self._seen: dict[tuple[str, str], int] = {}

    async def run(self) -> None:
        """Runs until cancelled."""
        while True:
            try:
                page = await self._client.list(DEPLOYMENTS)
                for deployment in page.items:
                    self._begin(deployment)
                events = self._client.watch(DEPLOYMENTS, resource_version=page.resource_version)
                async with aclosing(events):
                    async for event in events:
                        if event.object is not None and event.type != "DELETED":
                            self._begin(event.object)
            except Expired:
                continue

    def _begin(self, deployment: Manifest) -> None:
        metadata = deployment["metadata"]
        key, generation = (metadata["namespace"], metadata["uid"]), metadata["generation"]
        if self._seen.get(key) != generation:
            self._seen[key] = generation
            self._supervisor.start(self._roll_out(deployment), metadata["name"])

    async def _roll_out(self, deployment: Manifest) -> None:
        metadata, wanted = deployment["metadata"], deployment["spec"].get("replicas", 1)
        for step in range(STEPS + 1):
            ready = wanted * step // STEPS
            counts = {"replicas": wanted, "updatedReplicas": wanted, "readyReplicas": ready, "availableReplicas": ready}
            status = {"observedGeneration": metadata["generation"], **counts, "unavailableReplicas": wanted - ready}
            patch = {"status": {**status, "conditions": _conditions(is_available=ready == wanted)}}
            try:
                await self._client.patch(
                    DEPLOYMENTS, metadata["name"], patch, metadata["namespace"], subresource="status"
                )
            except NotFound:
                return
            except WorldError as error:
                print(f"{metadata['name']}: {error}", flush=True)
            await asyncio.sleep(STEP_SECONDS)


def _conditions(*, is_available: bool) -> list[Manifest]:
    at = "2026-01-01T00:00:00Z"
    times = {"lastUpdateTime": at, "lastTransitionTime": at}
    available = {"type": "Available", "status": str(is_available), "reason": "MinimumReplicas", "message": "replicas"}
    progress = {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": "it progresses"}
    return [{**available, **times}, {**progress, **times}]


async def serve(directory: Path, port: int) -> None:
    tokens = load_token_file(write_tokens(directory))
    async with Supervisor("member") as supervisor:
        store = await Store.open(SqliteMedium(directory / "store.db"), supervisor)
        clock, randomness, registry = SystemClock(), Randomness(), CollectorRegistry()
        server = await start_apiserver(store, clock, randomness, supervisor, metrics=registry, tokens=tokens)
        rollouts = Rollouts(Client(InProcessTransport(server), "bench-member"), supervisor)
        handler = handler_chain(server, clock, randomness, registry)
        *pair, client_ca = certificate(directory / "pki")
        await HttpFront(handler, server.authenticator, server_context(client_ca, (pair[0], pair[1])), port=port).start()
        await rollouts.run()


if __name__ == "__main__":
    uvloop.run(serve(Path(sys.argv[1]), int(sys.argv[2])))
