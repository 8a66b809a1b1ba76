"""The steps for one affinity term: what passes the filters, who is chosen, and what is told where nothing is."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from leeward.api.cluster import Cluster
from leeward.api.work import TargetCluster
from leeward.core.scheduling.candidates import room_in
from leeward.core.scheduling.model import MAX_REPLICAS, Candidate, Estimator, Filter, Placed, Request, Unplaceable
from leeward.core.scheduling.selection import room_decides, select
from leeward.core.scheduling.steps import (
    DEFAULT_PROFILE,
    finish,
    first_rejection,
    fit_message,
    is_feasible,
)
from leeward.core.scheduling.trace import CandidateTrace, TermTrace
from leeward.core.scheduling.vectors import place
from leeward.planning import Fleet
from tests.placements import binding_spec, cluster

DUPLICATED = {"replicaSchedulingType": "Duplicated"}
STATIC = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
DYNAMIC = {**STATIC, "weightPreference": {"dynamicWeight": "AvailableReplicas"}}


def candidate(name: str, room: int = 10, assigned: int = 0, score: int = 0) -> Candidate:
    return Candidate(cluster(name), tier=0, score=score, room=room, assigned=assigned)


def over(low: int, high: int, **by: str) -> dict[str, Any]:
    return {**(by or {"spreadByField": "cluster"}), "minGroups": low, "maxGroups": high}


def asking(strategy: Any, *constraints: Any, replicas: int = 3, held: Any = None, **more: Any) -> Request:
    placement = {"replicaScheduling": strategy, "spreadConstraints": constraints}
    return Request(binding_spec(placement, replicas, held), **more)


def without_reasons() -> dict[str, str]:
    return {"m9": "too far away"}


@pytest.mark.parametrize(
    ("held", "keeps", "expected"), [("m2", False, "m1"), ("m2", True, "m2"), ("m1", True, "m1"), ("m3", True, "m1")]
)
def test_what_a_failover_keeps_comes_first_whatever_its_rank(held: str, keeps: bool, expected: str) -> None:
    request = asking(DUPLICATED, over(1, 1), held={held: 3}, keep_assigned=keeps)
    candidates = [candidate("m2", score=0), candidate("m1", score=50)]
    assert finish(request, candidates, without_reasons) == Placed((TargetCluster(expected, 3),))


@pytest.mark.parametrize(
    ("constraint", "room", "kind", "message"),
    [
        (
            over(3, 3),
            9,
            "Error",
            "failed to select clusters: the number of feasible clusters is less than spreadConstraint.MinGroups",
        ),
        (over(1, 1), 2, "Error", "failed to select clusters: no enough resource when selecting 1 clusters"),
        (
            over(1, 1, spreadByField=""),
            2,
            "Error",
            "failed to select clusters: a spread constraint names neither a field nor a label",
        ),
        (
            None,
            1,
            "UnschedulableError",
            "failed to assign replicas: failed to scale up: Clusters available replicas 2 are not enough to schedule.",
        ),
    ],
)
def test_no_result_says_in_which_step_and_what_was_refused_before(
    constraint: Any, room: int, kind: Any, message: str
) -> None:
    request = asking(DYNAMIC, *([constraint] if constraint else []))
    candidates = [candidate("m1", room), candidate("m2", room)]
    assert finish(request, candidates, without_reasons) == Unplaceable(kind, message, {"m9": "too far away"})


def test_a_selection_that_fails_has_refused_no_cluster_itself() -> None:
    few = select(asking(DUPLICATED, over(3, 3)), [candidate("m1")])
    roomless = select(asking(DYNAMIC, over(1, 1)), [candidate("m1", room=2)])
    nameless = select(asking(DUPLICATED, over(1, 1, spreadByField="")), [candidate("m1")])
    for failure in (few, roomless, nameless):
        assert isinstance(failure, Unplaceable)
        assert (failure.kind, failure.rejected) == ("Error", {})


@pytest.mark.parametrize(
    ("rooms", "low", "high", "expected"),
    [
        ({"m1": 2, "m2": 2, "m3": 2}, 1, 2, ["m1", "m2"]),
        ({"m1": 2, "m2": 1, "m3": 2}, 1, 1, None),
        ({"m1": 2, "m2": 0, "m3": 2}, 1, 2, ["m1", "m3"]),
        ({"m1": 0, "m2": 0, "m3": 1, "m4": 2}, 2, 2, ["m3", "m4"]),
        ({"m1": 1, "m2": 1, "m3": 1, "m4": 3}, 1, 2, ["m1", "m4"]),
        ({"m1": 1, "m2": 1, "m3": 1}, 3, 9, ["m1", "m2", "m3"]),
        ({"m1": 1, "m2": 1, "m3": 1}, 1, 2, None),
        ({"m1": 2, "m2": 1, "m3": 5}, 1, 2, ["m1", "m2"]),
        ({"m1": 0, "m2": 1, "m3": 1, "m4": 1}, 3, 3, ["m4", "m2", "m3"]),
    ],
)
def test_the_last_of_the_best_give_way_to_the_roomiest_of_the_rest(
    rooms: dict[str, int], low: int, high: int, expected: list[str] | None
) -> None:
    """Three replicas are to find room."""
    selected = select(asking(DYNAMIC, over(low, high)), [candidate(name, room) for name, room in rooms.items()])
    assert (None if isinstance(selected, Unplaceable) else [each.name for each in selected]) == expected


def test_in_a_failover_a_cluster_that_holds_replicas_gives_way_to_none() -> None:
    request = asking(DYNAMIC, over(2, 2), replicas=6, held={"m2": 1}, keep_assigned=True)
    candidates = [candidate("m1", 1), candidate("m2", 0, 1), candidate("m3", 5)]
    selected = select(request, candidates)
    assert not isinstance(selected, Unplaceable)
    assert [each.name for each in selected] == ["m3", "m2"]


@pytest.mark.parametrize(
    ("strategy", "constraints", "terms", "expected"),
    [
        (None, (), (), False),
        (DUPLICATED, (), (), False),
        (DUPLICATED, (over(1, 1),), (), True),
        (DYNAMIC, (), (), True),
        ({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}, (), (), True),
        (STATIC, (over(1, 1),), (), False),
        (STATIC, (), ({"affinityName": "near"},), False),
        (STATIC, (), ({"affinityName": "a", "overflowAffinities": [{"affinityName": "far"}]},), True),
    ],
)
def test_room_decides_where_it_can_change_the_result(
    strategy: Any, constraints: Any, terms: Any, expected: bool
) -> None:
    placement = {"replicaScheduling": strategy, "spreadConstraints": constraints, "clusterAffinities": terms}
    spec = binding_spec(placement)
    assert spec.placement is not None
    assert room_decides(spec.placement) is expected


def refusing(name: str, *names: str) -> Filter:
    return Filter(name, lambda request, cluster: f"{name} says no" if cluster.name in names else None)


def test_the_first_filter_that_refuses_a_cluster_gives_the_reason() -> None:
    profile = dataclasses.replace(DEFAULT_PROFILE, filters=(refusing("A", "m1"), refusing("B", "m1", "m2", "m3")))
    request = dataclasses.replace(asking(DUPLICATED), trace=TermTrace())
    result = place(request, Fleet([cluster("m0", deleted=True), cluster("m1"), cluster("m2")], profile).view())
    assert isinstance(result, Unplaceable)
    assert result.rejected == {"m1": "A says no", "m2": "B says no"}
    assert request.trace is not None
    assert request.trace.rejected == {"m1": "A: A says no", "m2": "B: B says no"}
    assert first_rejection(request, cluster("m4"), profile.filters) is None


@pytest.mark.parametrize(
    ("there", "expected"), [(cluster("m3"), True), (cluster("m3", deleted=True), False), (cluster("m1"), False)]
)
def test_a_cluster_is_feasible_when_all_filters_let_it_pass_and_it_stays(there: Cluster, expected: bool) -> None:
    profile = dataclasses.replace(DEFAULT_PROFILE, filters=(refusing("A", "m1"),))
    assert is_feasible(asking(DUPLICATED), there, profile) is expected


def estimating(answers: dict[str, int] | None) -> Estimator:
    def estimate(request: Request) -> Callable[[Cluster], int] | None:
        known = answers
        return None if known is None else lambda cluster: known[cluster.name]

    return Estimator("Test", estimate)


@pytest.mark.parametrize(
    ("replicas", "answers", "expected"),
    [
        (7, [{"m1": 3}, {"m1": 5}], 3),
        (7, [None, {"m1": 5}], 5),
        (7, [{"m1": 900}], 110),
        (7, [{"m1": MAX_REPLICAS}], 110),
        (7, [None], 110),
        (7, [], 110),
        (0, [{"m1": 3}], MAX_REPLICAS),
    ],
)
def test_room_is_the_lowest_estimate_also_that_of_what_the_cluster_reports(
    replicas: int, answers: Any, expected: int
) -> None:
    profile = dataclasses.replace(DEFAULT_PROFILE, estimators=tuple(estimating(each) for each in answers))
    assert room_in(asking(DYNAMIC, replicas=replicas), Fleet([cluster("m1")], profile), "m1") == expected


def test_a_trace_has_the_candidates_in_their_order_and_the_chosen() -> None:
    request = asking(DUPLICATED, over(1, 2), held={"m2": 3}, keep_assigned=True, trace=TermTrace())
    candidates = [candidate("m3", 4), candidate("m1", 5), candidate("m2", 1, 3)]
    finish(request, candidates, without_reasons)
    assert request.trace is not None
    assert list(request.trace.candidates.items()) == [
        ("m2", CandidateTrace(0, 0, 1, 3)),
        ("m1", CandidateTrace(0, 0, 5, 0)),
        ("m3", CandidateTrace(0, 0, 4, 0)),
    ]
    assert request.trace.selected == ("m2", "m1")


@pytest.mark.parametrize(
    ("total", "rejected", "expected"),
    [
        (0, {}, "0/0 clusters are available: no cluster exists."),
        (2, {}, "0/2 clusters are available: no cluster exists."),
        (3, {"m1": "b", "m2": "a", "m3": "b"}, "0/3 clusters are available: 1 a, 2 b."),
    ],
)
def test_that_no_cluster_fits_is_told_with_the_reasons_counted(
    total: int, rejected: dict[str, str], expected: str
) -> None:
    assert fit_message(total, rejected) == expected


def test_of_two_constraints_over_clusters_the_last_counts() -> None:
    selected = select(asking(DUPLICATED, over(1, 3), over(1, 2)), [candidate(name) for name in ("m1", "m2", "m3")])
    assert not isinstance(selected, Unplaceable)
    assert [each.name for each in selected] == ["m1", "m2"]
