"""The arrays of a fleet give what is found cluster by cluster, reasons and all, for every kind of question."""

from itertools import product
from typing import Any

import pytest

from leeward.api.work import ResourceBindingStatus
from leeward.core.scheduling import Placed, Trace, Unplaceable, schedule
from leeward.planning import Fleet
from tests.builders import at
from tests.one_by_one import schedule_one_by_one
from tests.placements import TAINT, binding_spec, cluster, task

STATIC = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
RULES = [
    {"targetCluster": {"clusterNames": ["m1"]}, "weight": 1},
    {"targetCluster": {"clusterNames": ["m3"]}, "weight": 4},
]
STRATEGIES: tuple[Any, ...] = (
    None,
    {"replicaSchedulingType": "Divided"},
    {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
    {**STATIC, "weightPreference": {}},
    {**STATIC, "weightPreference": {"staticWeightList": RULES}},
    {**STATIC, "weightPreference": {"dynamicWeight": "AvailableReplicas"}},
)
FLEET = [
    cluster("m1", pods=9, region="r1"),
    cluster("m2", pods=4, region="r1"),
    cluster("m3", pods=6, region="r2"),
    cluster("m4", pods=6, region="r2"),
    cluster("m5", pods=30, region="r3", taints=[TAINT]),
    cluster("m6", pods=30, deleted=True),
    cluster("m7", pods=12),
]
HELD: tuple[dict[str, int], ...] = ({}, {"m2": 2, "m3": 1}, {"m4": 9, "m5": 3}, {"m1": 5, "m2": 3, "gone": 2})


def over(by: str, low: int, high: int) -> dict[str, Any]:
    return {"spreadByField": by, "minGroups": low, "maxGroups": high}


SPREADS: tuple[Any, ...] = (
    [],
    [over("cluster", 1, 2)],
    [over("cluster", 9, 9)],
    [over("region", 1, 2)],
    [over("region", 2, 2), over("cluster", 2, 3)],
    [over("region", 9, 9)],
    [{"minGroups": 1, "maxGroups": 1}],
)


def told(result: Placed | Unplaceable) -> object:
    if isinstance(result, Placed):
        return result
    return result.kind, result.message, dict(result.rejected)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("constraints", SPREADS)
def test_arrays_and_loop_tell_the_same_of_every_question(strategy: Any, constraints: Any) -> None:
    placement = {"replicaScheduling": strategy, "spreadConstraints": constraints}
    fleet = Fleet(FLEET)
    for held, replicas, keeps, asked_anew in product(HELD, (0, 1, 8, 17, 90), (False, True), (False, True)):
        spec = binding_spec(
            placement,
            replicas,
            held,
            replicaRequirements={"resourceRequest": {}},
            gracefulEvictionTasks=[task("m7")] if keeps else [],
            rescheduleTriggeredAt="2026-01-01T00:01:00Z",
        )
        status = ResourceBindingStatus(last_scheduled_time=at(0 if asked_anew else 60))
        reasons, reference = Trace(), Trace()
        expected = told(schedule_one_by_one(spec, status, FLEET, keep_assigned=keeps, trace=reference))
        assert told(schedule(spec, status, fleet.view(), keep_assigned=keeps, trace=reasons)) == expected
        assert told(schedule(spec, status, fleet.view(), keep_assigned=keeps)) == expected
        (ours,), (theirs,) = reasons.terms, reference.terms
        assert (ours.rejected, ours.groups, sorted(ours.selected)) == (
            theirs.rejected,
            theirs.groups,
            sorted(theirs.selected),
        )
