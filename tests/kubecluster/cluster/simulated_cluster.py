"""A whole simulated cluster on virtual time, and a hand to act on it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from controller_runtime import ControllerMetrics
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import IMPATIENT, Client
from kubecluster import Workloads, WorkloadSettings
from kubecluster.kinds import PODS
from kubecluster.resource_quota import ResourceQuotaAdmission
from kubecluster.rules.pods import is_ready
from kubecluster.simulated_webhooks import SimulatedWebhooks
from kubeserver.admission.service_accounts import ServiceAccountAdmission
from kubeserver.handlers.server import ApiServer
from kubeserver.inprocess import InProcessTransport
from kubeserver.starting import start_apiserver
from kubeserver.store import Store
from kubeserver.store.memory import MemoryMedium

NAMESPACE = "default"


class Cluster:
    def __init__(self, client: Client, store: Store, server: ApiServer) -> None:
        self.client = client
        self.store = store
        self.server = server

    async def create(self, resource: Resource[Manifest], manifest: Manifest) -> Manifest:
        return await self.client.create(resource, manifest, NAMESPACE if resource.namespaced else "")

    async def get(self, resource: Resource[Manifest], name: str) -> Manifest:
        return await self.client.get(resource, name, NAMESPACE if resource.namespaced else "")

    async def patch(self, resource: Resource[Manifest], name: str, patch: Manifest) -> Manifest:
        return await self.client.patch(resource, name, patch, NAMESPACE if resource.namespaced else "")

    async def delete(self, resource: Resource[Manifest], name: str) -> None:
        await self.client.delete(resource, name, NAMESPACE if resource.namespaced else "")

    async def objects(self, resource: Resource[Manifest]) -> list[Manifest]:
        page = await self.client.list(resource)
        return sorted(page.items, key=lambda obj: obj["metadata"]["name"])

    async def names(self, resource: Resource[Manifest]) -> list[str]:
        return [obj["metadata"]["name"] for obj in await self.objects(resource)]

    async def status(self, resource: Resource[Manifest], name: str) -> dict[str, Any]:
        return (await self.get(resource, name))["status"]

    async def ready_pods(self) -> int:
        return sum(is_ready(pod) for pod in await self.objects(PODS))

    async def least_ready_during(self, seconds: float) -> int:
        """The smallest number of ready Pods that anybody could see in that time."""
        least = await self.ready_pods()
        for _ in range(round(seconds / 0.1)):
            await asyncio.sleep(0.1)
            least = min(least, await self.ready_pods())
        return least


@asynccontextmanager
async def running(
    medium: MemoryMedium | None = None, settings: WorkloadSettings | None = None
) -> AsyncGenerator[Cluster, None]:
    """The cluster on the store of `medium`, as it is one second after its start."""
    async with Supervisor() as supervisor:
        clock, randomness = VirtualClock(), Randomness(1)
        store = await Store.open(medium or MemoryMedium(), supervisor)
        admission = (ServiceAccountAdmission(store), ResourceQuotaAdmission(store))
        passed_over = SimulatedWebhooks(store).passed_over
        api_server = await start_apiserver(store, clock, randomness, supervisor, admission, passed_over=passed_over)
        client = Client(InProcessTransport(api_server))
        impatient, metrics = client.with_patience(IMPATIENT), ControllerMetrics()
        workloads = Workloads(impatient, clock, randomness, metrics, supervisor, settings or WorkloadSettings())
        workloads.serve(api_server)
        await workloads.start()
        await asyncio.sleep(1)
        yield Cluster(client, store, api_server)


def tell(story: Callable[[Cluster], Coroutine[Any, Any, None]], settings: WorkloadSettings | None = None) -> None:
    """Runs a story on a fresh cluster."""

    async def run() -> None:
        async with running(settings=settings) as cluster:
            await story(cluster)

    run_virtual(run())


def pod_template(image: str = "nginx:1", **spec: Any) -> Manifest:
    container = {"name": "main", "image": image, "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container], **spec}}


def workload(kind: str, template: Manifest | None = None, **spec: Any) -> Manifest:
    """An object named `web` with a selector; `spec` by its wire names."""
    selector = {"matchLabels": {"app": "web"}}
    return {
        "metadata": {"name": "web"},
        "kind": kind,
        "spec": {"selector": selector, "template": template or pod_template(), **spec},
    }


def condition(status: Manifest, condition_type: str) -> tuple[str, str]:
    """Status and reason of the condition; empty when there is no such condition."""
    found = [c for c in status.get("conditions", ()) if c["type"] == condition_type]
    return (found[0]["status"], found[0].get("reason", "")) if found else ("", "")
