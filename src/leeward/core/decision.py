"""What a decision about a binding is made on, and what it says: plain data, without a word on how it is made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.work import GracefulEvictionTask, ResourceBindingSpec, TargetCluster, Work
from leeward.core.failover.eviction import Eviction
from leeward.core.failover.outage import OutageReport
from leeward.core.failover.watched_time import UNKEPT, Attention
from leeward.core.scheduling import Placed, Unplaceable

DEFAULT_SCHEDULER = "default-scheduler"


@dataclass(frozen=True, slots=True)
class PlacementSettings:
    """What flags and gates say: `evict` is the taint manager with gate Failover, `graceful` gate GracefulEviction.

    The parts of the decision can be left to other processes (`ManagerSettings`): `watch` is application failover,
    `finish` the end of eviction tasks, `place` scheduling.
    `keep_without_place` is S11, `withdraw` that recovery cancels; with `exact_health` what is reported counts as it
    does in Karmada, for the end of tasks and for application failover, which then forgets where it has been.
    """

    evict: bool = True
    watch: bool = True
    finish: bool = True
    place: bool = True
    graceful: bool = True
    purge_mode: str = "Gracefully"
    graceful_seconds: float = 600
    scheduler_name: str = DEFAULT_SCHEDULER
    keep_without_place: bool = True
    withdraw: bool = True
    exact_health: bool = False

    @property
    def tells_held(self) -> bool:
        """Whether the condition EvictionHeld is kept here: of the parts that run apart, the taint manager does."""
        return self.finish if self.place else self.evict


DEFAULT_SETTINGS = PlacementSettings()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a decision is made on: the fleet and the binding's Works, both by cluster, and whether the brake holds.

    `waits` are clusters that the binding may not leave yet because of their taints, with the reason, for people.
    `attention` is who watches the clusters, and since when (S13).
    """

    fleet: Mapping[str, Cluster]
    works: Mapping[str, Work] = field(default_factory=dict[str, Work])
    brake: bool = False
    waits: Mapping[str, str] = field(default_factory=dict[str, str])
    attention: Attention = UNKEPT


@dataclass(frozen=True, slots=True)
class Decision:
    """What a binding is to be. `result` is what scheduling said, None where it had nothing to do.

    `held` is the condition EvictionHeld where an eviction is held back or cannot be finished, None where there is none.
    `followed` are clusters that are well and that are left with the others, for another affinity term.
    `returning` are the replicas that a failback brings back, by cluster.
    `foreign`: another scheduler places this binding, or scheduling is suspended; what it says of that is not ours.
    `foreign_held`: another process evicts, and keeps the condition EvictionHeld.
    `outage` is what is to be said of clusters that are lost (`core.outlook`); None: what is said already stands.
    `annotations` are the changes of the binding's annotations, None for one that goes.
    """

    clusters: tuple[TargetCluster, ...]
    eviction_tasks: tuple[GracefulEvictionTask, ...]
    result: Placed | Unplaceable | None = None
    held: Condition | None = None
    evicted: tuple[Eviction, ...] = ()
    followed: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    returning: Mapping[str, int] = field(default_factory=dict[str, int])
    foreign: bool = False
    foreign_held: bool = False
    annotations: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    wake_at: datetime | None = None
    outage: OutageReport | None = None


def may_schedule(spec: ResourceBindingSpec, settings: PlacementSettings) -> bool:
    """Whether placing the binding is ours to do, now."""
    suspended = spec.suspension is not None and bool(spec.suspension.scheduling)
    return settings.place and not suspended and (spec.scheduler_name or DEFAULT_SCHEDULER) == settings.scheduler_name
