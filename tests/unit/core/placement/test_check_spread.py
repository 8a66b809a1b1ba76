"""The check of spread constraints: no decision breaks a limit of groups, and what was so already is not refused."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from kubeapi.codec import from_wire
from leeward.api.cluster import Cluster
from leeward.api.policy import Placement
from leeward.api.work import ResourceBinding
from leeward.core.placement import Decision, Snapshot
from leeward.core.placement.check import check
from leeward.core.scheduling import Placed, Unplaceable
from tests.builders import at, binding, cluster, divided, fleet, targets

Groups = tuple[str, int, int]
"""Groups of a constraint: the field, the least and the most groups."""


def located(name: str, region: str, rack: str) -> Cluster:
    """Cluster in a region, with a label."""
    here = cluster(name, region=region, provider="p", zones=(f"{region}-1",))
    return msgspec.structs.replace(here, metadata=msgspec.structs.replace(here.metadata, labels={"rack": rack}))


CLUSTERS = fleet(
    located("a", "r1", "x"),
    located("b", "r1", "y"),
    located("c", "r2", "y"),
    located("d", "r3", ""),
    cluster("e", region="r4"),
)


def bound(*constraints: Groups, division: Mapping[str, Any] | None = None, **before: int) -> ResourceBinding:
    """Duplicated by default, and placed `before`."""
    wire = {
        "clusterAffinity": {},
        "spreadConstraints": [
            {"spreadByLabel" if field == "rack" else "spreadByField": field, "minGroups": least, "maxGroups": most}
            for field, least, most in constraints
        ],
        "replicaScheduling": division or {"replicaSchedulingType": "Duplicated"},
    }
    return binding(from_wire(wire, Placement), 2, targets(**before))


def placed(**after: int) -> Decision:
    return Decision(targets(**after), (), Placed(targets(**after)))


def said(bound: ResourceBinding, decision: Decision) -> list[str]:
    return [str(each) for each in check(Snapshot(bound, CLUSTERS, now=at(0)), decision)]


AGGREGATED = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}


@pytest.mark.parametrize(
    ("bound", "decision", "found"),
    [
        (bound(("cluster", 1, 2)), placed(a=2, b=2), []),
        (
            bound(("cluster", 1, 2)),
            placed(a=2, b=2, c=2),
            ["S2: 3 groups by cluster are used, 2 at most are asked for"],
        ),
        (bound(("cluster", 2, 3)), placed(a=2), ["S2: 1 groups by cluster are used, 2 at least are asked for"]),
        (bound(("cluster", 1, 0)), placed(a=2, b=2, c=2, d=2), []),
        (bound(("region", 1, 1), ("cluster", 1, 3)), placed(a=2, b=2), []),
        (
            bound(("region", 1, 1), ("cluster", 1, 3)),
            placed(a=2, c=2),
            ["S2: 2 groups by region are used, 1 at most are asked for"],
        ),
        (
            bound(("region", 1, 1), ("cluster", 2, 3)),
            placed(a=2, c=2),
            ["S2: 2 groups by region are used, 1 at most are asked for"],
        ),
        (bound(("rack", 1, 1)), placed(c=2, e=2), []),
        (bound(("zone", 2, 2), ("cluster", 1, 3)), placed(a=2, b=2), ["S2: 1 groups by zone are used, 2 at least"]),
        (bound(("provider", 1, 1), ("cluster", 1, 3)), placed(a=2, c=2), []),
        (bound(("rack", 1, 1)), placed(b=2, c=2), []),
        (bound(("rack", 1, 1)), placed(a=2, b=2), ["S2: 2 groups by label rack are used, 1 at most are asked for"]),
    ],
)
def test_s2_a_limit_of_groups_that_a_placement_would_break_is_found(
    bound: ResourceBinding, decision: Decision, found: list[str]
) -> None:
    assert len(said(bound, decision)) == len(found)
    assert all(told.startswith(text) for told, text in zip(said(bound, decision), found, strict=True))


@pytest.mark.parametrize(
    ("bound", "decision", "is_right"),
    [
        (bound(("cluster", 1, 1), a=2, b=2, c=2), placed(a=2, b=2), True),
        (bound(("cluster", 1, 1), a=2, b=2), placed(b=2, c=2), True),
        (bound(("cluster", 1, 1), a=2, b=2), placed(a=2, b=2, c=2), False),
        (bound(("cluster", 3, 3), a=2), placed(b=2), True),
        (bound(("cluster", 3, 3), a=2), placed(a=2, b=2), True),
        (bound(("cluster", 3, 3), a=2, b=2), placed(b=2), False),
        (bound(("cluster", 3, 3), a=2), placed(), True),
    ],
)
def test_s2_what_is_spread_wrongly_already_may_stay_so_and_not_become_worse(
    bound: ResourceBinding, decision: Decision, is_right: bool
) -> None:
    assert (said(bound, decision) == []) is is_right


def test_replicas_that_are_divided_may_be_on_fewer_clusters_and_on_no_more() -> None:
    shared = bound(("cluster", 2, 2), division=AGGREGATED)
    assert said(shared, placed(a=2)) == []
    assert said(shared, placed(a=1, b=1)) == []
    assert len(said(bound(("cluster", 1, 1), division=AGGREGATED), placed(a=1, b=1))) == 1


def test_static_weights_know_no_constraints() -> None:
    weighted = binding(divided({"a": 1, "b": 1, "c": 1}), 3, ())
    assert weighted.spec.placement is not None
    constraint = bound(("cluster", 1, 1)).spec.placement
    assert constraint is not None
    both = msgspec.structs.replace(weighted.spec.placement, spread_constraints=constraint.spread_constraints)
    spec = msgspec.structs.replace(weighted.spec, placement=both)
    assert said(msgspec.structs.replace(weighted, spec=spec), placed(a=1, b=1, c=1)) == []


def test_groups_come_before_a_number_of_clusters_that_cannot_hold_them() -> None:
    contradictory = bound(("region", 2, 3), ("cluster", 1, 1))
    assert said(contradictory, placed(a=2, c=2)) == []
    assert said(contradictory, placed(a=2, b=2, c=2)) == ["S2: 3 groups by cluster are used, 2 at most are asked for"]


def test_a_copy_that_comes_back_may_be_beside_what_took_its_place() -> None:
    one = bound(("cluster", 1, 1), b=2)
    both = placed(a=2, b=2)
    assert len(said(one, both)) == 1
    assert said(one, replace(both, withdrawn=("a",))) == []
    assert said(one, replace(both, returning={"a": 2})) == []


def test_what_nothing_was_placed_for_is_not_judged() -> None:
    left = replace(placed(a=2), result=Unplaceable("Error", "no other cluster fits", {}))
    assert said(bound(("cluster", 2, 2), a=2, b=2), left) == []
