"""Looks at a cluster that is lost, and what a record of its outage becomes by them."""

import dataclasses
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from kubeapi.core import Taint
from kubeapi.meta import ObjectMeta
from leeward.api.cluster import Cluster, ClusterSpec, ClusterStatus
from leeward.api.meta import Condition
from leeward.api.names import EVICTION_HELD_CONDITION, LAST_SEEN_CONDITION
from leeward.api.work import GracefulEvictionTask
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.outages.fold import fold
from leeward.core.outages.observation import OutageObservation
from leeward.core.outages.record import OutageRecord, counts_of
from leeward.core.outages.sight import ApplicationKey, CopySight
from tests.builders import NOW, at

NO_EXECUTE = Taint(key="cluster.karmada.io/not-ready", effect="NoExecute", time_added=at(330))


def lost(*taints: Taint, ready_since: datetime | None = None) -> Cluster:
    """Failing since NOW, not Ready since half a minute later; or Ready again."""
    ready = Condition("Ready", "False", "ClusterNotReachable", "cluster is not reachable", at(30))
    seen = Condition(LAST_SEEN_CONDITION, "False", "ClusterNotReachable", "", NOW)
    conditions = (ready, seen)
    if ready_since is not None:
        conditions = (replace(ready, status="True", reason="ClusterReady", last_transition_time=ready_since),)
    return Cluster(
        metadata=ObjectMeta(name="member1"),
        spec=ClusterSpec(sync_mode="Push", taints=taints),
        status=ClusterStatus(kubernetes_version="v1", conditions=conditions),
    )


def here(name: str = "web", **fields: Any) -> CopySight:
    sight = CopySight("Deployment", name, "default", {"member1": 2, "member2": 1}, True, tolerated_seconds=300)
    return with_sight(sight, **fields)


def gone(name: str = "web", left: float = 630, **fields: Any) -> CopySight:
    """A copy that has left as a whole, with an open task."""
    task = GracefulEvictionTask(
        from_cluster="member1", reason="TaintUntolerated", producer="x", creation_timestamp=at(left)
    )
    return with_sight(here(name), targets={"member2": 3}, is_here=False, task=task, is_behind=True, **fields)


def elsewhere(**fields: Any) -> CopySight:
    """A copy that is not here, and whose leaving was not seen."""
    return with_sight(gone(), task=None, is_behind=False, **fields)


def with_sight(sight: CopySight, **fields: Any) -> CopySight:
    return dataclasses.replace(sight, **fields)


def key(name: str) -> ApplicationKey:
    return "default", f"{name}-deployment"


def look(
    record: OutageRecord,
    seconds: float,
    cluster: Cluster | None,
    *sights: CopySight,
    gone: tuple[str, ...] = (),
    whole: bool = False,
    **hub: bool,
) -> OutageRecord:
    """The record after a look at these applications, of which those that are `gone` are deleted."""
    seen: dict[ApplicationKey, CopySight | None] = {key(name): None for name in gone}
    seen |= {key(sight.name): sight for sight in sights}
    return fold(record, OutageObservation(at(seconds), cluster, seen, is_whole=whole, **hub))


def states(record: OutageRecord) -> dict[str, int]:
    return {name: count for name, count in counts_of(record).items() if count}


def held(reason: HeldReason) -> Condition:
    return Condition(EVICTION_HELD_CONDITION, "True", reason.value, f"because of {reason}", at(700))
