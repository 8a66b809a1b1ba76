"""States of a cluster: what it may be, and what it may become."""

from collections.abc import Callable
from functools import reduce

from msgspec.structs import replace

from kubeapi.core import Taint
from leeward.api.cluster import Cluster, NodeSummary, ResourceSummary
from leeward.api.meta import Condition
from leeward.api.names import (
    DRAIN_BUDGET_ANNOTATION,
    DRAIN_TAINT,
    FAILING_CONDITION,
    FLAPPING_TAINT,
    OUTAGE_CONFIRMED_ANNOTATION,
)
from tests.builders import at
from tests.outages import died, well


def tainted(key: str, effect: str) -> Callable[[Cluster], Cluster]:
    def change(known: Cluster) -> Cluster:
        taint = Taint(key=key, effect=effect, time_added=at(0))
        return replace(known, spec=replace(known.spec, taints=(*known.spec.taints, taint)))

    return change


def says(condition: str, status: str) -> Callable[[Cluster], Cluster]:
    def change(known: Cluster) -> Cluster:
        kept = tuple(each for each in known.status.conditions if each.type != condition)
        said = Condition(condition, status, "ClusterNotReachable", last_transition_time=at(0))
        return replace(known, status=replace(known.status, conditions=(*kept, said)))

    return change


def annotated(name: str, text: str) -> Callable[[Cluster], Cluster]:
    return lambda known: replace(known, metadata=replace(known.metadata, annotations={name: text}))


def in_turn(*changes: Callable[[Cluster], Cluster]) -> Callable[[Cluster], Cluster]:
    return lambda known: reduce(lambda found, change: change(found), changes, known)


def is_deleted(known: Cluster) -> Cluster:
    return replace(known, metadata=replace(known.metadata, deletion_timestamp=at(0)))


def without_apis(known: Cluster) -> Cluster:
    return replace(known, status=replace(known.status, api_enablements=()))


def without_nodes(known: Cluster) -> Cluster:
    return replace(known, status=replace(known.status, node_summary=NodeSummary(total_num=3)))


def elsewhere(known: Cluster) -> Cluster:
    labels = {"tier": "gold"}
    return replace(known, metadata=replace(known.metadata, labels=labels), spec=replace(known.spec, region="r9"))


def without_room(known: Cluster) -> Cluster:
    return replace(known, status=replace(known.status, resource_summary=ResourceSummary(allocatable={"pods": "0"})))


STATES: dict[str, Callable[[Cluster], Cluster | None]] = {
    "is well": well,
    "is dead, and tainted": in_turn(well, died),
    "is not Ready": in_turn(well, says("Ready", "False")),
    "is not Ready, and answers again": in_turn(well, says("Ready", "False"), says(FAILING_CONDITION, "False")),
    "begins to fail": in_turn(well, says(FAILING_CONDITION, "True")),
    "is cordoned": in_turn(well, tainted("k", "NoSchedule")),
    "is drained": in_turn(well, tainted(DRAIN_TAINT, "NoExecute")),
    "is drained, one by one": in_turn(well, tainted(DRAIN_TAINT, "NoExecute"), annotated(DRAIN_BUDGET_ANNOTATION, "1")),
    "is held down": in_turn(well, tainted(FLAPPING_TAINT, "NoSchedule")),
    "is confirmed as lost": in_turn(well, died, annotated(OUTAGE_CONFIRMED_ANNOTATION, "us")),
    "is being unjoined": in_turn(well, is_deleted),
    "has no such API": in_turn(well, without_apis),
    "has no node that is ready": in_turn(well, without_nodes),
    "is labelled otherwise, and elsewhere": in_turn(well, elsewhere),
    "has no room": in_turn(well, without_room),
    "is not there": lambda known: None,
}
"""States that a cluster may be in, or come into."""
BEGINNINGS = [*["is well"] * len(STATES), *STATES]
