"""Owners of work: each binding and each cluster is one process's, and stays so."""

from collections import Counter
from collections.abc import Callable

import pytest

from controller_runtime.identity import Key
from leeward.runtime.work_share import WHOLE, Shard, WorkShare

KEYS = [Key("default", f"web-{number}") for number in range(200)]
NAMES = [f"member{number}" for number in range(200)]


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_each_object_is_one_shards_and_each_shard_has_some_s8(count: int) -> None:
    shares = [WorkShare.of_shard(Shard(index, count)) for index in range(count)]
    of_bindings = [[index for index, share in enumerate(shares) if share.owns_binding(key)] for key in KEYS]
    of_clusters = [[index for index, share in enumerate(shares) if share.owns_cluster(name)] for name in NAMES]
    for owners in (of_bindings, of_clusters):
        assert all(len(each) == 1 for each in owners)
        counts = Counter(each[0] for each in owners)
        assert min(counts[index] for index in range(count)) > 200 / count / 2


def test_whose_an_object_is_stays_the_same_from_version_to_version_s8() -> None:
    """Processes of two versions work side by side while the one follows the other."""
    owners = [next(i for i in range(3) if Shard(i, 3).owns(f"default/web-{number}")) for number in range(12)]
    assert owners == [0, 2, 0, 1, 0, 0, 1, 1, 1, 2, 1, 0]


def test_another_number_of_shards_moves_what_the_new_one_gains_alone() -> None:
    for key in KEYS:
        if not Shard(3, 4).owns(str(key)):
            assert [Shard(index, 3).owns(str(key)) for index in range(3)] == [
                Shard(index, 4).owns(str(key)) for index in range(3)
            ]


@pytest.mark.parametrize(
    ("make", "leads", "works"),
    [
        (lambda: WHOLE, True, True),
        (WorkShare, True, True),
        (lambda: WorkShare.of_leader(), True, False),
        (lambda: WorkShare.of_shard(Shard(0, 1)), False, True),
    ],
    ids=["alone", "by default", "a leader with shards", "the only shard"],
)
def test_a_leader_leaves_its_shards_what_is_theirs(make: Callable[[], WorkShare], *, leads: bool, works: bool) -> None:
    share = make()
    assert share.leads is leads
    assert {share.owns_binding(KEYS[0]), share.owns_cluster(NAMES[0])} == {works}
