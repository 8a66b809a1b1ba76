"""Clusters that a copy would have to leave again at once are no places for it, unless they are spared."""

from datetime import datetime

import pytest

from leeward.api.cluster import Cluster
from leeward.core.scheduling.cluster_arrays import ClusterView
from leeward.planning import Fleet
from tests.builders import at, cluster, fleet

LEAVES = {"a": at(100), "b": at(50), "c": None}


def leaves_at(cluster: Cluster) -> datetime | None:
    return LEAVES[cluster.name]


def staying(there: Fleet, seconds: float, spared: tuple[str, ...] = (), but: tuple[str, ...] = ()) -> ClusterView:
    return there.staying("web", leaves_at, at(seconds), spared, but)


@pytest.mark.parametrize(
    ("seconds", "spared", "but", "names"),
    [
        (49, (), (), "abc"),
        (50, (), (), "ac"),
        (100, (), (), "c"),
        (50, ("b", "gone"), (), "abc"),
        (100, ("b",), (), "bc"),
        (0, (), ("a", "gone"), "bc"),
        (0, ("a",), ("a", "b"), "c"),
        (50, ("b",), ("b",), "ac"),
    ],
)
def test_a_copy_goes_where_it_may_stay_or_is_spared(
    seconds: float, spared: tuple[str, ...], but: tuple[str, ...], names: str
) -> None:
    there = fleet(*map(cluster, LEAVES))
    view = staying(there, seconds, spared, but)
    assert [each.name for each in view] == list(names)
    assert len(view) == len(names)
    assert view.arrays is there


def test_what_all_may_stay_in_is_no_selection() -> None:
    there = fleet(*map(cluster, LEAVES))
    assert staying(there, 0).allowed is None
    assert staying(there, 0, but=("a",)).allowed is not None
    assert [each.name for each in there.view()] == list("abc")


def test_who_tolerates_other_taints_leaves_at_other_times() -> None:
    there = fleet(*map(cluster, LEAVES))
    assert [each.name for each in staying(there, 60)] == ["a", "c"]
    other = there.staying("db", lambda _: None, at(60), ())
    assert [each.name for each in other] == ["a", "b", "c"]


def test_a_cluster_that_has_joined_is_a_place() -> None:
    there = fleet(*map(cluster, "ab"))
    assert [each.name for each in staying(there, 50)] == ["a"]
    there.put(cluster("c"))
    assert [each.name for each in staying(there, 50)] == ["a", "c"]
