"""Instants of a projection: what is decided again when clusters report what they were given."""

import msgspec

from leeward.answers.imagined import ImaginedChange
from leeward.answers.projection import REPORTED_AFTER, project
from leeward.answers.what_if import what_if
from leeward.api.cluster import (
    AllocatableModeling,
    Cluster,
    NodeSummary,
    ResourceModel,
    ResourceModelRange,
    ResourceSummary,
)
from leeward.api.policy import ClusterAffinity, Placement, ReplicaSchedulingStrategy
from leeward.api.work import ReplicaRequirements
from tests.builders import binding, cluster, targets
from tests.fleet_pictures import picture_of

GRADES = tuple(
    ResourceModel(grade=grade, ranges=(ResourceModelRange(name="cpu", min=str(least), max=str(most)),))
    for grade, (least, most) in enumerate(((0, 1), (1, 2), (2, 4), (4, 8)))
)
AGGREGATED = Placement(
    cluster_affinity=ClusterAffinity(cluster_names=("a", "b")),
    replica_scheduling=ReplicaSchedulingStrategy(
        replica_scheduling_type="Divided", replica_division_preference="Aggregated"
    ),
)


def with_seven_cores_on_two_nodes(name: str) -> Cluster:
    summary = ResourceSummary(
        allocatable={"cpu": "16", "pods": "220"},
        allocated={"cpu": "9", "pods": "9"},
        allocatable_modelings=(AllocatableModeling(grade=2, count=1), AllocatableModeling(grade=3, count=1)),
    )
    made = cluster(name)
    status = msgspec.structs.replace(
        made.status, resource_summary=summary, node_summary=NodeSummary(2, 2), kubernetes_version="v1.31.0"
    )
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, resource_models=GRADES), status=status)


def test_what_waits_is_decided_again_when_a_cluster_reports_what_it_was_given() -> None:
    """The grades promise room for six; when these are there, one more is seen to fit."""
    requirements = ReplicaRequirements(resource_request={"cpu": "1"})
    app = binding(AGGREGATED, 8, targets(a=8), replica_requirements=requirements)
    clusters = [with_seven_cores_on_two_nodes(name) for name in ("a", "b", "c")]
    state = picture_of(clusters, [app])
    first, second = project(state, ImaginedChange(fails=frozenset({"a"}))).departures[next(iter(state.bindings))]
    assert (first.after, second.after) == ({"a": 2, "b": 6}, {"a": 1, "b": 7})
    assert second.at - first.at == REPORTED_AFTER
    told = what_if(state, ImaginedChange(fails=frozenset({"a"})))
    assert [(each.missing, each.cores_missing) for each in told.applications] == [(1, 1.0)]
    assert [each.sentence for each in told.instants][-2:] == [
        "1 application leaves",
        "1 application moves more replicas",
    ]
