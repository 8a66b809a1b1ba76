"""The metrics of one component, under Karmada's and controller-runtime's names, in a registry of its own."""

from collections.abc import Callable, Iterator
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from controller_runtime import ControllerMetrics
from kubeapi.connections import Connections, connections_of_process
from leeward.api.outage import MoveState, OutageStatus
from leeward.runtime.propagation_metrics import PropagationMetrics

Amount = Literal["cpu", "memory", "pod"]
AmountKind = Literal["allocatable", "allocated"]
EVICTION_QUEUE = "resource-eviction"
"""The name, in metrics, of what waits to leave a cluster."""
SCHEDULING_BUCKETS = tuple(0.001 * 2**exponent for exponent in range(15))
"""Buckets in seconds: from a millisecond to sixteen, doubling; as Karmada's."""


class Metrics(ControllerMetrics):
    """Metrics of what controls, beside those of any controllers."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster_ready = Gauge(
            "cluster_ready_state", "1 if the cluster is Ready, else 0", ("member_cluster",), registry=self.registry
        )
        self.cluster_nodes = Gauge("cluster_node_number", "Nodes", ("member_cluster",), registry=self.registry)
        self.cluster_ready_nodes = Gauge(
            "cluster_ready_node_number", "Ready nodes", ("member_cluster",), registry=self.registry
        )
        self.brake_engaged = Gauge(
            "leeward_brake_engaged", "1 while no automatic eviction may start", registry=self.registry
        )
        self.evictions = Counter(
            "eviction_processing", "Evictions of a binding from a cluster", ("name", "result"), registry=self.registry
        )
        self.decisions_refused = Counter(
            "leeward_decisions_refused",
            "Decisions that would have broken an invariant and were not written",
            ("invariant",),
            registry=self.registry,
        )
        self.cluster_uncollected = Gauge(
            "leeward_cluster_status_uncollected",
            "1 while the cluster is not Ready only because its status could not be collected",
            ("member_cluster",),
            registry=self.registry,
        )
        self.sync_status_seconds = Histogram(
            "cluster_sync_status_duration_seconds",
            "Length of one look at a member",
            ("member_cluster",),
            registry=self.registry,
        )
        self._amounts = {
            (resource, kind): Gauge(
                f"cluster_{resource}_{kind}_{unit}", f"{resource} {kind}", ("member_cluster",), registry=self.registry
            )
            for resource, unit in (("cpu", "number"), ("memory", "bytes"), ("pod", "number"))
            for kind in ("allocatable", "allocated")
        }
        self.eviction_queue = Gauge(
            "eviction_queue_depth",
            "Bindings that wait for their turn to leave a cluster",
            ("name",),
            registry=self.registry,
        )
        self.eviction_seconds = Histogram(
            "eviction_processing_latency_seconds",
            "From taking a binding that has to leave a cluster to having written where it goes",
            ("name",),
            registry=self.registry,
            buckets=SCHEDULING_BUCKETS,
        )
        self.process = ProcessMetrics(self.registry)
        self.propagation = PropagationMetrics(self.registry)
        self.outages = OutageMetrics(self.registry)
        self.resilience = ResilienceMetrics(self.registry)
        self.scheduling_seconds = Histogram(
            "karmada_scheduler_e2e_scheduling_duration_seconds",
            "From taking a binding to having written where it goes",
            ("result", "schedule_type"),
            registry=self.registry,
            buckets=SCHEDULING_BUCKETS,
        )
        self.queue_incoming = Counter(
            "karmada_scheduler_queue_incoming_bindings",
            "Bindings to be looked at, by what made it necessary",
            ("event",),
            registry=self.registry,
        )
        self.schedule_attempts = Counter(
            "karmada_scheduler_schedule_attempts",
            "Attempts to place a binding",
            ("result", "schedule_type"),
            registry=self.registry,
        )
        self.estimates = Counter(
            "leeward_estimator_answers",
            "Questions to an estimator: success, error, or late",
            ("estimator", "result"),
            registry=self.registry,
        )

    def amount(self, cluster: str, resource: Amount, kind: AmountKind, value: float) -> None:
        """Sets an amount of a member's capacity: `cpu` in cores, `memory` in bytes, `pod` as a count."""
        self._amounts[resource, kind].labels(cluster).set(value)

    @property
    def _of_clusters(self) -> tuple[Gauge, ...]:
        told = (self.cluster_ready, self.cluster_nodes, self.cluster_ready_nodes, self.cluster_uncollected)
        return (*told, *self._amounts.values())

    def forget_cluster(self, name: str) -> None:
        """Drops the figures of a cluster that has left the fleet: its last ones do not hold for ever."""
        for gauge in self._of_clusters:
            gauge.remove(name)

    def forget_state(self) -> None:
        """Takes back what gauges say of clusters and bindings: who leads no more does not see them change. An alert on
        the last words of a former leader would never end."""
        self.brake_engaged.set(0)
        for gauge in (*self._of_clusters, self.eviction_queue):
            gauge.clear()
        self.outages.forget_state()
        self.resilience.forget_state()


BUCKETS = (15, 30, 60, 120, 300, 600, 660, 720, 900, 1200, 1800, 3600, 7200)
"""Buckets in seconds; with Karmada's defaults an application recovers in ten to eleven minutes."""


class OutageMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.evictions_withdrawn = Counter(
            "leeward_evictions_withdrawn", "Evictions given up because the cluster came back", registry=registry
        )
        self._recovery = Histogram(
            "leeward_recovery_seconds",
            "From the first failure of a cluster until what replaces an application there was healthy",
            registry=registry,
            buckets=BUCKETS,
        )
        self._applications = Gauge(
            "leeward_outage_applications",
            "Applications of a cluster that is lost, by what has become of them",
            ("member_cluster", "state"),
            registry=registry,
        )

    def forget_state(self) -> None:
        self._applications.clear()

    def recovered(self, seconds: int) -> None:
        self._recovery.observe(seconds)

    def counted(self, cluster: str, status: OutageStatus) -> None:
        for state in MoveState:
            count: int = getattr(status, state.value.lower())
            self._applications.labels(cluster, state.value).set(count)

    def over(self, cluster: str) -> None:
        for state in MoveState:
            self._applications.remove(cluster, state.value)


class ProcessMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.stood_still = Counter(
            "leeward_event_loop_stalled_seconds",
            "Seconds in which this process stood still, which count against nobody",
            registry=registry,
        )
        self._leading = Gauge(
            "leader_election_master_status",
            "1 while this process holds the lease, else 0",
            ("name",),
            registry=registry,
        )

        self._shards = Gauge(
            "leeward_shards",
            "Shards that the leader in this process leaves work to; 0 while it leads not, or does all itself",
            registry=registry,
        )

        registry.register(_IncomingConnections(connections_of_process()))

    def leaves_work_to(self, shards: Callable[[], int]) -> None:
        """Has `shards` asked whenever somebody scrapes."""
        self._shards.set_function(lambda: float(shards()))

    def leads(self, lease: str, holds: Callable[[], bool]) -> None:
        """Has `holds` asked at each scrape, so that the metric is never older than the lease.

        Karmada: controller-runtime's, of the same name.
        """
        self._leading.labels(lease).set_function(lambda: float(holds()))


class _IncomingConnections(Collector):
    """Counts of the connections that came in at all ports of the process, as they are when somebody scrapes."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def collect(self) -> Iterator[Metric]:
        name, counted = "leeward_incoming_connections", self._connections
        yield GaugeMetricFamily(name, "Connections that came in and are open, of all ports", value=len(counted))
        yield GaugeMetricFamily(f"{name}_limit", "Connections that may be open", value=counted.most)
        yield CounterMetricFamily(f"{name}_closed", "Connections that were closed for others", value=counted.closed)


class ResilienceMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.evictions_held = Counter(
            "leeward_evictions_held", "Evictions that were held", ("reason",), registry=registry
        )
        self.held_evictions = Gauge(
            "leeward_held_evictions",
            "Bindings of which an eviction is held now",
            ("reason",),
            registry=registry,
        )
        self.held_replacements = Gauge(
            "leeward_held_replacements",
            "Bindings of which a gate holds a replacement, or the old copy, now",
            ("reason",),
            registry=registry,
        )
        self.replacement_held_seconds = Histogram(
            "leeward_replacement_held_seconds",
            "From the hold of a replacement by a gate until the gate held no more",
            registry=registry,
            buckets=BUCKETS,
        )
        self.loss_replicas = Gauge(
            "leeward_cluster_loss_unplaceable_replicas",
            "Replicas that fit nowhere else if the cluster is lost",
            ("member_cluster",),
            registry=registry,
        )
        self.loss_applications = Gauge(
            "leeward_cluster_loss_unplaceable_applications",
            "Applications of which something fits nowhere else if the cluster is lost",
            ("member_cluster",),
            registry=registry,
        )
        self.unreadable = Gauge(
            "leeward_unreadable_objects",
            "Stored objects that cannot be read, and about which nothing is decided",
            ("kind",),
            registry=registry,
        )

    def forget_state(self) -> None:
        holds = (self.held_evictions, self.held_replacements)
        for gauge in (*holds, self.loss_replicas, self.loss_applications, self.unreadable):
            gauge.clear()
