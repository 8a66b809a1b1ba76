"""Settings of a control plane that forecasts depend on: thresholds, time-outs and switches, as far as they are known.

A control plane serves no flags. The process that watches the clusters tells its own in the heartbeat Lease (an
annotation); where nobody does, they are the defaults, which for thresholds and time-outs are Karmada's too. Where the
scheduler runs as a process of its own, with other flags, its part of them is not told.
"""

from kubeapi.codec import DecodeError, decode, encode
from kubeapi.meta import Object
from leeward.core.cluster_health.brake import BrakeSettings
from leeward.core.outlook import TaintExpectation
from leeward.core.placement import PlacementSettings


class SettingsInForce(Object, frozen=True):
    """Seconds, under the names of the flags. `told`: somebody has told them, and they are not just the defaults.

    `hold_down` is the first of a cluster that flaps. `evictions_per_second` is --resource-eviction-rate; None is no
    limit. `gates` are those that are on of the gates that warnings name as off by default. `estimators`: the scheduler
    asks the estimators of clusters, whose answers no picture holds.
    """

    told: bool = False
    cluster_status_update_frequency: float = 10
    cluster_failure_threshold: float = 30
    cluster_success_threshold: float = 30
    cluster_monitor_grace_period: float = 40
    failover_eviction_timeout: float = 300
    hold_down: float = 3600
    no_execute: bool = True
    could_not_look: bool = True
    evictions_per_second: float | None = None
    workload_affinity: bool = False
    multiple_pod_templates: bool = False
    placement: PlacementSettings = PlacementSettings()
    brake: BrakeSettings = BrakeSettings()
    gates: tuple[str, ...] = ()
    estimators: bool = False

    @property
    def gates_on(self) -> tuple[str, ...]:
        """Gates that are on; another version tells of some by a field of their own."""
        told = {
            "MultiplePodTemplatesScheduling": self.multiple_pod_templates,
            "WorkloadAffinity": self.workload_affinity,
        }
        return tuple(dict.fromkeys((*self.gates, *(gate for gate, is_on in told.items() if is_on))))

    @property
    def expectation(self) -> TaintExpectation:
        """Way from an outage to NoExecute."""
        return TaintExpectation(self.failover_eviction_timeout, self.no_execute, self.could_not_look)


def render_settings(settings: SettingsInForce) -> str:
    """Renders the settings as the value of an annotation."""
    return encode(settings).decode()


def parse_settings(text: str) -> SettingsInForce:
    """Reads settings; where nobody can, or another version wrote them, they are the defaults, and not told."""
    try:
        return decode(text.encode(), SettingsInForce)
    except DecodeError:
        return SettingsInForce()
