"""The recorded Karmada over HTTPS: `python -m tests.docs.karmada_at_rest DIRECTORY` serves it until it is ended.

It stands where Karmada's kube-apiserver would: Clusters are answered by an API server of their own, behind an
APIService, and Karmada's other programs are stopped. Its kubeconfig is in the directory once it answers. Nothing
watches, and no member can be reached.
"""

import asyncio
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

from kubeapi.codec import render_yaml
from kubeapi.files import write_file
from kubeapi.meta import Manifest
from kubeapi.tls import server_context
from kubeapi.transport import Request, Response
from kubeserver.auth.authentication import Authenticator
from kubeserver.certificates import Authority
from kubeserver.handler import StreamResponse, User
from kubeserver.http.front import HttpFront
from tests.migration.aggregated import AggregatedWorld, AggregationLayer

KUBECONFIG = "karmada.kubeconfig"
SECONDS = 60.0
TOKEN = "admin"


class Aggregated:
    """A handler of requests that asks through the aggregation layer."""

    def __init__(self, layer: AggregationLayer) -> None:
        self._layer = layer

    async def handle(self, request: Request, user: User) -> Response | StreamResponse:
        return await self._layer.send(request, timeout_seconds=SECONDS)


async def serve(directory: Path) -> None:
    """Serves until the process is told to end."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    authority = Authority(directory, datetime.now(UTC))
    pair = authority.server("karmada")
    async with AggregatedWorld() as world:
        users = Authenticator({TOKEN: User("admin", ("system:masters",))})
        front = HttpFront(Aggregated(world.layer), users, server_context(None, (pair.certificate, pair.key)))
        port = await front.start()
        try:
            write_file(directory / KUBECONFIG, render_yaml(_kubeconfig(port, authority.pair.certificate)))
            await ended.wait()
        finally:
            await front.stop()


def _kubeconfig(port: int, authority: Path) -> Manifest:
    cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority": str(authority)}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "karmada",
        "contexts": [{"name": "karmada", "context": {"cluster": "karmada", "user": "admin"}}],
        "clusters": [{"name": "karmada", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": TOKEN}}],
    }


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
