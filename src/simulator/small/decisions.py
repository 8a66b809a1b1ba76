"""The real decision functions, asked about the states of one small world; the same question is answered once.

`Rules` is the seam at which a test puts another function in the place of a real one, to see that it is found out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from leeward import planning
from leeward.api.cluster import Cluster
from leeward.core.cluster_health.brake import Brake, BrakeSettings, decide_brake, holds
from leeward.core.cluster_health.condition_taints import decide_taints
from leeward.core.cluster_health.ready_condition import HealthMemory, Thresholds, decide_ready, ready_condition
from leeward.core.execution.works import replicas_by_cluster
from leeward.core.placement import Decision, PlacementSettings, Snapshot, decide
from leeward.core.scheduling import Unplaceable
from simulator.small.checks import Writing, check_decision
from simulator.small.model import BrakeState, ClusterObject, ClusterState, Plan, Problem, WorkObject
from simulator.small.objects import (
    NOW,
    TICK,
    age_of,
    binding_of,
    brake_of,
    brake_state,
    cluster_of,
    decided,
    instant,
    tainted,
    work_of,
)
from simulator.small.worlds import GRACE_SECONDS, NAMES, TICK_SECONDS, SmallWorld

BRAKE = BrakeSettings(release_seconds=TICK_SECONDS)
PLACEMENT = PlacementSettings(graceful_seconds=GRACE_SECONDS)
THRESHOLDS = Thresholds(TICK_SECONDS, TICK_SECONDS)
MOST_ANSWERS = 1_000_000
ROOM = 100
"""Room that a cluster says it has where a world sets no limit."""

Works = tuple[WorkObject | None, ...]
Fleet = tuple[ClusterObject, ...]
Room = tuple[int, ...]
"""Numbers of further Pods that each cluster says it has room for; empty where there is always room."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The decision functions that a world is searched with."""

    placement: Callable[[Snapshot], Decision] = decide
    brake: Callable[..., bool] = holds


class Placing(NamedTuple):
    """The plan that was decided on, and what is wrong with it.

    `held` is the reason of the condition EvictionHeld; `wakes`: the scheduler looks again within a tick.
    """

    plan: Plan
    problems: tuple[Problem, ...]
    held: str
    wakes: bool


class Decisions:
    def __init__(self, world: SmallWorld, rules: Rules) -> None:
        self._world = world
        self._rules = rules
        self.probe = lru_cache(MOST_ANSWERS)(self._probe)
        self.taint = lru_cache(MOST_ANSWERS)(self._taint)
        self.brake = lru_cache(MOST_ANSWERS)(self._brake)
        self.braked = lru_cache(MOST_ANSWERS)(self._braked)
        self.place = lru_cache(MOST_ANSWERS)(self._place)
        self.needed = lru_cache(MOST_ANSWERS)(self._needed)
        self.arrays = lru_cache(MOST_ANSWERS)(_arrays)

    def _probe(self, cluster: ClusterState) -> ClusterState:
        """The cluster after one more look at it."""
        memory = HealthMemory(cluster.probed, instant(cluster.probed_age))
        current = cluster_of(0, cluster.object, ROOM).ready
        memory, ready = decide_ready(memory, ready_condition(cluster.sight), current, NOW, THRESHOLDS)
        assert memory is not None, "what was remembered is not forgotten"
        seen = cluster.object._replace(ready=ready.status == "True", reason=ready.reason)
        agrees = memory.status == ready.status
        return ClusterState(cluster.sight, memory.status, 1 if agrees else age_of(memory.since, 1), seen)

    def _taint(self, seen: ClusterObject, braked: bool) -> ClusterObject:
        """The Cluster object with the taints that its condition calls for."""
        cluster = cluster_of(0, seen, ROOM)
        decision = decide_taints(cluster, NOW, last_seen=None, eviction_seconds=TICK_SECONDS, failover=not braked)
        return tainted(seen, decision)

    def _brake(self, brake: BrakeState, fleet: Fleet) -> BrakeState:
        return brake_state(decide_brake(brake_of(brake), _clusters(fleet).values(), NOW, BRAKE).brake)

    def _braked(self, brake: BrakeState, fleet: Fleet) -> bool:
        real: Brake = brake_of(brake)
        return self._rules.brake(real, _clusters(fleet).values(), BRAKE)

    def _place(self, index: int, plan: Plan, works: Works, fleet: Fleet, braked: bool, room: Room) -> Placing:
        """Result that the scheduler writes into a binding now."""
        workload = self._world.workloads[index]
        real_works = {NAMES[i]: work_of(i, work) for i, work in enumerate(works) if work is not None}
        decision = self._rules.placement(
            Snapshot(
                binding_of(workload, plan), self.arrays(fleet, room), real_works, braked, settings=PLACEMENT, now=NOW
            )
        )
        after = decided(plan, decision)
        ordered, orders = self.needed(index, plan), self.needed(index, after)
        problems = check_decision(Writing(workload, plan, after, ordered, orders, works, fleet, decision))
        is_retried = isinstance(decision.result, Unplaceable) or decision.held is not None
        wakes = is_retried or (decision.wake_at is not None and decision.wake_at <= NOW + TICK)
        return Placing(after, problems, "" if decision.held is None else decision.held.reason, wakes)

    def _needed(self, index: int, plan: Plan) -> dict[int, int]:
        """The clusters that need a Work, with its replicas."""
        needed = replicas_by_cluster(binding_of(self._world.workloads[index], plan).spec)
        return {NAMES.index(name): replicas for name, replicas in needed.items()}


def _arrays(fleet: Fleet, room: Room) -> planning.Fleet:
    """The real clusters as the decision reads them."""
    return planning.Fleet(_clusters(fleet, room).values())


def _clusters(fleet: Fleet, room: Room = ()) -> dict[str, Cluster]:
    """The real clusters by name, each with its room."""
    return {NAMES[i]: cluster_of(i, seen, room[i] if room else ROOM) for i, seen in enumerate(fleet)}
