"""Groups of clusters: what they weigh, which sets of them are tried, and which clusters of a set are chosen."""

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any

import pytest
from msgspec.structs import replace

from leeward.api.cluster import Cluster
from leeward.api.work import TargetCluster
from leeward.core.scheduling.groups import Group, Grouping, cluster_count, covered_count, groupings
from leeward.core.scheduling.model import Candidate, Request, Unplaceable
from leeward.core.scheduling.paths import paths_that_keep, ranked_paths
from leeward.core.scheduling.selection import select
from leeward.core.scheduling.trace import TermTrace
from tests.placements import binding_spec, cluster

DUPLICATED = {"replicaSchedulingType": "Duplicated"}
AGGREGATED = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}


def labelled(name: str, team: str = "", **spec: Any) -> Cluster:
    made = cluster(name, **spec)
    return replace(made, metadata=replace(made.metadata, labels={"team": team} if team else {}))


def candidate(cluster: Cluster, room: int = 10, score: int = 0, assigned: int = 0) -> Candidate:
    return Candidate(cluster, tier=0, score=score, room=room, assigned=assigned)


def in_zones(**zones: str) -> list[Candidate]:
    """Clusters in zones of one letter each."""
    return [candidate(cluster(name, zones=list(letters))) for name, letters in zones.items()]


def over(by: str, low: int, high: int) -> dict[str, Any]:
    named = {"spreadByLabel": "team"} if by == "team" else {"spreadByField": by}
    return {**named, "minGroups": low, "maxGroups": high}


def asking(*constraints: tuple[str, int, int], strategy: Any = DUPLICATED, replicas: int = 3, **more: Any) -> Request:
    placement = {"replicaScheduling": strategy, "spreadConstraints": [over(*each) for each in constraints]}
    return Request(binding_spec(placement, replicas), **more)


def grouping_of(*constraint: Any) -> Grouping:
    (grouping,) = groupings(asking(constraint).placement.spread_constraints)
    return grouping


@pytest.mark.parametrize(
    "named", [{}, {"spreadByField": "cluster"}, {"spreadByField": "cluster", "spreadByLabel": "team"}]
)
def test_a_constraint_over_clusters_or_over_nothing_groups_nothing(named: dict[str, str]) -> None:
    spec = binding_spec({"spreadConstraints": [{**named, "minGroups": 1, "maxGroups": 1}]})
    assert spec.placement is not None
    assert groupings(spec.placement.spread_constraints) == []


@pytest.mark.parametrize(("zones", "covered"), [({"m1": "ab"}, 2), ({"m1": "ab", "m2": "bc"}, 2), ({"m1": "abc"}, 0)])
def test_groups_are_covered_by_clusters_that_are_in_no_group_beside_them(zones: dict[str, str], covered: int) -> None:
    groups = grouping_of("zone", 1, 3).groups(asking(), in_zones(**zones), 0)
    assert covered_count([group for group in groups if group.name in "ab"]) == covered


@pytest.mark.parametrize(
    ("strategy", "replicas", "min_groups", "min_clusters", "members", "expected"),
    [
        (DUPLICATED, 3, 1, 0, [(3, 10), (2, 90), (4, 21)], 2_015),
        (None, 3, 1, 0, [(3, 10)], 1_010),
        (DUPLICATED, 3, 1, 0, [(2, 90)], 0),
        (AGGREGATED, 6, 2, 0, [(5, 100), (5, 0), (5, 100)], 3_050),
        (AGGREGATED, 7, 2, 0, [(2, 10), (2, 21), (9, 90)], 4_015),
        (AGGREGATED, 7, 2, 3, [(2, 10), (2, 21), (9, 90)], 4_040),
        (AGGREGATED, 7, 2, 0, [(1, 30)], 1_030),
        (AGGREGATED, 7, 2, 0, [(1, 10), (1, 20), (1, 31)], 3_020),
        (AGGREGATED, 3, 1, 0, [(2, 0), (5, 10), (9, 90)], 3_005),
        (AGGREGATED, 3, 1, 0, [(3, 7), (5, 10)], 3_007),
        (AGGREGATED, 0, 0, 0, [(3, 7)], 0),
    ],
)
def test_a_group_weighs_what_it_fulfils_and_then_its_scores(
    strategy: Any, replicas: int, min_groups: int, min_clusters: int, members: Any, expected: int
) -> None:
    request = asking(strategy=strategy, replicas=replicas)
    candidates = [
        candidate(cluster(f"m{n}", region="r"), room, score) for n, (room, score) in enumerate(members, start=1)
    ]
    grouping = grouping_of("region", min_groups, 9)
    assert grouping.weights(request, candidates, min_clusters) == {"r": expected}


def test_what_is_assigned_counts_as_room() -> None:
    grouping = grouping_of("region", 1, 9)
    holding = candidate(cluster("m1", region="r"), room=1, assigned=2)
    assert grouping.weights(asking(), [holding], 0) == {"r": 1_000}


def test_a_cluster_in_several_groups_is_counted_where_all_of_them_are() -> None:
    grouping = grouping_of("zone", 1, 9)
    groups = {each.name: each for each in grouping.groups(asking(), in_zones(m1="ab", m2="a", m3="bcd", m4=""), 0)}
    assert {name: dict(group.spanning) for name, group in groups.items()} == {
        "a": {"m1": {"a", "b"}},
        "b": {"m1": {"a", "b"}, "m3": {"b", "c", "d"}},
        "c": {"m3": {"b", "c", "d"}},
        "d": {"m3": {"b", "c", "d"}},
    }
    counted = {names: cluster_count([groups[name] for name in names]) for names in ("a", "b", "ab", "bcd", "abcd")}
    assert counted == {"a": 1, "b": 0, "ab": 2, "bcd": 1, "abcd": 3}


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("region", {"r1": ["m1", "m2"]}),
        ("provider", {"p1": ["m1"], "p2": ["m3"]}),
        ("zone", {"z1": ["m1", "m2"], "z2": ["m1"]}),
        ("team", {"a": ["m1"], "b": ["m2"]}),
    ],
)
def test_a_cluster_without_the_property_is_in_no_group(by: str, expected: Mapping[str, Sequence[str]]) -> None:
    clusters = [
        labelled("m1", "a", region="r1", provider="p1", zones=["z1", "z2", "z1"]),
        labelled("m2", "b", region="r1", zones=["z1"]),
        labelled("m3", provider="p2"),
    ]
    groups = grouping_of(by, 1, 9).groups(asking(), [candidate(each) for each in clusters], 0)
    assert {group.name: [each.name for each in group.clusters] for group in groups} == expected
    assert [group.size for group in groups] == [len(members) for members in expected.values()]


def test_groupings_are_in_the_order_region_provider_zone_and_labels_whatever_was_said_first() -> None:
    placement = asking(("team", 1, 1), ("zone", 1, 1), ("cluster", 1, 1), ("region", 1, 1), ("region", 2, 2)).placement
    found = groupings(placement.spread_constraints)
    assert [(each.title, each.constraint.min_groups) for each in found] == [
        ("region", 2),
        ("zone", 1),
        ("label team", 1),
    ]


def made(**groups: tuple[int, int]) -> list[Group]:
    """Groups by name, with their size and weight."""
    return [Group(name, size, weight, {}) for name, (size, weight) in groups.items()]


def named(paths: Sequence[Sequence[Group]]) -> list[str]:
    return ["".join(group.name for group in path) for path in paths]


@pytest.mark.parametrize(
    ("groups", "least", "most", "min_clusters", "expected"),
    [
        (made(a=(1, 1), b=(1, 3), c=(1, 2)), 1, 1, 0, ["b", "c", "a"]),
        (made(a=(1, 1), b=(1, 3), c=(1, 2)), 2, 2, 0, ["bc", "ba", "ca"]),
        (made(a=(1, 1), b=(1, 3), c=(1, 2)), 3, 3, 0, ["bca"]),
        (made(a=(1, 1), b=(1, 3), c=(1, 2)), 3, 3, 4, []),
        (made(a=(1, 1), b=(1, 3)), 2, 1, 0, []),
        (made(a=(1, 1)), 2, 2, 0, []),
        (made(a=(3, 1), b=(1, 1)), 1, 2, 2, ["a", "ab"]),
        (made(a=(2, 5), b=(3, 5)), 1, 1, 0, ["b", "a"]),
        (made(a=(2, 5), b=(2, 5)), 1, 1, 0, ["a", "b"]),
        (made(a=(1, 9), b=(3, 0)), 1, 2, 3, ["ab", "b"]),
        (made(a=(0, 9)), 1, 1, 0, []),
        ([], 0, 1, 0, []),
    ],
)
def test_the_heaviest_legal_set_of_groups_is_first(
    groups: list[Group], least: int, most: int, min_clusters: int, expected: list[str]
) -> None:
    assert named(ranked_paths(groups, least, most, min_clusters)) == expected


@pytest.mark.parametrize(
    ("held", "least", "most", "min_clusters", "max_steps", "expected"),
    [
        ({"a"}, 1, 1, 0, 99, ["a"]),
        ({"a", "b"}, 1, 1, 0, 99, []),
        ({"a"}, 2, 2, 0, 99, ["ba", "ca"]),
        ({"a", "b"}, 1, 2, 0, 99, ["ba"]),
        ({"a", "b"}, 1, 2, 0, 1, ["ba"]),
        ({"a"}, 1, 1, 2, 1, []),
        ({"a"}, 1, 2, 3, 1, []),
        ({"a"}, 1, 2, 2, 1, ["ba"]),
        ({"a", "b"}, 3, 3, 0, 1, ["bca"]),
    ],
)
def test_in_a_failover_the_groups_that_hold_replicas_are_in_every_set(
    held: set[str], least: int, most: int, min_clusters: int, max_steps: int, expected: list[str]
) -> None:
    groups = made(a=(1, 1), b=(1, 3), c=(1, 2))
    assert named(paths_that_keep(held, groups, least, most, min_clusters, max_steps)) == expected


@pytest.mark.parametrize(("max_steps", "expected"), [(12, 6), (11, 6), (6, 3), (1, 1)])
def test_a_search_looks_at_no_more_sets_than_it_may(max_steps: int, expected: int) -> None:
    """Six pairs of four groups are found in eleven steps: from none, to each, to each with one behind it."""
    groups = made(a=(1, 1), b=(1, 2), c=(1, 3), d=(1, 4))
    found = ranked_paths(groups, 2, 2, 0, max_steps)
    assert named(found)[0] == "dc"
    assert len({*named(found)}) == expected


@pytest.mark.parametrize(
    ("groups", "least", "most", "min_clusters", "expected"),
    [
        (made(a=(1, 5), b=(3, 5), c=(2, 1)), 1, 1, 0, ["b"]),
        (made(x=(3, 1), y=(3, 5), z=(1, 9)), 1, 1, 0, ["z", "y"]),
        (made(x=(3, 1), y=(3, 5), z=(1, 9)), 1, 1, 2, ["y"]),
        (made(x=(3, 1), y=(3, 5), z=(1, 9)), 1, 2, 4, ["zy", "yx"]),
        (made(x=(3, 1), y=(3, 1), z=(3, 1)), 2, 2, 0, ["xy"]),
        (made(x=(3, 1), y=(3, 1), z=(3, 1)), 1, 2, 9, []),
    ],
)
def test_a_search_that_may_look_at_nothing_takes_the_heaviest_and_the_largest(
    groups: list[Group], least: int, most: int, min_clusters: int, expected: list[str]
) -> None:
    assert [*dict.fromkeys(named(ranked_paths(groups, least, most, min_clusters, 1)))] == expected


def chosen(request: Request, candidates: Sequence[Candidate]) -> list[str] | Unplaceable:
    selected = select(request, candidates)
    return selected if isinstance(selected, Unplaceable) else [each.name for each in selected]


@pytest.mark.parametrize(
    ("constraints", "zones", "expected"),
    [
        ([("zone", 2, 2)], {"m1": "a", "m2": "bc", "m3": "d"}, ["m1", "m3"]),
        ([("zone", 1, 1), ("cluster", 1, 2)], {"m1": "a", "m2": "ab", "m3": "c"}, ["m1"]),
        ([("zone", 1, 1), ("cluster", 1, 2)], {"m1": "a", "m2": "b", "m3": "a", "m4": "a"}, ["m1", "m3"]),
        ([("zone", 1, 1)], {"m1": "a", "m3": "a"}, ["m1"]),
        ([("zone", 2, 2), ("cluster", 2, 3)], {"m1": "ab", "m2": "a", "m3": "b"}, ["m1", "m2", "m3"]),
    ],
)
def test_no_more_zones_are_taken_than_a_constraint_allows(
    constraints: Any, zones: dict[str, str], expected: list[str]
) -> None:
    assert chosen(asking(*constraints), in_zones(**zones)) == expected


@pytest.mark.parametrize(
    ("constraint", "zones", "expected"),
    [
        (("zone", 3, 6), {"m1": "ab", "m2": "cd"}, ["m1", "m2"]),
        (("zone", 3, 4), {"m1": "ab", "m2": "cd", "m3": "e"}, ["m1", "m2"]),
        (("zone", 3, 3), {"m1": "ab", "m2": "bc", "m3": "cd"}, ["m1", "m2"]),
        (("zone", 4, 6), {"m1": "abc", "m2": "c"}, None),
        (("zone", 3, 3), {"m1": "ab", "m2": "cd"}, None),
    ],
)
def test_clusters_in_several_zones_are_enough_where_they_reach_enough_of_them(
    constraint: tuple[str, int, int], zones: dict[str, str], expected: list[str] | None
) -> None:
    found = chosen(asking(constraint), in_zones(**zones))
    assert isinstance(found, Unplaceable) if expected is None else found == expected


def test_c2_a_failover_to_a_cluster_in_several_zones_keeps_what_it_has() -> None:
    placement = {"replicaScheduling": DUPLICATED, "spreadConstraints": [over("zone", 2, 4)]}
    spec = replace(binding_spec(placement, 3), clusters=(TargetCluster("m1", 3),))
    request = Request(spec, keep_assigned=True)
    assert request.keeps("m1")
    assert chosen(request, in_zones(m1="a", m2="bc")) == ["m1", "m2"]


def test_every_set_of_zones_that_clusters_reach_is_found() -> None:
    """Tried on all fleets of three clusters in up to two of four zones: where there is a choice, one is made."""
    reaches = ["a", "b", "c", "d", "ab", "ac", "bc", "cd"]
    reached = 0
    for first, second, third in product(reaches, repeat=3):
        zones = {"m1": first, "m2": second, "m3": third}
        for least, most in ((2, 2), (2, 3), (3, 3), (3, 4)):
            found = chosen(asking(("zone", least, most)), in_zones(**zones))
            sets = (names for size in (1, 2, 3) for names in combinations(zones, size))
            is_possible = any(least <= len(set("".join(zones[n] for n in names))) <= most for names in sets)
            assert isinstance(found, Unplaceable) != is_possible, (zones, least, most)
            reached += is_possible
    assert reached > 500


REGIONS = [
    labelled("m1", "a", region="r1", provider="p1"),
    labelled("m2", "b", region="r1", provider="p2"),
    labelled("m3", "a", region="r1", provider="p1"),
    labelled("m4", "a", region="r2", provider="p3"),
]


@pytest.mark.parametrize(
    ("constraints", "expected"),
    [
        ([("region", 1, 2), ("provider", 3, 3)], ["m1", "m4", "m2"]),
        ([("region", 1, 1), ("team", 1, 1), ("cluster", 2, 2)], ["m1", "m3"]),
        ([("region", 1, 1), ("provider", 1, 2)], ["m1"]),
        ([("region", 1, 1), ("provider", 2, 2)], ["m1", "m2"]),
        ([("region", 1, 1), ("team", 2, 2), ("cluster", 1, 9)], ["m1", "m2", "m3"]),
    ],
)
def test_constraints_of_several_kinds_are_met_together(constraints: Any, expected: list[str]) -> None:
    assert chosen(asking(*constraints), [candidate(each) for each in REGIONS]) == expected


@pytest.mark.parametrize(
    ("constraints", "zones", "message"),
    [
        ([("zone", 3, 3)], {"m1": "ab"}, "the number of feasible zone is less than spreadConstraint.MinGroups"),
        (
            [("zone", 1, 1), ("cluster", 3, 3)],
            {"m1": "a", "m2": "a"},
            "the number of clusters is less than the cluster spreadConstraint.MinGroups",
        ),
        ([("zone", 2, 2)], {"m1": "a", "m2": "bcd"}, "no clusters satisfy the spread constraints by zone together"),
        (
            [("zone", 2, 2), ("region", 1, 1)],
            {"m1": "a", "m2": "bcd"},
            "no clusters satisfy the spread constraints by region, zone together",
        ),
    ],
)
def test_constraints_that_cannot_be_met_are_told(constraints: Any, zones: dict[str, str], message: str) -> None:
    candidates = [candidate(cluster(name, region="r", zones=list(each))) for name, each in zones.items()]
    assert chosen(asking(*constraints), candidates) == Unplaceable("Error", message, {})


NINE = [cluster(f"m{n}", region=f"r{n % 3}", zones=[f"z{n % 3}"]) for n in range(9)]


def test_regions_are_chosen_though_no_maximum_lets_their_clusters_in_and_zones_are_not() -> None:
    """A minimum of clusters without a maximum, as nobody has defaulted it: as Karmada does it for regions."""
    candidates = [candidate(each) for each in NINE]
    assert chosen(asking(("region", 1, 3), ("cluster", 2, 0)), candidates) == ["m0"]
    none = Unplaceable("Error", "no clusters satisfy the spread constraints by zone together", {})
    assert chosen(asking(("zone", 1, 3), ("cluster", 2, 0)), candidates) == none


@pytest.mark.parametrize("strategy", [DUPLICATED, AGGREGATED])
def test_zones_that_are_never_without_one_another_cannot_be_chosen_alone(strategy: Any) -> None:
    none = Unplaceable("Error", "no clusters satisfy the spread constraints by zone together", {})
    assert chosen(asking(("zone", 1, 1), strategy=strategy), in_zones(m1="ab", m2="ab")) == none


@pytest.mark.parametrize(("alone", "expected"), [(199, ["m8", "m9"]), (200, None)])
def test_no_more_than_two_hundred_choices_are_looked_at(alone: int, expected: list[str] | None) -> None:
    """Zones that have one cluster alone are heavier than the one which has two, in both regions, without room."""
    many = [candidate(cluster(f"n{n:03}", region=f"r{n % 2}", zones=[f"z{n:03}"])) for n in range(alone)]
    both = [
        candidate(cluster(name, region=region, zones=["zz"]), room=0) for name, region in (("m8", "r0"), ("m9", "r1"))
    ]
    found = chosen(asking(("region", 2, 2), ("zone", 1, 1)), [*many, *both])
    assert (None if isinstance(found, Unplaceable) else found) == expected


def test_a_trace_has_what_the_chosen_groups_weigh_by_the_chosen_clusters_alone() -> None:
    request = asking(("region", 1, 1), ("cluster", 2, 2), strategy=AGGREGATED, replicas=20, trace=TermTrace())
    candidates = [candidate(each, room=6) for each in REGIONS]
    assert chosen(request, candidates) == ["m1", "m2"]
    assert request.trace is not None
    assert request.trace.groups == {"region": {"r1": 12_000}}
