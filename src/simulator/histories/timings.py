"""Timings of histories: the brisk ones, in which a failover takes two minutes, and Karmada's defaults."""

from leeward.manager.timing import Timing
from simulator.histories.model import Pace

TIMINGS: dict[Pace, Timing] = {
    "karmada": Timing.karmada(),
    "brisk": Timing(
        cluster_failure_threshold=20,
        cluster_success_threshold=20,
        cluster_monitor_grace_period=30,
        cluster_startup_grace_period=40,
        cluster_lease_duration=30,
        failover_eviction_timeout=20,
        default_not_ready_toleration_seconds=10,
        default_unreachable_toleration_seconds=10,
        graceful_eviction_timeout=60,
        pod_startup_seconds=20,
    ),
}


def bound_seconds(timing: Timing) -> float:
    """Seconds that a world may take to settle once nothing fails any more; a retry after five minutes included."""
    failover = timing.failover_eviction_timeout + timing.default_not_ready_toleration_seconds
    return 360 + failover + timing.cluster_success_threshold + timing.graceful_eviction_timeout
