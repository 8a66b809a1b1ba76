"""The metrics of one component, under Karmada's and controller-runtime's names, in a registry of its own."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest


class Metrics:
    """One registry; parts of a process share it, worlds in a test do not."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._reconciles = Counter(
            "controller_runtime_reconcile", "Reconciliations", ("controller", "result"), registry=self.registry
        )
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
            "eviction_processing", "Evictions of a binding from a cluster", ("result",), registry=self.registry
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
        self._reconciles.labels(controller, result).inc()
        self._durations.labels(controller).observe(seconds)

    def render(self) -> bytes:
        """The text that Prometheus scrapes."""
        return generate_latest(self.registry)
