"""Everything that can be set about the controllers of a control plane, with Leeward's defaults."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from leeward.api.purge_mode import PurgeMode
from leeward.controllers.descheduler import DeschedulingSettings
from leeward.core.cluster_health.brake import BrakeSettings
from leeward.core.cluster_health.flap_damping import HoldDownSettings
from leeward.core.loss_coverage import LossSurvey
from leeward.core.placement import Decision, PlacementSettings, Snapshot
from leeward.core.propagation.reach import Reach
from leeward.core.propagation.skipping import SkippedApis
from leeward.core.settings_in_force import SettingsInForce
from leeward.manager.choice import Choice
from leeward.manager.gates import FeatureGates
from leeward.manager.timing import Timing
from leeward.runtime.cluster_estimators import ClusterEstimator
from leeward.runtime.estimators import Estimator


@dataclass(frozen=True, slots=True, kw_only=True)
class Safety:
    """Precautions that Leeward takes and Karmada does not; each can be switched off by itself.

    The brake, and the hold-down of clusters that flap, have settings of their own.
    """

    keep_without_place: bool = True
    """S11: no eviction without a place to go."""
    last_healthy_copy: bool = True
    """S1: an eviction ends on what is seen healthy, and never by time alone."""
    could_not_look: bool = True
    """A status that could not be collected never leads to NoExecute."""
    withdraw_on_recovery: bool = True
    """An eviction whose old copy is back and healthy first is withdrawn."""
    probe_serving: bool = True
    """A cluster is Ready only while it serves a small read, too."""
    hold_volumes: bool = True
    """S5: no volumes are made anew in a cluster that was rebuilt under its name, before somebody confirms that."""
    only_watched_time: bool = True
    """S13: time that nobody watched completes nothing, and an outage counts once it was seen anew."""
    only_seen_is_ready: bool = True
    """A template counts as ready only replicas in clusters that are seen."""

    @staticmethod
    def karmada() -> "Safety":
        return Safety(
            keep_without_place=False,
            last_healthy_copy=False,
            could_not_look=False,
            withdraw_on_recovery=False,
            probe_serving=False,
            hold_volumes=False,
            only_watched_time=False,
            only_seen_is_ready=False,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionSettings:
    """--enable-taint-manager, --enable-no-execute-taint-eviction, --no-execute-taint-eviction-purge-mode.

    `per_second` is --resource-eviction-rate; None is without a limit.
    """

    taint_manager: bool = True
    no_execute: bool = True
    purge_mode: PurgeMode = PurgeMode.GRACEFULLY
    per_second: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """APIs and namespaces that are never propagated: `namespaces` are regular expressions of whole names."""

    apis: SkippedApis = field(default_factory=SkippedApis)
    namespaces: tuple[str, ...] = ("kube-.*",)

    @property
    def reach(self) -> Reach:
        return Reach(self.apis, self.namespaces)


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    """Bounds of objects that users store in the embedded API server: in a namespace, and in all."""

    namespace_bytes: int = 256 * 1024 * 1024
    namespace_objects: int = 100_000
    store_bytes: int = 2 * 1024 * 1024 * 1024
    store_objects: int = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerSettings:
    timing: Timing = field(default_factory=Timing)
    gates: FeatureGates = field(default_factory=FeatureGates)
    controllers: Choice = field(default_factory=Choice)
    eviction: EvictionSettings = field(default_factory=EvictionSettings)
    safety: Safety = field(default_factory=Safety)
    brake: BrakeSettings = field(default_factory=BrakeSettings)
    hold_down: HoldDownSettings = field(default_factory=HoldDownSettings)
    """Settings for clusters that flap."""
    estimators: tuple[Estimator, ...] = ()
    """Asked for room besides what clusters report of themselves."""
    cluster_estimator: ClusterEstimator | None = None
    """The way to the estimators that clusters have of their own; None: they are not asked."""
    descheduling: DeschedulingSettings = field(default_factory=DeschedulingSettings)
    skipped: Skipped = field(default_factory=Skipped)
    storage: StorageSettings = field(default_factory=StorageSettings)
    admit_rendered: bool = False
    """The control plane is asked whether it lets rendered objects in."""
    trace_evictions: bool = False
    """Evictions are written as traces of OpenTelemetry."""
    scheduler_name: str = "default-scheduler"
    on_decision: Callable[[Snapshot, Decision], None] | None = None
    """Function that is given each decision of the scheduler before it is written, while the fleet is as it was for
    it."""

    survey_losses: LossSurvey | None = None
    """Says of clusters whether the rest can take over if they are lost; None: nothing is said of that."""

    def karmada_exact(self) -> "ManagerSettings":
        """Settings with every safety switch at what Karmada does, and nothing said that it does not say; rates and
        time-outs stay."""
        return replace(
            self,
            safety=Safety.karmada(),
            brake=replace(self.brake, enabled=False),
            hold_down=replace(self.hold_down, enabled=False),
            survey_losses=None,
        )

    @property
    def failover(self) -> bool:
        return self.gates.enabled("Failover")

    @property
    def evicts_by_taint(self) -> bool:
        return self.failover and self.eviction.no_execute

    @property
    def brake_in_force(self) -> BrakeSettings:
        """The brake with the interval of probes, by which clusters fall silent at once."""
        return replace(self.brake, probe_period_seconds=self.timing.cluster_status_update_frequency)

    def in_force(self) -> SettingsInForce:
        """Settings as forecasts are told of them."""
        timing = self.timing
        return SettingsInForce(
            told=True,
            cluster_status_update_frequency=timing.cluster_status_update_frequency,
            cluster_failure_threshold=timing.cluster_failure_threshold,
            cluster_success_threshold=timing.cluster_success_threshold,
            cluster_monitor_grace_period=timing.cluster_monitor_grace_period,
            failover_eviction_timeout=timing.failover_eviction_timeout,
            hold_down=timing.hold_down,
            no_execute=self.failover,
            could_not_look=self.safety.could_not_look,
            evictions_per_second=self.eviction.per_second,
            workload_affinity=self.gates.enabled("WorkloadAffinity"),
            multiple_pod_templates=self.gates.enabled("MultiplePodTemplatesScheduling"),
            placement=self.whole_decision(),
            brake=self.brake_in_force,
            gates=self.gates.warned_of,
            estimators=self.cluster_estimator is not None,
        )

    def whole_decision(self) -> PlacementSettings:
        """Settings of the scheduler; without the taint manager it only places."""
        whole = self.eviction.taint_manager
        return replace(
            self._placement(),
            evict=whole and self.evicts_by_taint,
            watch=whole and self.failover,
            finish=whole,
            withdraw=whole and self.safety.withdraw_on_recovery,
        )

    def halves(self) -> PlacementSettings:
        """Settings of the halves that --controllers names: they evict and finish, and somebody else places."""
        runs = self.controllers.runs
        return replace(
            self._placement(),
            evict=runs("taint-manager") and self.evicts_by_taint,
            watch=runs("applicationFailover") and self.failover,
            finish=runs("gracefulEviction"),
            place=False,
            keep_without_place=False,
            withdraw=False,
        )

    def _placement(self) -> PlacementSettings:
        return PlacementSettings(
            graceful=self.gates.enabled("GracefulEviction"),
            purge_mode=self.eviction.purge_mode,
            graceful_seconds=self.timing.graceful_eviction_timeout,
            scheduler_name=self.scheduler_name,
            keep_without_place=self.safety.keep_without_place,
            exact_health=not self.safety.last_healthy_copy,
        )
