"""Dead targets: what they keep where a binding is scheduled for another reason than their loss."""

from collections.abc import Mapping

import pytest

from leeward.api.policy import Placement
from leeward.core.placement.replacement import place_anew
from leeward.core.scheduling import Placed, Trace, Unplaceable
from tests.builders import at, binding, cluster, dead, divided, duplicated, fleet, targets
from tests.unit.core.eviction.test_withdrawal import leaving
from tests.unit.core.placement.test_replacement import leaving as left_by

A, B, C = map(cluster, "abc")
LOST = dead("a")
SHARES = divided({"a": 1, "b": 1, "c": 1})
COPIES = duplicated("a", "b", "c")


@pytest.mark.parametrize(
    ("replicas", "before", "pinned", "expected"),
    [
        (8, {"a": 2, "b": 2}, (), {"a": 2, "b": 3, "c": 3}),
        (3, {"a": 3, "b": 1}, (), {"a": 1, "b": 1, "c": 1}),
        (1, {"a": 3, "b": 1}, (), {"c": 1}),
        (4, {"a": 2, "b": 4, "d": 1}, (), {"b": 2, "c": 2}),
        (9, {"a": 2, "b": 2, "e": 2}, ("a",), {"a": 2, "b": 2, "c": 3, "e": 2}),
        (12, {"a": 3, "b": 2, "e": 3}, (), {"a": 3, "b": 3, "c": 3, "e": 3}),
    ],
)
def test_of_what_is_divided_the_dead_keep_what_is_wanted_beyond_the_living(
    replicas: int, before: Mapping[str, int], pinned: tuple[str, ...], expected: Mapping[str, int]
) -> None:
    tasks = tuple(left_by(name, 1) for name in pinned)
    equal = divided(dict.fromkeys("abce", 1))
    bound = binding(equal, replicas, targets(**before), tasks)
    result = place_anew(bound, bound.spec, fleet(LOST, B, C, leaving(cluster("d")), dead("e")), at(10))
    assert isinstance(result, Placed)
    assert {target.name: target.replicas for target in result.clusters} == expected


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


@pytest.mark.parametrize(
    ("placement", "replicas", "before", "expected", "exact"),
    [
        (SHARES, 6, {"a": 2, "b": 2}, {"a": 2, "b": 2, "c": 2}, {"a": 2, "b": 2, "c": 2}),
        (SHARES, 12, {"a": 2, "b": 2}, {"a": 2, "b": 5, "c": 5}, {"a": 4, "b": 4, "c": 4}),
        (divided({"a": 3, "b": 1}), 4, {"a": 6, "b": 2}, {"a": 2, "b": 2}, {"a": 3, "b": 1}),
        (duplicated("a", "b", groups=1), 2, {"a": 2, "b": 2}, {"b": 2}, {"a": 2}),
        (duplicated("a", "c"), 2, {"a": 2, "b": 2}, {"a": 2, "c": 2}, {"a": 2, "c": 2}),
        (duplicated("a", "b", "e", groups=2), 2, {"a": 2, "b": 2, "e": 2}, {"a": 2, "b": 2}, {"a": 2, "b": 2}),
        (divided({"a": 1}), 4, {"a": 2}, {"a": 4}, {"a": 4}),
    ],
    ids=["as asked", "more", "fewer", "fewer clusters", "other clusters", "two of three", "nobody is alive"],
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
        result = place_anew(bound, bound.spec, fleet(LOST, B, C, dead("e")), at(10), trace=trace, exact=is_exact)
        assert isinstance(result, Placed)
        assert {target.name: target.replicas for target in result.clusters} == wanted
        assert len(trace.terms) == 1
