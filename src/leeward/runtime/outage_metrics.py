"""Metrics of outages: how long applications took to recover, and how many are where while an outage lasts."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from leeward.api.outage import MoveState, OutageStatus

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
