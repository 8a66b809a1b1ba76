"""The small worlds that are searched: how many clusters, which bindings, which faults.

A duration is one tick, whichever it is, and a grace period a tick and a half: what is compared is then only which of
them are over, and in which order they began. Each world asks another question of the decision functions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kubeapi.core import Toleration
from leeward.api.names import CONDITION_TAINT_KEYS
from leeward.api.policy import (
    ClusterAffinity,
    ClusterPreferences,
    Placement,
    ReplicaSchedulingStrategy,
    SpreadConstraint,
    StaticClusterWeight,
)

Fault = Literal["cut", "refuse", "fail", "taint", "scale", "update", "delete", "unwritten", "slow"]
"""cut: a cluster answers no more; refuse: it refuses our credential; fail: the Pods of a copy fail; taint: someone
wants the cluster empty; scale, update, delete: the user does that to the template; unwritten: one write of a Work is
refused; slow: time passes although the control plane has something to do."""

TICK_SECONDS = 60
GRACE_SECONDS = 1.5 * TICK_SECONDS
NAMES = ("m1", "m2", "m3")
MOST_FAULTS = 6

_TOLERATIONS = tuple(
    Toleration(key=key, operator="Exists", effect="NoExecute", toleration_seconds=TICK_SECONDS)
    for key in CONDITION_TAINT_KEYS
)


@dataclass(frozen=True, slots=True)
class Workload:
    """A binding: its placement, how many replicas it asks for at first, and after the user scaled it."""

    placement: Placement
    replicas: int
    scaled: int = 1
    purge_mode: Literal["", "Directly", "Gracefully"] = ""

    @property
    def is_divided(self) -> bool:
        strategy = self.placement.replica_scheduling
        return strategy is not None and strategy.replica_scheduling_type == "Divided"

    @property
    def groups(self) -> tuple[int, int] | None:
        """The fewest and the most clusters that it wants; None where nothing is said."""
        return next(((c.min_groups, c.max_groups) for c in self.placement.spread_constraints), None)


@dataclass(frozen=True, slots=True)
class SmallWorld:
    """`capacity` is how many Pods run in every cluster at most; None where there is always room."""

    name: str
    clusters: int
    workloads: tuple[Workload, ...]
    faults: tuple[Fault, ...]
    capacity: int | None = None
    most_faults: int = field(default=MOST_FAULTS)


def duplicated(groups: int = 0) -> Placement:
    """A copy on every cluster, or on just so many."""
    constraints = (SpreadConstraint(spread_by_field="cluster", min_groups=groups, max_groups=groups),)
    return Placement(
        cluster_affinity=ClusterAffinity(),
        cluster_tolerations=_TOLERATIONS,
        spread_constraints=constraints if groups else (),
        replica_scheduling=ReplicaSchedulingStrategy(replica_scheduling_type="Duplicated"),
    )


def divided(weights: Mapping[str, int] | None = None, *, aggregated: bool = False) -> Placement:
    """Placement that divides by static weight, or by what is available: spread, or on as few clusters as will do."""
    rules = tuple(StaticClusterWeight(ClusterAffinity(cluster_names=(n,)), w) for n, w in (weights or {}).items())
    preference = ClusterPreferences(static_weight_list=rules, dynamic_weight="" if rules else "AvailableReplicas")
    return Placement(
        cluster_affinity=ClusterAffinity(),
        cluster_tolerations=_TOLERATIONS,
        replica_scheduling=ReplicaSchedulingStrategy(
            replica_scheduling_type="Divided",
            replica_division_preference="Aggregated" if aggregated else "Weighted",
            weight_preference=None if aggregated else preference,
        ),
    )


_STATIC = Workload(divided({"m1": 1, "m2": 2}), 3, scaled=4)
_ONE_COPY = Workload(duplicated(1), 1, scaled=2)
_PURGED = Workload(duplicated(1), 1, scaled=2, purge_mode="Directly")

WORLDS = (
    SmallWorld("drained clusters", 2, (_ONE_COPY,), ("taint", "fail")),
    SmallWorld("new templates", 2, (_ONE_COPY,), ("taint", "update", "unwritten")),
    SmallWorld("static weights", 2, (_STATIC,), ("cut", "scale")),
    SmallWorld("static weights, drained", 2, (_STATIC,), ("taint", "scale", "fail")),
    SmallWorld("static weights of three", 3, (Workload(divided({"m1": 1, "m2": 1, "m3": 1}), 3, 4),), ("cut", "fail")),
    SmallWorld("dynamic weights", 3, (Workload(divided(), 4, 2),), ("cut", "taint", "scale")),
    SmallWorld("little room", 2, (Workload(divided(), 4, 3),), ("taint", "scale", "fail"), capacity=3),
    SmallWorld("little room, outages", 3, (Workload(divided(), 3, 4),), ("cut", "taint"), capacity=2),
    SmallWorld("aggregated", 3, (Workload(divided(aggregated=True), 2, 4),), ("cut", "fail", "taint"), capacity=4),
    SmallWorld("duplicated everywhere", 3, (Workload(duplicated(), 1, 2),), ("cut", "fail", "taint")),
    SmallWorld("duplicated to two of three", 3, (Workload(duplicated(2), 1, 2),), ("cut", "taint", "unwritten")),
    SmallWorld("purged directly", 3, (_PURGED,), ("cut", "fail", "taint", "scale")),
    SmallWorld("refused credentials", 3, (_ONE_COPY,), ("cut", "refuse", "slow")),
    SmallWorld("two bindings", 3, (_ONE_COPY, _ONE_COPY), ("cut", "fail")),
    SmallWorld("two bindings, deleted", 2, (_STATIC, Workload(duplicated(), 1, 2)), ("cut", "delete", "scale")),
)
