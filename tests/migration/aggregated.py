"""A recorded Karmada as it really runs: its Clusters in an API server of their own, behind an APIService, and its
webhooks, which nobody answers once Karmada has been stopped."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Self

from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import Manifest
from kubeapi.transport import Request, Response, Transport
from kubeclient import Client, Unreachable
from kubecluster.journal import JournaledMedium
from kubeserver.handlers.initializing import InitializingStorage
from kubeserver.inprocess import ADMIN, InProcessTransport
from kubeserver.starting import start_apiserver
from kubeserver.store import Store
from leeward.api.resource import CLUSTERS, OUTAGES
from leeward.api.schema import custom_resource_definitions
from leeward.app.migration.kinds import API_SERVICES, CLUSTERS_SERVICE
from leeward.manager.agents import AGENT_ACCESS
from leeward.manager.bootstrap import ensure_namespaces
from leeward.manager.settings import ManagerSettings
from leeward.manager.timing import Timing
from leeward.manager.webhook_templates import WebhookTemplates
from tests.migration.recorded import CONTROL_PLANE, RecordedWorld, contents_of, recorded, recorded_webhooks

CLUSTERS_PATH = "/apis/cluster.karmada.io"
SERVICE: Manifest = {
    "apiVersion": "apiregistration.k8s.io/v1",
    "kind": "APIService",
    "metadata": {"name": CLUSTERS_SERVICE, "labels": {"app": "karmada-aggregated-apiserver", "apiserver": "true"}},
    "spec": {
        "group": "cluster.karmada.io",
        "version": "v1alpha1",
        "groupPriorityMinimum": 2000,
        "versionPriority": 10,
        "insecureSkipTLSVerify": True,
        "service": {"namespace": "karmada-system", "name": "karmada-aggregated-apiserver", "port": 443},
    },
}

_APPLICATIONS = ("deployments", "configmaps", "propagationpolicies", "resourcebindings", "works")


def _definitions(of_clusters: bool) -> list[Manifest]:
    """Definition of the Clusters, or all others of Karmada's, as it installs them."""
    found = list[Manifest]()
    for each in custom_resource_definitions():
        if each["spec"]["group"] == OUTAGES.group:
            continue
        if (each["metadata"]["name"] == CLUSTERS.group_resource) == of_clusters:
            marks = {"controller-gen.kubebuilder.io/version": "v0.20.0"}
            found.append({**each, "metadata": {**each["metadata"], "annotations": marks}})
    return found


def _belongs_to_cluster(manifest: Manifest) -> bool:
    return bool(manifest["metadata"].get("ownerReferences"))


class AggregationLayer:
    """Acts as kube-aggregator: requests for Clusters go where their APIService says. `aggregated` None: stopped.

    Whoever asks is cut off before its write number `writes_until_cut`, counted down from there. The path `failing` is
    not answered. `lagging`: as of an API server that goes on asking the aggregated one.
    """

    def __init__(self, main: Transport, aggregated: Transport | None) -> None:
        self._main = main
        self.aggregated = aggregated
        self.writes_until_cut: int | None = None
        self.failing = ""
        self.lagging = False

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        if self.writes_until_cut is not None and request.method != "GET":
            self.writes_until_cut -= 1
            if self.writes_until_cut < 0:
                raise Unreachable("the process that writes was killed")
        if self.failing and request.path == self.failing:
            raise Unreachable("no answer in time")
        if request.path.startswith(CLUSTERS_PATH) and (self.lagging or await self._is_elsewhere()):
            if self.aggregated is None:
                raise Unreachable("service unavailable")
            return await self.aggregated.send(request, timeout_seconds=timeout_seconds)
        return await self._main.send(request, timeout_seconds=timeout_seconds)

    def stream(self, request: Request) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._main.stream(request)

    async def close(self) -> None:
        """Both go on."""

    async def _is_elsewhere(self) -> bool:
        found = await Client(self._main).list(API_SERVICES)
        return any(s["metadata"]["name"] == CLUSTERS_SERVICE and s["spec"].get("service") for s in found.items)


class AggregatedWorld(RecordedWorld):
    """`user` asks through the aggregation layer. The control plane's own API server collects no garbage, since it would
    look for the owners in itself; whoever plays a story looks at the references. Without `applications` there is
    nothing but the clusters and what belongs to them. The objects of each definition are put off (429) for
    `initializing_seconds` from the first request for them."""

    def __init__(
        self,
        timing: Timing | None = None,
        manager: ManagerSettings | None = None,
        *,
        applications: bool = True,
        initializing_seconds: float = 0.0,
    ) -> None:
        super().__init__(timing, manager)
        self._initializing_seconds = initializing_seconds
        control_plane = recorded(CONTROL_PLANE)
        kept = [entry for entry in control_plane if entry.plural != "clusters"]
        if not applications:
            kept = [entry for entry in kept if entry.plural not in _APPLICATIONS or _belongs_to_cluster(entry.manifest)]
        self.medium.become(contents_of([*kept, *recorded_webhooks()]))
        self.aggregated_medium = JournaledMedium("aggregated", self.journal)
        self.aggregated_medium.become(contents_of([e for e in control_plane if e.plural == "clusters"]))
        self._aggregating = Supervisor("aggregated API server")

    async def __aenter__(self) -> Self:
        store = await Store.open(self.aggregated_medium, self._aggregating)
        definitions = [
            each for each in custom_resource_definitions() if "clusters.cluster." in each["metadata"]["name"]
        ]
        server = await start_apiserver(store, self.clock, self.randomness, self._aggregating, crds=definitions)
        self.aggregated = Client(InProcessTransport(server))
        self.layer = AggregationLayer(self.client._transport, InProcessTransport(server))  # pyright: ignore[reportPrivateUsage]
        self.user = Client(self.layer)
        world = await super().__aenter__()
        await self.client.create(API_SERVICES, SERVICE)
        return world

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await super().__aexit__(kind, error, trace)
        await self._aggregating.close()

    async def _start_apiserver(self) -> None:
        self._serving = Supervisor("control plane")
        store = self.store = await Store.open(self.medium, self._serving)
        api_server = await start_apiserver(
            store,
            self.clock,
            self.randomness,
            self._serving,
            admission=self.admission(store),
            crds=_definitions(False),
            objects=AGENT_ACCESS,
            collectors=False,
            passed_over=WebhookTemplates(store).passed_over,
        )
        beginning = InitializingStorage(api_server, api_server, self.clock, self._initializing_seconds)
        self.place.put(beginning, self.life)
        await ensure_namespaces(self.client)


__all__ = ["ADMIN", "SERVICE", "AggregatedWorld"]
