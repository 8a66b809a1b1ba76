"""Descheduling: what is given back, on which evidence, and where nothing is."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal
from unittest import mock

import msgspec
import pytest

from kubeapi.core import Taint
from leeward.api.cluster import Cluster, ResourceSummary
from leeward.api.meta import Condition
from leeward.api.policy import ClusterAffinity, ClusterPreferences, Placement, ReplicaSchedulingStrategy
from leeward.api.rules import bounds
from leeward.api.work import BindingResource, BindingSuspension, GracefulEvictionTask, ResourceBinding, Work
from leeward.core.placement.descheduling import give_back, short_clusters, without_given_back
from leeward.core.placement.snapshot import Snapshot
from leeward.core.scheduling.estimates import question_of
from leeward.core.scheduling.model import Request
from leeward.planning.estimates import Estimates
from leeward.planning.fleet import placement_fleet
from tests.builders import DEFAULT_TOLERATIONS, at, binding, cluster, divided, targets, work, works

NAMES = ("m1", "m2", "m3")
GENERATION = 1


def by_room(preference: Literal["Aggregated", "Weighted"] = "Aggregated") -> Placement:
    weights = ClusterPreferences(dynamic_weight="AvailableReplicas") if preference == "Weighted" else None
    return Placement(
        cluster_affinity=ClusterAffinity(cluster_names=NAMES),
        cluster_tolerations=DEFAULT_TOLERATIONS,
        replica_scheduling=ReplicaSchedulingStrategy(
            replica_scheduling_type="Divided", replica_division_preference=preference, weight_preference=weights
        ),
    )


def at_rest(found: ResourceBinding) -> ResourceBinding:
    """The scheduler and the binding controller have seen its present generation."""
    applied = Condition("FullyApplied", "True", "FullyAppliedSuccess", observed_generation=GENERATION)
    status = msgspec.structs.replace(found.status, conditions=(applied,), scheduler_observed_generation=GENERATION)
    return msgspec.structs.replace(found, status=status)


def web(placement: Placement | None = None, clusters: Mapping[str, int] | None = None, **spec: Any) -> ResourceBinding:
    assigned = {"m1": 5, "m2": 1} if clusters is None else clusters
    return at_rest(binding(placement or by_room(), sum(assigned.values()), targets(**assigned), **spec))


def snapshot(
    found: ResourceBinding | None = None,
    ready: Mapping[str, int | None] | None = None,
    room: Mapping[str, int] | None = None,
    clusters: Mapping[str, Cluster] | None = None,
    **more: Any,
) -> Snapshot:
    """m1 has 5 replicas of which 2 are ready, m2 one that is; estimators say that there is room in m3."""
    found = found or web()
    estimates = Estimates()
    question = question_of(Request(found.spec))
    estimates.put(question, {"m1": 0, "m2": 0, "m3": 10} if room is None else room)
    fleet = placement_fleet(estimates=estimates)
    for name in NAMES:
        each = (clusters or {}).get(name, cluster(name))
        summary = ResourceSummary(allocatable={"pods": "110"})
        fleet.put(msgspec.structs.replace(each, status=msgspec.structs.replace(each.status, resource_summary=summary)))
    counted: dict[str, Work] = works({"m1": 2, "m2": 1} if ready is None else ready)
    return Snapshot(found, fleet, counted, now=at(600), **more)


def test_what_has_no_node_is_given_back_where_it_has_a_place() -> None:
    given_back = give_back(snapshot(), {"m1": 3})
    assert given_back == {"m1": 3}
    assert without_given_back(web().spec, given_back) == targets(m1=2, m2=1)


@pytest.mark.parametrize(("unschedulable", "given_back"), [(1, {"m1": 1}), (4, {"m1": 3}), (5, {"m1": 3}), (6, {})])
def test_what_is_ready_is_never_given_back(unschedulable: int, given_back: Mapping[str, int]) -> None:
    """More than there are replicas is no plausible number. Holds: S1, S10."""
    assert give_back(snapshot(), {"m1": unschedulable}) == given_back


@pytest.mark.parametrize("number", [0, -1, 2**31 - 1])
def test_a_number_that_says_nothing_gives_nothing_back(number: int) -> None:
    assert give_back(snapshot(), {"m1": number}) == {}
    assert give_back(snapshot(), {}) == {}


@pytest.mark.parametrize(("room", "given_back"), [(10, {"m1": 3}), (3, {"m1": 3}), (2, {"m1": 2}), (0, {})])
def test_no_more_is_given_back_than_finds_a_place_elsewhere(room: int, given_back: Mapping[str, int]) -> None:
    """Holds: S11."""
    assert give_back(snapshot(room={"m1": 0, "m2": 0, "m3": room}), {"m1": 3}) == given_back


def test_what_would_come_back_to_where_it_was_stays() -> None:
    assert give_back(snapshot(room={"m1": 50, "m2": 0, "m3": 0}), {"m1": 3}) == {}


def test_several_clusters_give_back_at_once_and_a_copy_may_give_back_all() -> None:
    both = snapshot(web(by_room("Weighted"), {"m1": 5, "m2": 2}), ready={"m1": 4, "m2": 0})
    assert give_back(both, {"m1": 1, "m2": 2}) == {"m1": 1, "m2": 2}
    assert without_given_back(both.binding.spec, {"m1": 1, "m2": 2}) == targets(m1=4, m2=0)


def test_s11_nothing_is_given_back_by_a_placement_beyond_its_bounds() -> None:
    """The scheduler would give it no other place."""
    with mock.patch.object(bounds, "MOST_PLACEMENT_BYTES", 100):
        assert give_back(snapshot(), {"m1": 3}) == {}


def test_clusters_are_asked_where_fewer_are_ready_than_assigned() -> None:
    assert short_clusters(snapshot()) == ("m1",)
    assert short_clusters(snapshot(ready={"m1": 5, "m2": 1})) == ()


@pytest.mark.parametrize(
    "changed",
    [
        {"brake": True},
        {"found": web(divided({"m1": 5, "m2": 1}))},
        {"found": web(tasks=(GracefulEvictionTask("m3", "TaintUntolerated", "TaintManager"),))},
        {"found": web(suspension=BindingSuspension(scheduling=True))},
        {"found": web(scheduler_name="another")},
        {"found": msgspec.structs.replace(web(), spec=msgspec.structs.replace(web().spec, replicas=9))},
        {"found": binding(by_room(), 6, targets(m1=5, m2=1))},
        {"clusters": {"m1": cluster("m1", ready="False")}},
        {"clusters": {"m1": cluster("m1", ready="Unknown")}},
        {"clusters": {"m1": cluster("m1", taints=(Taint(key="a", effect="NoExecute"),))}},
        {"ready": {"m2": 1}},
    ],
    ids=[
        "the brake is engaged",
        "static weights",
        "something is leaving",
        "suspended",
        "another scheduler",
        "being scaled",
        "not carried out yet",
        "not ready",
        "not seen",
        "to be left",
        "no report",
    ],
)
def test_nothing_is_given_back_where_somebody_else_decides_or_nothing_is_known(changed: Mapping[str, Any]) -> None:
    """Holds: S4."""
    seen = snapshot(**changed)
    assert short_clusters(seen) == ()
    assert give_back(seen, {"m1": 3}) == {}


def test_a_report_from_before_the_present_manifest_is_no_evidence() -> None:
    seen = snapshot()
    for old in (work("m1", 2, carried=0), work("m1", 2, applied=0), work("m1", 2, reflected=-5)):
        assert give_back(replace(seen, works={**seen.works, "m1": old}), {"m1": 3}) == {}


def test_other_kinds_are_left_alone_as_in_karmada() -> None:
    found = web()
    stateful = BindingResource("apps/v1", "StatefulSet", "db", "default", uid="uid-1")
    spec = msgspec.structs.replace(found.spec, resource=stateful)
    assert short_clusters(snapshot(msgspec.structs.replace(found, spec=spec))) == ()
