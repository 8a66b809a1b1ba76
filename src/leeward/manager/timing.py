"""Intervals and time-outs, under Karmada's names.

--cluster-monitor-period has no counterpart: silence is noticed at the instant at which it has lasted long enough.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Karmada's intervals and time-outs under Karmada's names, in seconds; the defaults are Karmada's."""

    cluster_status_update_frequency: float = 10
    cluster_failure_threshold: float = 30
    cluster_success_threshold: float = 30
    cluster_probe_timeout: float = 5
    cluster_monitor_grace_period: float = 40
    cluster_startup_grace_period: float = 60
    cluster_lease_duration: float = 40
    cluster_lease_renew_interval_fraction: float = 0.25
    failover_eviction_timeout: float = 300
    default_not_ready_toleration_seconds: int = 300
    default_unreachable_toleration_seconds: int = 300
    graceful_eviction_timeout: float = 600
    hold_down: float = 3600
    """Seconds for which a cluster that flaps is held down at first; ours."""
    hold_down_half_life: float = 6 * 3600
    scheduler_estimator_timeout: float = 3
    event_ttl: float = 3600
    """Seconds for which the embedded API server keeps events; the default is kube-apiserver's."""
    pod_startup_seconds: float = 2

    @staticmethod
    def karmada() -> "Timing":
        return Timing()

    @staticmethod
    def fast() -> "Timing":
        """Timing for demonstrations and tests on real processes: a failover within some ten seconds."""
        return Timing(
            cluster_status_update_frequency=1,
            cluster_failure_threshold=2,
            cluster_success_threshold=2,
            cluster_probe_timeout=3,
            cluster_monitor_grace_period=4,
            cluster_startup_grace_period=6,
            cluster_lease_duration=4,
            failover_eviction_timeout=5,
            default_not_ready_toleration_seconds=5,
            default_unreachable_toleration_seconds=5,
            graceful_eviction_timeout=60,
            hold_down=10,
            hold_down_half_life=10,
            pod_startup_seconds=1,
        )
