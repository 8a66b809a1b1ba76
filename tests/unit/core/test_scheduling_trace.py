"""A trace says why, and changes nothing."""

from hypothesis import given

from leeward.api.cluster import Cluster
from leeward.api.work import ResourceBindingSpec, ResourceBindingStatus
from leeward.core.scheduling import Trace, schedule
from leeward.core.scheduling.trace import DivisionTrace
from leeward.planning import Fleet
from tests.one_by_one import schedule_one_by_one
from tests.placements import TAINT, binding_spec, cluster, fleets, schedule_on, specs

STATUS = ResourceBindingStatus()
DYNAMIC = {
    "replicaSchedulingType": "Divided",
    "replicaDivisionPreference": "Weighted",
    "weightPreference": {"dynamicWeight": "AvailableReplicas"},
}


@given(specs, fleets)
def test_asking_why_changes_nothing(spec: ResourceBindingSpec, fleet: list[Cluster]) -> None:
    assert schedule_on(spec, STATUS, fleet, trace=Trace()) == schedule_on(spec, STATUS, fleet)


def test_a_trace_tells_filters_scores_and_weights() -> None:
    fleet = [cluster("m1", pods=3), cluster("m2", pods=6), cluster("m3", taints=[TAINT])]
    trace = Trace()
    schedule(binding_spec({"replicaScheduling": DYNAMIC}, 4, {"m1": 1}), STATUS, Fleet(fleet).view(), trace=trace)
    (term,) = trace.terms
    assert term.rejected == {"m3": "TaintToleration: cluster(s) had untolerated taint {k:NoSchedule}"}
    assert (term.candidates["m1"].score, term.candidates["m1"].room, term.candidates["m2"].score) == (100, 3, 0)
    assert term.selected == ("m1", "m2")
    (division,) = term.divisions
    assert (division.replicas, division.weights, division.result) == (3, {"m1": 3, "m2": 6}, {"m1": 1, "m2": 2})


def test_a_division_tells_of_those_who_take_part() -> None:
    fleet = [cluster("m1", pods=3), cluster("m2", pods=0), cluster("m3", pods=4)]
    trace = Trace()
    schedule(binding_spec({"replicaScheduling": DYNAMIC}, 4), STATUS, Fleet(fleet).view(), trace=trace)
    (division,) = trace.terms[0].divisions
    assert (division.weights, division.result) == ({"m1": 3, "m3": 4}, {"m1": 2, "m3": 2})


def test_a_trace_tells_the_groups() -> None:
    constraints = [{"spreadByField": "region", "minGroups": 2, "maxGroups": 2}]
    fleet = [cluster(f"m{n}", region=f"r{n}") for n in range(3)]
    trace = Trace()
    schedule_on(binding_spec({"spreadConstraints": constraints}), STATUS, fleet, trace=trace)
    assert trace.terms[0].groups == {"region": {"r0": 1000, "r1": 1000}}


def test_a_trace_tells_every_term_that_was_tried() -> None:
    terms = [{"affinityName": "near", "clusterNames": ["m9"]}, {"affinityName": "far", "clusterNames": ["m1"]}]
    trace = Trace()
    schedule_on(binding_spec({"clusterAffinities": terms}), STATUS, [cluster("m1")], trace=trace)
    assert [(term.affinity_name, bool(term.rejected)) for term in trace.terms] == [("near", True), ("far", False)]


@given(specs, fleets)
def test_arrays_tell_what_is_told_cluster_by_cluster(spec: ResourceBindingSpec, fleet: list[Cluster]) -> None:
    """Arrays, which decide in production, and the way that is read cluster by cluster give the same reasons."""
    arrays, one_by_one = Trace(), Trace()
    result = schedule(spec, STATUS, Fleet(fleet).view(), trace=arrays)
    assert result == schedule_one_by_one(spec, STATUS, fleet, trace=one_by_one)
    for ours, reference in zip(arrays.terms, one_by_one.terms, strict=True):
        assert (ours.rejected, ours.groups, sorted(ours.selected)) == (
            reference.rejected,
            reference.groups,
            sorted(reference.selected),
        )
        assert {n: (c.tier, c.score, c.assigned) for n, c in ours.candidates.items()} == {
            n: (c.tier, c.score, c.assigned) for n, c in reference.candidates.items()
        }
        assert _told(ours.divisions) == _told(reference.divisions)


def _told(divisions: list[DivisionTrace]) -> list[tuple[int, dict[str, int]]]:
    """Replicas that clusters were given beyond what they had, without those that had no weight."""
    given = (
        (each.replicas, {name: each.result[name] - each.initial.get(name, 0) for name, w in each.weights.items() if w})
        for each in divisions
    )
    return [(replicas, {name: n for name, n in sorted(counts.items()) if n}) for replicas, counts in given]
