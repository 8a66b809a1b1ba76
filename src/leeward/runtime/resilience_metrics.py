"""The metrics of what is held back, and of what could not be borne."""

from prometheus_client import CollectorRegistry, Counter, Gauge


class ResilienceMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.evictions_held = Counter(
            "leeward_evictions_held", "Evictions that were due and held back", ("reason",), registry=registry
        )
        self.held_evictions = Gauge(
            "leeward_held_evictions",
            "Bindings of which an eviction is due and held back now",
            ("reason",),
            registry=registry,
        )
        self.loss_replicas = Gauge(
            "leeward_cluster_loss_unplaceable_replicas",
            "Replicas that find no room elsewhere if the cluster is lost",
            ("member_cluster",),
            registry=registry,
        )
        self.loss_applications = Gauge(
            "leeward_cluster_loss_unplaceable_applications",
            "Applications of which something finds no room elsewhere if the cluster is lost",
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
        for gauge in (self.held_evictions, self.loss_replicas, self.loss_applications, self.unreadable):
            gauge.clear()
