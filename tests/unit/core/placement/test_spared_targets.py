"""Dead targets: what they keep where a binding is scheduled for another reason than their loss."""

from collections.abc import Mapping

import pytest

from leeward.api.policy import Placement
from leeward.core.placement.ranks import ClusterRank
from leeward.core.placement.replacement import Price, place_anew, price_of, ways_to_spare
from leeward.core.scheduling import Placed, Trace, Unplaceable
from tests.builders import at, binding, cluster, dead, divided, duplicated, fleet, targets
from tests.unit.core.eviction.test_withdrawal import leaving

A, B, C = map(cluster, "abc")
LOST = dead("a")
SHARES = divided({"a": 1, "b": 1, "c": 1})
COPIES = duplicated("a", "b", "c")


@pytest.mark.parametrize(
    ("placement", "before", "after", "price"),
    [
        (SHARES, {"a": 2, "b": 2}, {"a": 4}, Price(gain=2, lose=2, dies=True, stay=4)),
        (SHARES, {"a": 2, "b": 2}, {"a": 2, "b": 1}, Price(gain=0, lose=1, dies=False, stay=2)),
        (SHARES, {"a": 2, "b": 2}, {"b": 1}, Price(gain=0, lose=1, dies=False, stay=0)),
        (SHARES, {"a": 2, "b": 2}, {"a": 1, "b": 3}, Price(gain=0, lose=0, dies=False, stay=1)),
        (SHARES, {"a": 2, "d": 2}, {"a": 2, "c": 2}, Price(gain=0, lose=0, dies=False, stay=2)),
        (SHARES, {"a": 2, "e": 2}, {"a": 2, "c": 2}, Price(gain=0, lose=0, dies=False, stay=2)),
        (SHARES, {"a": 0, "b": 2}, {"b": 2}, Price(gain=0, lose=0, dies=False, stay=0)),
        (COPIES, {"b": 5, "c": 5}, {"a": 3, "b": 3}, Price(gain=1, lose=1, dies=False, stay=1)),
    ],
    ids=["all", "one", "none is dead", "the dead one gives", "unjoining", "gone", "of none", "copies"],
)
def test_the_price_is_what_the_dead_gain_and_the_living_lose(
    placement: Placement, before: Mapping[str, int], after: Mapping[str, int], price: Price
) -> None:
    spec = binding(placement, 4, targets(**before)).spec
    assert price_of(spec, targets(**after), fleet(LOST, B, C, leaving(cluster("d")))) == price


@pytest.mark.parametrize(
    ("replicas", "before", "pinned", "kept"),
    [
        (8, {"a": 2, "b": 2}, (), {"a": 2}),
        (3, {"a": 3, "b": 1}, (), {"a": 2}),
        (1, {"a": 3, "b": 1}, (), {}),
        (4, {"a": 2, "b": 4, "d": 1}, (), {}),
        (6, {"a": 2, "d": 4}, (), {"a": 2}),
        (6, {"a": 2, "b": 2, "e": 2}, ("a",), {"e": 2}),
        (6, {"a": 3, "b": 2, "e": 3}, (), {"a": 3, "e": 1}),
    ],
)
def test_of_what_is_divided_the_dead_keep_what_is_wanted_beyond_the_living(
    replicas: int, before: Mapping[str, int], pinned: tuple[str, ...], kept: Mapping[str, int]
) -> None:
    spec = binding(SHARES, replicas, targets(**before)).spec
    there = fleet(LOST, B, C, leaving(cluster("d")), dead("e"))
    (first, ranks), (second, never) = ways_to_spare(spec, there, pinned)
    assert {each.name: each.replicas for each in first.clusters if ranks.get(each.name) is ClusterRank.KEPT} == kept
    assert {name for name, rank in ranks.items() if rank is ClusterRank.NEVER} == {"a", "e"} - kept.keys()
    assert (second, never) == (spec, {"a": ClusterRank.NEVER, "e": ClusterRank.NEVER})


@pytest.mark.parametrize("placement", [divided({"a": 1}), duplicated("a")], ids=["divided", "copies"])
def test_s1_what_is_alive_is_not_given_up_for_dead_targets_alone(placement: Placement) -> None:
    bound = binding(placement, 4, targets(a=2, b=2))
    result = place_anew(bound, bound.spec, fleet(LOST, B, C), at(10))
    assert isinstance(result, Unplaceable)
    assert result.message == "no cluster that is alive would hold a copy"
    assert isinstance(place_anew(bound, bound.spec, fleet(LOST, B, C), at(10), exact=True), Placed)
    elsewhere = binding(placement, 4, targets(b=4))
    asked = place_anew(elsewhere, elsewhere.spec, fleet(cluster("a", ready="False"), B, C), at(10))
    assert isinstance(asked, Placed), "somebody wants it where it has not been"


def test_copies_leave_a_dead_cluster_last() -> None:
    spec = binding(COPIES, 2, targets(a=2, b=2)).spec
    never = {"a": ClusterRank.NEVER, "c": ClusterRank.NEVER}
    assert list(ways_to_spare(spec, fleet(LOST, B, dead("c")), ())) == [(spec, {"c": ClusterRank.NEVER}), (spec, never)]


@pytest.mark.parametrize(
    ("placement", "replicas", "before", "expected", "exact"),
    [
        (SHARES, 6, {"a": 2, "b": 2}, {"a": 2, "b": 2, "c": 2}, {"a": 2, "b": 2, "c": 2}),
        (SHARES, 12, {"a": 2, "b": 2}, {"a": 2, "b": 5, "c": 5}, {"a": 4, "b": 4, "c": 4}),
        (divided({"a": 3, "b": 1}), 4, {"a": 6, "b": 2}, {"a": 2, "b": 2}, {"a": 3, "b": 1}),
        (duplicated("a", "b", groups=1), 2, {"a": 2, "b": 2}, {"b": 2}, {"a": 2}),
        (duplicated("a", "c"), 2, {"a": 2, "b": 2}, {"a": 2, "c": 2}, {"a": 2, "c": 2}),
        (divided({"a": 1}), 4, {"a": 2}, {"a": 4}, {"a": 4}),
    ],
    ids=["as asked", "more", "fewer", "fewer clusters", "other clusters", "nobody is alive"],
)
def test_s1_scheduling_takes_nothing_from_the_living_for_the_dead_unless_it_is_to_be_exact(
    placement: Placement,
    replicas: int,
    before: Mapping[str, int],
    expected: Mapping[str, int],
    exact: Mapping[str, int],
) -> None:
    bound = binding(placement, replicas, targets(**before))
    for is_exact, wanted in ((False, expected), (True, exact)):
        trace = Trace()
        result = place_anew(bound, bound.spec, fleet(LOST, B, C), at(10), trace=trace, exact=is_exact)
        assert isinstance(result, Placed)
        assert {target.name: target.replicas for target in result.clusters} == wanted
        assert len(trace.terms) == 1
