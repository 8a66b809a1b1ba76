"""Decision: the spec that a binding is to have, and the words about it. Outcome: one phase's part of that."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from leeward.api.meta import Condition
from leeward.api.work import GracefulEvictionTask, ResourceBindingSpec, TargetCluster
from leeward.core.cluster_health.outage import OutageReport
from leeward.core.eviction.due_evictions import Eviction
from leeward.core.eviction.failback import Failback
from leeward.core.eviction.held_reasons import Deferral
from leeward.core.eviction.withdrawal import Withdrawal
from leeward.core.scheduling import Placed, Unplaceable


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one phase: where the binding goes, and which eviction tasks it then has.

    `result` is that of scheduling, None where it was not asked. `held` is the condition EvictionHeld, where a due
    eviction does not happen. `followed` are healthy clusters that are left with the others, for another affinity term.
    `withdrawal` and `failback` are the steps that took an eviction back, or looked for a way back.
    """

    clusters: tuple[TargetCluster, ...]
    eviction_tasks: tuple[GracefulEvictionTask, ...]
    result: Placed | Unplaceable | None = None
    held: Condition | None = None
    evicted: tuple[Eviction, ...] = ()
    followed: tuple[str, ...] = ()
    withdrawal: Withdrawal | None = None
    failback: Failback | None = None
    wake_at: datetime | None = None

    @staticmethod
    def of(spec: ResourceBindingSpec, result: Placed | Unplaceable | None = None) -> "Outcome":
        """The outcome that the binding stays as this spec is."""
        return Outcome(spec.clusters, spec.graceful_eviction_tasks, result)


@dataclass(frozen=True, slots=True)
class Decision:
    """Everything that a binding is to be. `result` is that of scheduling, None where it had nothing to do.

    `held` is the condition EvictionHeld where an eviction is held back or cannot be finished, None where there is none.
    `followed` are healthy clusters that are left with the others, for another affinity term.
    `deferred` are clusters that the binding is to leave when it is its turn.
    `returning` are the replicas that a failback brings back, by cluster.
    `foreign`: another scheduler places this binding, or scheduling is suspended; its words are not ours.
    `foreign_held`: another process evicts, and keeps the condition EvictionHeld.
    `outage` is the condition about lost clusters (`core.outlook`); None: the present one stands.
    `annotations` are the changes of the binding's annotations, None for one that goes.
    `quota_refusal`: why more is wanted than is placed here; empty where nothing more is.
    `wake_at`: when to decide again, if nothing changes until then.
    """

    clusters: tuple[TargetCluster, ...]
    eviction_tasks: tuple[GracefulEvictionTask, ...]
    result: Placed | Unplaceable | None = None
    held: Condition | None = None
    evicted: tuple[Eviction, ...] = ()
    deferred: Mapping[str, Deferral] = field(default_factory=dict[str, Deferral])
    followed: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    returning: Mapping[str, int] = field(default_factory=dict[str, int])
    foreign: bool = False
    foreign_held: bool = False
    annotations: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    quota_refusal: str = ""
    wake_at: datetime | None = None
    outage: OutageReport | None = None
