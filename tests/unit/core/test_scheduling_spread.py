"""Spreading over zones, providers and labels, alone and together: as over regions."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from leeward.api.cluster import Cluster
from leeward.api.policy import Placement
from leeward.api.work import ResourceBindingStatus
from leeward.core.scheduling import Placed, Unplaceable
from leeward.core.scheduling.groups import Group, groupings
from leeward.core.scheduling.paths import paths_that_keep, ranked_paths
from tests.placements import binding_spec, cluster, placed, schedule_on

STATUS = ResourceBindingStatus()
AGGREGATED = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}


def spread(*constraints: tuple[str, int, int], strategy: Any = None) -> dict[str, Any]:
    """Constraints (field or `label:<key>`, minGroups, maxGroups)."""

    def by(field: str) -> dict[str, str]:
        is_label = field.startswith("label:")
        return {"spreadByLabel": field.removeprefix("label:")} if is_label else {"spreadByField": field}

    wire = [{**by(field), "minGroups": low, "maxGroups": high} for field, low, high in constraints]
    return {"spreadConstraints": wire, "replicaScheduling": strategy or {"replicaSchedulingType": "Duplicated"}}


def labelled(name: str, team: str, **spec: Any) -> Cluster:
    made = cluster(name, **spec)
    return replace(made, metadata=replace(made.metadata, labels={"team": team} if team else {}))


FLEET = [
    labelled("m1", "a", region="r1", zones=["z1"], provider="p1"),
    labelled("m2", "a", region="r1", zones=["z2"], provider="p2"),
    labelled("m3", "b", region="r2", zones=["z3"], provider="p1"),
    labelled("m4", "b", region="r2", zones=["z4"], provider="p2"),
    labelled("m5", "", region="r3", zones=["z4", "z5"], provider="p3"),
]


@pytest.mark.parametrize(
    ("constraints", "expected"),
    [
        ([("zone", 2, 2)], {"m1", "m4"}),
        ([("zone", 2, 2), ("cluster", 2, 2)], {"m1", "m4"}),
        ([("provider", 2, 2)], {"m1", "m2"}),
        ([("provider", 3, 3)], {"m1", "m2", "m5"}),
        ([("label:team", 2, 2)], {"m1", "m3"}),
        ([("label:team", 2, 2), ("cluster", 4, 4)], {"m1", "m2", "m3", "m4"}),
        ([("region", 2, 2), ("provider", 2, 2)], {"m1", "m3", "m2"}),
        ([("region", 2, 2), ("label:team", 1, 2), ("cluster", 2, 3)], {"m1", "m2", "m3"}),
    ],
)
def test_clusters_are_spread_over_groups(constraints: Any, expected: set[str]) -> None:
    assert set(placed(schedule_on(binding_spec(spread(*constraints)), STATUS, FLEET))) == expected


def test_no_more_clusters_are_taken_than_the_least_number_of_groups_needs() -> None:
    clusters = [
        labelled("m1", "a", pods=30, region="r1", zones=["z3", "z1"]),
        labelled("m2", "a", pods=40, region="r1", zones=["z4", "z1"]),
        labelled("m3", "a", pods=50, region="r1", zones=["z4"]),
        labelled("m4", "", pods=30, region="r2", zones=["z1"]),
        labelled("m5", "b", pods=20, region="r2", zones=["z2"]),
    ]
    wire = spread(("zone", 1, 3), ("label:team", 1, 1), ("region", 1, 2))
    assert set(placed(schedule_on(binding_spec(wire, replicas=1), STATUS, clusters))) == {"m3"}


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ([("provider", 4, 4)], "the number of feasible provider is less"),
        ([("label:team", 3, 3)], "the number of feasible label team is less"),
        ([("zone", 2, 2), ("cluster", 9, 9)], "the number of clusters is less"),
        ([("region", 1, 1), ("label:team", 2, 2)], "no clusters satisfy"),
    ],
)
def test_what_cannot_be_spread_says_why(constraints: Any, message: str) -> None:
    result = schedule_on(binding_spec(spread(*constraints)), STATUS, FLEET)
    assert isinstance(result, Unplaceable)
    assert message in result.message


fleets = st.lists(
    st.builds(
        labelled,
        st.sampled_from([f"c{n:02}" for n in range(12)]),
        st.sampled_from(["", "a", "b", "c"]),
        pods=st.integers(5, 60),
        region=st.sampled_from(["r1", "r2", "r3"]),
        provider=st.sampled_from(["", "p1", "p2", "p3"]),
        zones=st.lists(st.sampled_from(["z1", "z2", "z3", "z4"]), max_size=2, unique=True),
    ),
    unique_by=lambda each: each.name,
)
fields = st.sampled_from(["region", "zone", "provider", "label:team", "cluster"])
ranges = st.integers(1, 3).flatmap(lambda low: st.tuples(st.just(low), st.integers(low, 4)))
constraint_sets = st.lists(
    st.tuples(fields, ranges).map(lambda pair: (pair[0], *pair[1])), min_size=1, max_size=3, unique_by=lambda c: c[0]
)


@given(fleets, constraint_sets)
def test_every_constraint_is_met_s2(fleet: list[Cluster], constraints: list[tuple[str, int, int]]) -> None:
    wire = spread(*constraints)
    spec = binding_spec(wire, replicas=1)
    result = schedule_on(spec, STATUS, fleet)
    if isinstance(result, Unplaceable):
        return
    chosen = [each for each in fleet if each.name in placed(result)]
    assert isinstance(spec.placement, Placement)
    for grouping in groupings(spec.placement.spread_constraints):
        covered = {value for each in chosen for value in grouping.values(each) if value}
        assert grouping.constraint.min_groups <= len(covered) <= grouping.constraint.max_groups


def test_a_divided_template_fits_into_the_groups_with_room() -> None:
    result = schedule_on(binding_spec(spread(("zone", 1, 2), strategy=AGGREGATED), 9), STATUS, FLEET)
    assert isinstance(result, Placed)
    assert sum(placed(result).values()) == 9


def weight(path: Sequence[Group]) -> int:
    return sum(group.weight for group in path)


def test_many_groups_are_searched_in_bounded_time_and_the_heaviest_are_found() -> None:
    groups = [Group(f"g{n:03}", 1, n % 7 * 1000, {}) for n in range(60)]
    heaviest = sorted((group.weight for group in groups), reverse=True)
    assert weight(ranked_paths(groups, 20, 30, 20)[0]) == sum(heaviest[:20])
    light = {"g000", "g007"}
    keeping = paths_that_keep(light, groups, 20, 30, 20)[0]
    assert light <= {group.name for group in keeping}
    assert weight(keeping) == sum(heaviest[:18])


apart = st.lists(
    st.builds(Group, st.sampled_from([f"g{n}" for n in range(9)]), st.integers(1, 5), st.integers(0, 5), st.just({})),
    unique_by=lambda group: group.name,
)


@given(apart, ranges, st.integers(0, 8), st.integers(1, 20))
def test_a_search_that_is_cut_short_finds_a_path_and_the_heaviest_where_it_says_so(
    groups: list[Group], limits: tuple[int, int], min_clusters: int, max_steps: int
) -> None:
    whole = ranked_paths(groups, *limits, min_clusters)
    cut = ranked_paths(groups, *limits, min_clusters, max_steps)
    assert bool(cut) == bool(whole)
    for path in cut:
        assert limits[0] <= len(path) <= limits[1]
        assert sum(group.size for group in path) >= min_clusters
    if cut and min_clusters <= limits[0]:
        assert weight(cut[0]) == weight(whole[0])


@given(apart, ranges, st.integers(0, 8), st.integers(1, 20), st.sets(st.sampled_from([f"g{n}" for n in range(9)])))
def test_a_search_that_is_cut_short_keeps_what_is_held_c2(
    groups: list[Group], limits: tuple[int, int], min_clusters: int, max_steps: int, names: set[str]
) -> None:
    held = names & {group.name for group in groups}
    whole = paths_that_keep(held, groups, *limits, min_clusters)
    cut = paths_that_keep(held, groups, *limits, min_clusters, max_steps)
    assert bool(cut) == bool(whole)
    assert all(held <= {group.name for group in path} for path in cut)
