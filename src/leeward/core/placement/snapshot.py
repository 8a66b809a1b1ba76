"""Snapshot: all that one decision about a binding is made on. Frozen: two equal snapshots give equal decisions.

Its settings also say which parts of the binding are ours to decide (`Authority`). Scheduling can be suspended, the
binding can name another scheduler, and parts of the decision can be left to another process. Nothing that follows
overrules it (S9). `leeward.planning.recording` writes one as JSON and reads it back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from leeward.api.names import DRAIN_TAINT
from leeward.api.purge_mode import PurgeMode
from leeward.api.work import Binding, ResourceBindingSpec, Work
from leeward.core.cluster_health.watched_time import UNKEPT, Attention
from leeward.core.eviction.due_evictions import Eviction
from leeward.core.eviction.held_reasons import Deferral
from leeward.core.left_works import with_left_copies
from leeward.core.scheduling import ClusterArrays, Unplaceable

DEFAULT_SCHEDULER = "default-scheduler"


@dataclass(frozen=True, slots=True)
class PlacementSettings:
    """Settings by flags and gates: `evict` is the taint manager with gate Failover, `graceful` gate GracefulEviction.

    The parts of the decision can be left to other processes (`ManagerSettings`): `watch` is application failover,
    `finish` the end of eviction tasks, `place` scheduling.
    `keep_without_place` is S11, `withdraw` that recovery cancels. With `exact_health` reports count as in Karmada, for
    the end of tasks and for application failover, which then forgets where it has been.
    """

    evict: bool = True
    watch: bool = True
    finish: bool = True
    place: bool = True
    graceful: bool = True
    purge_mode: PurgeMode = PurgeMode.GRACEFULLY
    graceful_seconds: float = 600.0
    scheduler_name: str = DEFAULT_SCHEDULER
    keep_without_place: bool = True
    withdraw: bool = True
    exact_health: bool = False

    @property
    def tells_held(self) -> bool:
        """Tells whether the condition EvictionHeld is kept here: by the taint manager, where parts run apart."""
        return self.finish if self.place else self.evict


DEFAULT_SETTINGS = PlacementSettings()


@dataclass(frozen=True, slots=True)
class EvictionBudget:
    """Budget of this binding for evictions that taints may cause now. The default is without a limit.

    `turn_at`: --resource-eviction-rate lets it begin one from then on; None is now. `exhausted`: drained clusters that
    as many bindings are leaving already as their budget allows, with that budget.
    """

    turn_at: datetime | None = None
    exhausted: Mapping[str, int] = field(default_factory=dict[str, int])

    def defers(self, evictions: Sequence[Eviction], now: datetime) -> Mapping[str, Deferral]:
        """The evictions that have to wait, by cluster. A drain's budget binds only copies that the drain alone evicts.

        Holds: C4."""
        by_taint = [eviction for eviction in evictions if eviction.taints]
        drained = {
            each.cluster: Deferral.DRAIN_BUDGET
            for each in by_taint
            if each.cluster in self.exhausted and all(taint.key == DRAIN_TAINT for taint in each.taints)
        }
        if self.turn_at is None or self.turn_at <= now:
            return drained
        return {**{each.cluster: Deferral.RATE for each in by_taint}, **drained}


UNLIMITED = EvictionBudget()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`clusters` and the binding's `works` are by cluster name.

    `clusters` know reservations for other bindings, answers of estimators, the places of a workload affinity group, and
    claims that the template names. The decision only reads them.
    `brake`: it is engaged, for `brake_reason`. `attention`: who watches the clusters, and since when (S13).
    `quota_refusal`: why a quota has refused a larger result; the binding may move, but not grow.
    """

    binding: Binding
    clusters: ClusterArrays
    works: Mapping[str, Work] = field(default_factory=dict[str, Work])
    brake: bool = False
    budget: EvictionBudget = UNLIMITED
    attention: Attention = UNKEPT
    settings: PlacementSettings = DEFAULT_SETTINGS
    quota_refusal: str = ""
    brake_reason: str = ""
    now: datetime = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Authority:
    """Rights to change the binding, each by itself.

    places            give copies a place, and take an eviction back
    evicts            begin evictions for taints
    fails_over        begin evictions for failed applications
    withdraws         take back the eviction from a cluster that is well again
    returns           bring copies home
    refusal           why no place is looked for; None where one may be
    """

    places: bool
    evicts: bool
    fails_over: bool
    withdraws: bool
    returns: bool
    refusal: Unplaceable | None


def authority_over(binding: Binding, settings: PlacementSettings) -> Authority:
    """Rights of this process over the binding."""
    places = may_schedule(binding.spec, settings)
    return Authority(
        places=places,
        evicts=settings.evict,
        fails_over=settings.watch,
        withdraws=settings.withdraw and places,
        returns=settings.graceful and places,
        refusal=None if places else _refusal(binding.spec),
    )


def may_schedule(spec: ResourceBindingSpec, settings: PlacementSettings) -> bool:
    """Tells whether placing the binding is ours to do, now."""
    scheduler = spec.scheduler_name or DEFAULT_SCHEDULER
    return settings.place and not _is_suspended(spec) and scheduler == settings.scheduler_name


def _refusal(spec: ResourceBindingSpec) -> Unplaceable:
    if _is_suspended(spec):
        return Unplaceable("Error", "scheduling of this binding is suspended", {})
    return Unplaceable("Error", f"it is placed by another scheduler, {spec.scheduler_name}", {})


def _is_suspended(spec: ResourceBindingSpec) -> bool:
    return spec.suspension is not None and bool(spec.suspension.scheduling)


def with_found_copies(snapshot: Snapshot) -> Snapshot:
    """Snapshot of a binding that was never placed: its targets are the copies that the binding before it has left."""
    binding: Any = snapshot.binding
    if binding.spec.clusters or snapshot.settings.exact_health or not may_schedule(binding.spec, snapshot.settings):
        return snapshot
    return replace(snapshot, binding=with_left_copies(binding, snapshot.works, snapshot.clusters))
