"""One *copy*: what a kube-apiserver spends on one POST and one status PATCH of a Deployment.

It is the unit in which costs of machines that differ can be told side by side.
"""

import asyncio
import os
import time
from pathlib import Path

from bench.member import DEPLOYMENTS
from bench.servers import Target, kubernetes
from kubeapi.meta import Manifest
from kubeclient import Client

NAMESPACE = "default"
COPIES = 400
REST_SECONDS = 5.0


async def copy_seconds(directory: Path) -> float:
    """Seconds of the processor for one copy, over what the server uses at rest; 0 without KUBEBUILDER_ASSETS."""
    programs = os.environ.get("KUBEBUILDER_ASSETS")
    if not programs:
        return 0.0
    place = directory / "copies"
    place.mkdir()
    async with kubernetes(place, Path(programs)) as both:
        server = Target(both.name, both.port, both.processes[1:])
        client = both.client()
        try:
            await _make(client, 0, COPIES)
            before = server.processor_seconds()
            await asyncio.sleep(REST_SECONDS)
            idle = (server.processor_seconds() - before) / REST_SECONDS
            before, at = server.processor_seconds(), time.monotonic()
            await _make(client, COPIES, 2 * COPIES)
            return (server.processor_seconds() - before - idle * (time.monotonic() - at)) / COPIES
        finally:
            await client.close()


async def _make(client: Client, first: int, last: int) -> None:
    for number in range(first, last):
        made = await client.create(DEPLOYMENTS, deployment(number), NAMESPACE)
        status = {"status": {"observedGeneration": 1, "replicas": 1, "readyReplicas": 1, "availableReplicas": 1}}
        await client.patch(DEPLOYMENTS, made["metadata"]["name"], status, NAMESPACE, subresource="status")


def deployment(number: int) -> Manifest:
    """Deployment as people write it: one container with environment, a probe and resources."""
    name = f"app-{number}"
    labels = {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "shop"}
    container = {
        "name": "app",
        "image": "registry.example.com/shop/app:1.0",
        "args": ["--port=8080"],
        "env": [{"name": f"NAME_{n}", "value": f"value {n}"} for n in range(4)],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 5},
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
    }
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": pod}
    metadata = {"name": name, "namespace": NAMESPACE, "labels": labels}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
