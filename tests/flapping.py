"""A day in a fleet that flaps, played on the decisions alone: probes, taints, hold-downs and one binding.

Every ten seconds each cluster is probed, as the control plane does with its default timings; what is decided is written
at once, and what is placed on a cluster that is up is healthy at the next probe.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

import msgspec

from leeward.api.cluster import Cluster
from leeward.api.meta import set_condition
from leeward.api.work import ResourceBinding
from leeward.core.cluster_health.condition_taints import decide_taints
from leeward.core.cluster_health.flap_damping import HoldDownSettings, decide_hold_down
from leeward.core.cluster_health.ready_condition import (
    BEFORE_ALL,
    HealthMemory,
    Thresholds,
    decide_ready,
    ready_condition,
)
from leeward.core.placement import PlacementSettings, Snapshot, decide
from tests.builders import aggregated, at, cluster, fleet, works

PROBE_SECONDS = 10
THRESHOLDS = Thresholds(30, 30)
EVICTION_SECONDS = 300
HOLD_DOWN = HoldDownSettings()

IsUp = Callable[[float], bool]
"""Tells whether a cluster is up, by seconds since the day began."""


class FlappingFleet:
    """`moves` counts the evictions of the binding; `down_seconds` for how long its copies ran nowhere."""

    def __init__(
        self, bound: ResourceBinding, fates: Mapping[str, IsUp], hold_down: HoldDownSettings = HOLD_DOWN
    ) -> None:
        self.binding = aggregated(bound)
        self.moves = 0
        self.down_seconds = 0
        self._fates = fates
        self._hold_down = hold_down
        self._clusters = {name: cluster(name) for name in fates}
        self._memories: dict[str, HealthMemory | None] = {name: HealthMemory("True", BEFORE_ALL) for name in fates}
        self._wake_at: datetime | None = at(0)

    def play(self, seconds: float) -> None:
        for second in range(0, int(seconds), PROBE_SECONDS):
            up = {name for name, is_up in self._fates.items() if is_up(second)}
            before = dict(self._clusters)
            for name in self._clusters:
                self._probe(name, name in up, at(second))
            if before != self._clusters or (self._wake_at is not None and self._wake_at <= at(second)):
                self._place(up, at(second))
            if not up & {target.name for target in self.binding.spec.clusters}:
                self.down_seconds += PROBE_SECONDS

    def _probe(self, name: str, up: bool, now: datetime) -> None:
        there = self._clusters[name]
        observed = ready_condition("healthy" if up else "unreachable")
        self._memories[name], ready = decide_ready(self._memories[name], observed, there.ready, now, THRESHOLDS)
        conditions = set_condition(there.status.conditions, ready, now)
        there = msgspec.structs.replace(
            there, status=msgspec.structs.replace(there.status, conditions=conditions, kubernetes_version="v1.31.0")
        )
        self._clusters[name] = self._tainted(there, now)

    def _tainted(self, there: Cluster, now: datetime) -> Cluster:
        by_condition = decide_taints(there, now, last_seen=None, eviction_seconds=EVICTION_SECONDS)
        decision = decide_hold_down(there, by_condition.taints, now, self._hold_down)
        merged = {**there.metadata.annotations, **by_condition.annotations, **decision.annotations}
        annotations = {key: value for key, value in merged.items() if value is not None}
        return msgspec.structs.replace(
            there,
            metadata=msgspec.structs.replace(there.metadata, annotations=annotations),
            spec=msgspec.structs.replace(there.spec, taints=decision.taints),
        )

    def _place(self, up: set[str], now: datetime) -> None:
        reported = {t.name: t.replicas for t in self.binding.spec.clusters if t.name in up}
        seconds = (now - at(0)).total_seconds()
        decision = decide(
            Snapshot(
                self.binding,
                fleet(*self._clusters.values()),
                works(reported, reflected=seconds),
                settings=PlacementSettings(),
                now=now,
            )
        )
        self.moves += len(decision.evicted)
        spec = msgspec.structs.replace(
            self.binding.spec, clusters=decision.clusters, graceful_eviction_tasks=decision.eviction_tasks
        )
        changed = spec != self.binding.spec
        self.binding = msgspec.structs.replace(self.binding, spec=spec)
        self._wake_at = now if changed else decision.wake_at
