"""The whole of a simulated cluster: joins the controllers, and starts them."""

from controller_runtime import ControllerMetrics
from kubeapi.loop import Clock, Randomness, Supervisor
from kubeclient import Client
from kubecluster.autoscaler import AutoscalerController
from kubecluster.deployment import DeploymentController
from kubecluster.disruption import DisruptionController
from kubecluster.infrastructure import LoadBalancerController, NodesController
from kubecluster.kinds import REPLICA_SETS, REPLICATION_CONTROLLERS
from kubecluster.kubelet import KubeletController
from kubecluster.kubelet_api import KubeletApi
from kubecluster.metrics_api import MetricsApi
from kubecluster.namespace_defaults import DefaultAccountsController, RootCertificatesController
from kubecluster.platform import Platform
from kubecluster.pod_controllers import (
    CronJobController,
    DaemonSetController,
    JobController,
    ReplicaSetController,
    StatefulSetController,
)
from kubecluster.resource_quota import ResourceQuotaController
from kubecluster.scheduler import SchedulerController
from kubecluster.settings import WorkloadSettings
from kubecluster.volume_binder import VolumeBinder
from kubeserver.handlers.server import ApiServer


class Workloads:
    """Workloads that run in the cluster whose API server `client` reaches, until `supervisor` is closed."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        randomness: Randomness,
        metrics: ControllerMetrics,
        supervisor: Supervisor,
        settings: WorkloadSettings,
    ) -> None:
        self._platform = Platform(client, clock, randomness, metrics, supervisor)
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
