"""Number of replicas that each selected cluster gets: by strategy, by what is held, and by overflow tier."""

from typing import Any

import pytest

from kubeapi.codec import from_wire
from leeward.api.policy import ReplicaSchedulingStrategy
from leeward.core.scheduling.assignment import Mode, assign, mode_of
from leeward.core.scheduling.model import Candidate, Request, Unplaceable
from leeward.core.scheduling.trace import DivisionTrace, TermTrace
from tests.builders import at
from tests.placements import binding_spec, cluster

DUPLICATED = {"replicaSchedulingType": "Duplicated"}
AGGREGATED = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
STATIC = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
DYNAMIC = {**STATIC, "weightPreference": {"dynamicWeight": "AvailableReplicas"}}
TERM = {
    "affinityName": "near",
    "clusterNames": ["m1"],
    "overflowAffinities": [{"affinityName": "far", "clusterNames": ["m2", "m3"]}],
}
RESOURCE = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}


def candidate(name: str, room: int = 10, assigned: int = 0, tier: int = 0) -> Candidate:
    return Candidate(cluster(name), tier=tier, score=0, room=room, assigned=assigned)


def asking(strategy: Any, replicas: int, candidates: list[Candidate], uid: str = "", **more: Any) -> Request:
    """A request of a binding that has what the candidates hold, and five in a cluster that is none of them."""
    overflows = any(each.tier for each in candidates)
    terms = {"clusterAffinities": [TERM]} if overflows else {}
    held = {each.name: each.assigned for each in candidates if each.assigned}
    spec = binding_spec(
        {"replicaScheduling": strategy, **terms},
        replicas,
        {**held, "elsewhere": 5},
        resource={**RESOURCE, "uid": uid},
        rescheduleTriggeredAt="2026-01-01T00:01:00Z",
    )
    return Request(spec, "near" if overflows else "", **more)


def weighing(**weights: int) -> dict[str, Any]:
    rules = [{"targetCluster": {"clusterNames": [name]}, "weight": weight} for name, weight in weights.items()]
    return {**STATIC, "weightPreference": {"staticWeightList": rules}}


def unsupported(kind: str, division: str) -> Unplaceable:
    means_nothing = (
        f"unsupported replica scheduling strategy, replicaSchedulingType: {kind}, "
        f"replicaDivisionPreference: {division}, please try another scheduling strategy"
    )
    return Unplaceable("Error", means_nothing, {})


@pytest.mark.parametrize(
    ("strategy", "mode"),
    [
        (DUPLICATED, "Duplicated"),
        (AGGREGATED, "Aggregated"),
        (STATIC, "StaticWeight"),
        (weighing(m1=1), "StaticWeight"),
        (DYNAMIC, "DynamicWeight"),
        ({"replicaSchedulingType": "Divided"}, unsupported("Divided", "")),
        ({"replicaDivisionPreference": "Weighted"}, unsupported("", "Weighted")),
    ],
)
def test_a_strategy_means_one_of_four_ways_or_nothing(strategy: Any, mode: Mode | Unplaceable) -> None:
    assert mode_of(from_wire(strategy, ReplicaSchedulingStrategy)) == mode
    assert mode_of(None) == "Duplicated"


@pytest.mark.parametrize(
    ("strategy", "replicas", "candidates", "expected"),
    [
        (None, 3, [("m1", 0), ("m2", 9)], {"m1": 3, "m2": 3}),
        (DUPLICATED, 3, [("m1", 0), ("m2", 9, 1)], {"m1": 3, "m2": 3}),
        (weighing(m1=1, m2=2), 6, [("m1",), ("m2",)], {"m1": 2, "m2": 4}),
        (weighing(m1=1), 6, [("m1",), ("m2",)], {"m1": 6}),
        (weighing(m9=1), 6, [("m1",), ("m2",)], {"m1": 3, "m2": 3}),
        (weighing(m1=1, m2=1), 6, [("m1", 9, 5), ("m2",)], {"m1": 3, "m2": 3}),
        (DYNAMIC, 6, [("m1", 4), ("m2", 8)], {"m1": 2, "m2": 4}),
        (DYNAMIC, 4, [("m1", 4, 1), ("m2", 8)], {"m1": 2, "m2": 2}),
        (DYNAMIC, 3, [("m1", 9, 4), ("m2", 9, 2)], {"m1": 2, "m2": 1}),
        (DYNAMIC, 4, [("m1", 0, 3), ("m2", 9, 1)], {"m1": 3, "m2": 1}),
        (DYNAMIC, 4, [("m1", 4), ("m2", 0)], {"m1": 4}),
        (AGGREGATED, 6, [("m1", 4), ("m2", 8)], {"m2": 6}),
        (AGGREGATED, 9, [("m1", 4), ("m2", 8), ("m3", 3)], {"m1": 3, "m2": 6}),
        (AGGREGATED, 4, [("m1", 4, 1), ("m2", 8)], {"m1": 4}),
        (AGGREGATED, 9, [("m1", 2, 1), ("m2", 9), ("m3", 8)], {"m1": 2, "m2": 7}),
        (AGGREGATED, 3, [("m1", 9, 4), ("m2", 9, 2)], {"m1": 3}),
    ],
)
def test_a_strategy_shares_out_what_is_missing(
    strategy: Any, replicas: int, candidates: Any, expected: dict[str, int]
) -> None:
    selected = [candidate(*each) for each in candidates]
    assert assign(asking(strategy, replicas, selected), selected) == expected


@pytest.mark.parametrize(
    ("strategy", "replicas", "candidates", "expected"),
    [
        (weighing(m1=1, m2=1), 6, [("m1", 9, 5), ("m2",)], {"m1": 5, "m2": 1}),
        (weighing(m1=1, m2=1), 6, [("m1", 9, 6), ("m2",)], {"m1": 6}),
        (weighing(m1=1, m2=1), 6, [("m1", 9, 7), ("m2",)], {"m1": 3, "m2": 3}),
        (weighing(m1=1, m2=5), 6, [("m1", 9, 3), ("m2",), ("m3",)], {"m1": 3, "m2": 3}),
    ],
)
def test_in_a_failover_static_weights_share_out_what_is_missing(
    strategy: Any, replicas: int, candidates: Any, expected: dict[str, int]
) -> None:
    selected = [candidate(*each) for each in candidates]
    assert assign(asking(strategy, replicas, selected, keep_assigned=True), selected) == expected


@pytest.mark.parametrize(
    ("replicas", "keeps", "candidates", "expected"),
    [
        (5, False, [("m1", 5, 0, 0), ("m2", 9, 0, 1)], {"m1": 5}),
        (9, False, [("m1", 5, 0, 0), ("m2", 9, 0, 1)], {"m1": 5, "m2": 4}),
        (9, False, [("m3", 9, 0, 2), ("m2", 3, 0, 1), ("m1", 5, 0, 0)], {"m1": 5, "m2": 3, "m3": 1}),
        (9, False, [("m1", 20, 0, 0), ("m3", 20, 4, 1)], {"m1": 9}),
        (9, True, [("m1", 20, 0, 0), ("m3", 20, 4, 1)], {"m1": 5, "m3": 4}),
        (9, True, [("m1", 20, 0, 0), ("m3", 20, 9, 1)], {"m3": 9}),
        (9, True, [("m1", 20, 0, 0), ("m3", 20, 12, 1)], {"m1": 9}),
        (9, True, [("m1", 20, 2, 0), ("m2", 20, 3, 1), ("m3", 20, 1, 2)], {"m1": 5, "m2": 3, "m3": 1}),
    ],
)
def test_overflow_groups_get_what_finds_no_room_before_or_is_held_there(
    replicas: int, keeps: bool, candidates: Any, expected: dict[str, int]
) -> None:
    selected = [candidate(*each) for each in candidates]
    assert assign(asking(DYNAMIC, replicas, selected, keep_assigned=keeps), selected) == expected


def no_room(message: str) -> Unplaceable:
    return Unplaceable("UnschedulableError", message, {})


@pytest.mark.parametrize(
    ("replicas", "asked_anew", "candidates", "message"),
    [
        (9, False, [("m1", 3, 1), ("m2", 4)], "failed to scale up: Clusters available replicas 7 are not enough"),
        (9, True, [("m1", 3, 1), ("m2", 4)], "failed to do fresh scale: Clusters available replicas 8 are not enough"),
        (9, False, [("m1", 5, 0, 0), ("m2", 3, 0, 1)], "Clusters available replicas are not enough"),
    ],
)
def test_too_little_room_says_in_which_step(replicas: int, asked_anew: bool, candidates: Any, message: str) -> None:
    selected = [candidate(*each) for each in candidates]
    request = asking(DYNAMIC, replicas, selected, last_scheduled_time=at(0) if asked_anew else None)
    assert assign(request, selected) == no_room(f"{message} to schedule.")


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [(DYNAMIC, {"m1": 2, "m2": 4}), (AGGREGATED, {"m2": 6}), (weighing(m1=2, m2=1), {"m1": 4, "m2": 2})],
)
def test_a_requested_reschedule_divides_all_anew_where_there_is_room(strategy: Any, expected: dict[str, int]) -> None:
    """Replicas of the binding that a cluster has are room there."""
    selected = [candidate("m1", room=1, assigned=4), candidate("m2", room=9, assigned=1)]
    request = asking(strategy, 6, selected, last_scheduled_time=at(0))
    assert assign(request, selected) == expected
    later = asking(AGGREGATED, 6, selected, last_scheduled_time=at(60))
    assert assign(later, selected) == {"m1": 4, "m2": 2}


@pytest.mark.parametrize(("uid", "expected"), [("u", {"m1": 2, "m2": 1}), ("b", {"m1": 1, "m2": 2})])
def test_the_templates_uid_says_who_is_first_on_a_tie(uid: str, expected: dict[str, int]) -> None:
    selected = [candidate("m1"), candidate("m2")]
    assert assign(asking(DYNAMIC, 3, selected, uid), selected) == expected
    assert assign(asking(weighing(m1=1, m2=1), 3, selected, uid), selected) == expected


def test_empty_workloads_go_where_nothing_was_given_when_that_is_asked_for() -> None:
    selected = [candidate("m1"), candidate("m2")]
    request = asking(weighing(m1=1), 6, selected, propagate_empty_workloads=True)
    assert assign(request, selected) == {"m1": 6, "m2": 0}


def test_a_strategy_that_means_nothing_assigns_nothing() -> None:
    selected = [candidate("m1")]
    request = asking({"replicaSchedulingType": "Divided"}, 3, selected)
    assert assign(request, selected) == unsupported("Divided", "")


@pytest.mark.parametrize(
    ("strategy", "keeps", "expected"),
    [
        (weighing(m1=1, m2=1), True, DivisionTrace(4, {"m1": 1, "m2": 1}, {"m1": 2}, {"m1": 3, "m2": 3})),
        (weighing(m3=1), False, DivisionTrace(6, {"m1": 1, "m2": 1}, {}, {"m1": 3, "m2": 3})),
        (DYNAMIC, False, DivisionTrace(4, {"m1": 5, "m2": 5}, {}, {"m1": 2, "m2": 2})),
    ],
)
def test_a_division_is_noted_when_that_is_asked_for(strategy: Any, keeps: bool, expected: DivisionTrace) -> None:
    selected = [candidate("m1", room=5, assigned=2), candidate("m2", room=5)]
    request = asking(strategy, 6, selected, keep_assigned=keeps, trace=TermTrace())
    assign(request, selected)
    assert request.trace is not None
    assert request.trace.divisions == [expected]
    whole = asking(strategy, 2, selected, keep_assigned=True, trace=TermTrace())
    assign(whole, selected)
    assert whole.trace is not None
    assert whole.trace.divisions == []
