"""The metrics of one component, under Karmada's and controller-runtime's names, in a registry of its own."""

from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from leeward.runtime.outage_metrics import OutageMetrics
from leeward.runtime.process_metrics import ProcessMetrics
from leeward.runtime.propagation_metrics import PropagationMetrics
from leeward.runtime.resilience_metrics import ResilienceMetrics

Amount = Literal["cpu", "memory", "pod"]
AmountKind = Literal["allocatable", "allocated"]
EVICTION_QUEUE = "resource-eviction"
"""The name, in metrics, of what waits to leave a cluster."""
SCHEDULING_BUCKETS = tuple(0.001 * 2**exponent for exponent in range(15))
"""Buckets in seconds: from a millisecond to sixteen, doubling; as Karmada's."""


class Metrics:
    """One registry; parts of a process share it, worlds in a test do not."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._reconciles = Counter(
            "controller_runtime_reconcile", "Reconciliations", ("controller", "result"), registry=self.registry
        )
        self._reconciled: dict[tuple[str, str], tuple[Counter, Histogram]] = {}
        """The series that are there already: to look one up by its labels takes longer than to count."""
        self._durations = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "Length of reconciliations",
            ("controller",),
            registry=self.registry,
        )
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

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        series = self._reconciled.get((controller, result))
        if series is None:
            series = self._reconciles.labels(controller, result), self._durations.labels(controller)
            self._reconciled[controller, result] = series
        count, duration = series
        count.inc()
        duration.observe(seconds)

    def amount(self, cluster: str, resource: Amount, kind: AmountKind, value: float) -> None:
        """Sets an amount of a member's capacity: `cpu` in cores, `memory` in bytes, `pod` as a count."""
        self._amounts[resource, kind].labels(cluster).set(value)

    @property
    def _of_clusters(self) -> tuple[Gauge, ...]:
        told = (self.cluster_ready, self.cluster_nodes, self.cluster_ready_nodes, self.cluster_uncollected)
        return (*told, *self._amounts.values())

    def forget_cluster(self, name: str) -> None:
        """Drops the figures of a cluster that has left the fleet: what it was last is not so for ever."""
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

    def render(self) -> bytes:
        """The text that Prometheus scrapes."""
        return generate_latest(self.registry)
