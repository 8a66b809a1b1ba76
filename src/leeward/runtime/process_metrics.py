"""The metrics of the process itself: whether it leads, how long it stood still, and how many connections it has."""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kubeapi.connections import Connections, connections_of_process


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
        """Has `holds` asked whenever somebody scrapes, so that what is told is never older than the lease.

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
