"""The settings of a copied control plane: those in force where it tells them, and else the defaults."""

from leeward.core.settings_in_force import SettingsInForce
from leeward.manager.choice import Choice
from leeward.manager.gates import FeatureGates
from leeward.manager.settings import EvictionSettings, ManagerSettings, Safety
from leeward.manager.timing import Timing

BUILDING = Choice(
    ("agentAccess", "namespace", "detector", "binding", "bindingStatus", "clusterStatus", "execution", "workStatus"),
    frozenset(),
)
"""The controllers that put a copy into its members: none of them places, evicts or taints."""


def timing_of(settings: SettingsInForce) -> Timing:
    """Timing of controllers and of agents. What is not told, such as how often a lease is renewed, fits what is."""
    return Timing(
        cluster_status_update_frequency=settings.cluster_status_update_frequency,
        cluster_failure_threshold=settings.cluster_failure_threshold,
        cluster_success_threshold=settings.cluster_success_threshold,
        cluster_monitor_grace_period=settings.cluster_monitor_grace_period,
        cluster_lease_duration=settings.cluster_monitor_grace_period,
        failover_eviction_timeout=settings.failover_eviction_timeout,
        graceful_eviction_timeout=settings.placement.graceful_seconds,
        hold_down=settings.hold_down,
        hold_down_half_life=6 * settings.hold_down,
    )


def manager_settings(settings: SettingsInForce) -> ManagerSettings:
    """Settings of the controllers: the inverse of `ManagerSettings.in_force`, as far as that tells."""
    placement = settings.placement
    return ManagerSettings(
        timing=timing_of(settings),
        gates=FeatureGates(
            {
                "Failover": settings.no_execute,
                "GracefulEviction": placement.graceful,
                "WorkloadAffinity": settings.workload_affinity,
                "MultiplePodTemplatesScheduling": settings.multiple_pod_templates,
            }
        ),
        eviction=EvictionSettings(
            taint_manager=placement.finish,
            no_execute=placement.evict,
            purge_mode=placement.purge_mode,
            per_second=settings.evictions_per_second,
        ),
        safety=Safety(
            keep_without_place=placement.keep_without_place,
            last_healthy_copy=not placement.exact_health,
            could_not_look=settings.could_not_look,
            withdraw_on_recovery=placement.withdraw,
        ),
        brake=settings.brake,
        scheduler_name=placement.scheduler_name,
    )
