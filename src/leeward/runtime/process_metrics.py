"""The metrics of the process itself: whether it leads, and how long it stood still."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge


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

    def leaves_work_to(self, shards: Callable[[], int]) -> None:
        """Has `shards` asked whenever somebody scrapes."""
        self._shards.set_function(lambda: float(shards()))

    def leads(self, lease: str, holds: Callable[[], bool]) -> None:
        """Has `holds` asked whenever somebody scrapes, so that what is told is never older than the lease.

        Karmada: controller-runtime's, of the same name.
        """
        self._leading.labels(lease).set_function(lambda: float(holds()))
