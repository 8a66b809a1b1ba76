"""The arithmetic of rollouts."""

from itertools import product

import pytest

from kubecluster.rules.rolling import (
    IntOrPercent,
    Size,
    decide_paused,
    decide_recreate,
    decide_rolling,
    resolve_bounds,
    resolve_unavailable,
)


@pytest.mark.parametrize(
    ("replicas", "max_surge", "max_unavailable", "bounds"),
    [
        (4, "25%", "25%", (1, 1)),
        (3, "25%", "25%", (1, 0)),
        (10, "25%", "25%", (3, 2)),
        (1, "25%", "25%", (1, 0)),
        (10, 0, 0, (0, 1)),
        (3, 0, "10%", (0, 1)),
        (0, "25%", "25%", (0, 0)),
        (2, 5, 5, (5, 2)),
        (7, "100%", "50%", (7, 3)),
    ],
)
def test_surge_is_rounded_up_and_unavailable_down(
    replicas: int, max_surge: IntOrPercent, max_unavailable: IntOrPercent, bounds: tuple[int, int]
) -> None:
    assert resolve_bounds(replicas, max_surge, max_unavailable) == bounds


def test_daemon_sets_round_unavailable_up() -> None:
    assert resolve_unavailable(5, "10%") == 1
    assert resolve_unavailable(5, 2) == 2


def test_a_bound_that_is_no_percentage_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="maxSurge: 'a lot' is neither"):
        resolve_bounds(3, "a lot", 1)


@pytest.mark.parametrize(
    ("story", "new", "old", "told_new", "told_old"),
    [
        ("the first ReplicaSet gets everything", Size(), [], 4, ()),
        ("the new one starts within the surge", Size(), [Size(4, 4)], 1, (3,)),
        ("nothing more goes while the new one is not available", Size(2, 0), [Size(3, 3)], 2, (3,)),
        ("what is available makes room", Size(2, 2), [Size(3, 3)], 2, (1,)),
        ("the last step", Size(4, 4), [Size(1, 1)], 4, (0,)),
        ("broken old ones go first", Size(1, 0), [Size(2, 2), Size(2, 0)], 1, (2, 1)),
        ("the oldest of the good ones goes first", Size(3, 3), [Size(1, 1), Size(1, 1)], 3, (0, 0)),
        ("less is wanted than there is", Size(6, 6), [], 4, ()),
    ],
)
def test_a_rolling_update_goes_in_steps(
    story: str, new: Size, old: list[Size], told_new: int, told_old: tuple[int, ...]
) -> None:
    del story
    sizes = decide_rolling(4, 1, 1, new, old)
    assert (sizes.new, sizes.old) == (told_new, told_old)


def test_no_step_of_a_rolling_update_breaks_its_bounds() -> None:
    for replicas, surge, unavailable, new_wanted, old_wanted in product(
        range(6), range(3), range(3), range(6), range(6)
    ):
        bound = min(max(unavailable, not surge), replicas)
        for new_available, old_available in product(range(new_wanted + 1), range(old_wanted + 1)):
            new, old = Size(new_wanted, new_available), Size(old_wanted, old_available)
            sizes = decide_rolling(replicas, surge, bound, new, [old])
            total = sizes.new + sum(sizes.old)
            assert total <= max(replicas + surge, new_wanted + old_wanted)
            still_available = min(new_available, sizes.new) + min(old_available, sum(sizes.old))
            assert still_available >= min(replicas - bound, min(new_available, replicas) + old_available)


def test_every_rolling_update_comes_to_its_end() -> None:
    for replicas, surge, unavailable in product(range(8), range(3), range(3)):
        bound = min(max(unavailable, not surge), replicas)
        new, old = 0, 5
        for _ in range(40):
            sizes = decide_rolling(replicas, surge, bound, Size(new, new), [Size(old, old)])
            new, old = sizes.new, sizes.old[0]
        assert (new, old) == (replicas, 0)


@pytest.mark.parametrize(
    ("old", "pods_left", "told_new", "told_old"),
    [
        ([], False, 3, ()),
        ([Size(3, 3)], True, 0, (0,)),
        ([Size(0, 0)], True, 0, (0,)),
        ([Size(0, 0)], False, 3, (0,)),
    ],
)
def test_recreate_waits_for_the_last_old_pod(
    old: list[Size], pods_left: bool, told_new: int, told_old: tuple[int, ...]
) -> None:
    sizes = decide_recreate(3, old, pods_left)
    assert (sizes.new, sizes.old) == (told_new, told_old)


@pytest.mark.parametrize(
    ("new", "old", "told_new", "told_old"),
    [
        (Size(2), [], 5, ()),
        (None, [Size(2)], 0, (5,)),
        (None, [], 0, ()),
        (Size(2), [Size(2)], 3, (2,)),
        (Size(0), [Size(2)], 0, (5,)),
        (Size(1), [Size(6)], 0, (5,)),
    ],
)
def test_a_paused_deployment_changes_its_newest_replica_set(
    new: Size | None, old: list[Size], told_new: int, told_old: tuple[int, ...]
) -> None:
    sizes = decide_paused(5, new, old)
    assert (sizes.new, sizes.old) == (told_new, told_old)
