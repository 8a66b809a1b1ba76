"""The whole of a simulated cluster: joins the controllers, and starts them."""

from kubeapi.loop.clock import Clock
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeserver.handlers.server import ApiServer
from leeward.members.autoscaler import AutoscalerController
from leeward.members.deployment import DeploymentController
from leeward.members.disruption import DisruptionController
from leeward.members.infrastructure import LoadBalancerController, NodesController
from leeward.members.kinds import REPLICA_SETS, REPLICATION_CONTROLLERS
from leeward.members.kubelet import KubeletController
from leeward.members.kubelet_api import KubeletApi
from leeward.members.metrics_api import MetricsApi
from leeward.members.namespace_defaults import DefaultAccountsController, RootCertificatesController
from leeward.members.platform import Platform
from leeward.members.pod_controllers import (
    CronJobController,
    DaemonSetController,
    JobController,
    ReplicaSetController,
    StatefulSetController,
)
from leeward.members.resource_quota import ResourceQuotaController
from leeward.members.scheduler import SchedulerController
from leeward.members.settings import WorkloadSettings
from leeward.members.volume_binder import VolumeBinder
from leeward.runtime.controller_context import Server
from leeward.runtime.metrics import Metrics


class Workloads:
    """Workloads that run in the cluster whose API server is `server`, until `supervisor` is closed."""

    def __init__(
        self,
        server: Server,
        clock: Clock,
        randomness: Randomness,
        metrics: Metrics,
        supervisor: Supervisor,
        settings: WorkloadSettings,
    ) -> None:
        self._platform = Platform(server.client, clock, randomness, metrics, supervisor)
        self._nodes = NodesController(self._platform, settings)
        self._volumes = VolumeBinder(self._platform)
        self._others = (
            DefaultAccountsController(self._platform),
            *self._publishers(settings),
            KubeletController(self._platform, settings),
            SchedulerController(self._platform),
            ReplicaSetController(self._platform, REPLICA_SETS),
            ReplicaSetController(self._platform, REPLICATION_CONTROLLERS),
            DeploymentController(self._platform),
            StatefulSetController(self._platform),
            DaemonSetController(self._platform),
            JobController(self._platform),
            CronJobController(self._platform),
            AutoscalerController(self._platform),
            *self._clouds(settings),
            DisruptionController(self._platform),
            ResourceQuotaController(self._platform),
            self._volumes,
        )

    def _clouds(self, settings: WorkloadSettings) -> tuple[LoadBalancerController, ...]:
        return (LoadBalancerController(self._platform, settings),) if settings.load_balancers else ()

    def _publishers(self, settings: WorkloadSettings) -> tuple[RootCertificatesController, ...]:
        return (RootCertificatesController(self._platform, settings),) if settings.root_certificates else ()

    def serve(self, api_server: ApiServer) -> None:
        """Has the API server of these workloads answer for their containers, and for the resources that they use."""
        api_server.reach_kubelet(KubeletApi(self._platform).answer)
        MetricsApi(self._platform).serve(api_server)

    async def start(self) -> None:
        """Registers the Nodes, and starts the controllers; after a restart they go on where they were.

        Raises: Unreachable when the API server does not answer.
        """
        await self._platform.wait_synced()
        await self._nodes.register()
        await self._volumes.register()
        for controller in (self._nodes, *self._others):
            controller.start()
