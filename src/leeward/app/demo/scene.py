"""Scene: the application at one moment, as kubectl shows it, and nothing else."""

from dataclasses import dataclass, field
from typing import cast

from kubeapi.meta import Manifest
from leeward.api.cluster import Cluster
from leeward.api.work import ResourceBinding, Work

APPLICATION = "nginx"
NAMESPACE = "default"


@dataclass(slots=True)
class Scene:
    """State of the fleet as the demonstration draws it, kept up to date by its watches. `works` and `deployments` are
    by cluster; absent is not there.

    `writes_of_move` says how many writes of the binding's spec lie between the last two sets of target clusters.
    """

    clusters: dict[str, Cluster] = field(default_factory=dict[str, Cluster])
    binding: ResourceBinding | None = None
    works: dict[str, Work] = field(default_factory=dict[str, Work])
    deployments: dict[str, Manifest] = field(default_factory=dict[str, Manifest])
    writes_of_move: int = 0

    def take_binding(self, binding: ResourceBinding | None) -> None:
        """The binding's next version."""
        before, generation = set(self.assigned), self._generation
        self.binding = binding
        if set(self.assigned) != before:
            self.writes_of_move = self._generation - generation

    @property
    def _generation(self) -> int:
        return self.binding.metadata.generation if self.binding is not None else 0

    @property
    def assigned(self) -> dict[str, int]:
        """Replicas by cluster, as the binding has them."""
        targets = self.binding.spec.clusters if self.binding is not None else ()
        return {target.name: target.replicas for target in targets}

    @property
    def being_left(self) -> tuple[str, ...]:
        """The clusters of open eviction tasks."""
        tasks = self.binding.spec.graceful_eviction_tasks if self.binding is not None else ()
        return tuple(task.from_cluster for task in tasks)

    def health(self, cluster: str) -> str:
        """`True`, `False` or `Unknown`; empty before the first report."""
        known = self.clusters.get(cluster)
        return known.ready.status if known is not None and known.ready is not None else ""

    def taints(self, cluster: str) -> tuple[str, ...]:
        """`not-ready:NoSchedule`, ..."""
        known = self.clusters.get(cluster)
        taints = known.spec.taints if known is not None else ()
        return tuple(f"{taint.key.removeprefix('cluster.karmada.io/')}:{taint.effect}" for taint in taints)

    def ready_replicas(self, cluster: str) -> int:
        """Ready replicas as the member itself says; the last that was seen, when it does not answer."""
        return self.deployments.get(cluster, {}).get("status", {}).get("readyReplicas", 0)

    def reported_replicas(self, cluster: str) -> int:
        """Ready replicas as the binding's aggregated status has them."""
        items = self.binding.status.aggregated_status if self.binding is not None else ()
        item = next((item for item in items if item.cluster_name == cluster), None)
        return cast(Manifest, item.status or {}).get("readyReplicas", 0) if item is not None else 0
