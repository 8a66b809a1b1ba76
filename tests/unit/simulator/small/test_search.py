"""Small worlds: nothing is found in the real decision functions, and what is planted in them is."""

import pytest

from simulator.small import WORLDS, Rules, SmallWorld, Workload, search
from simulator.small.story import MOST_LINES, tell
from simulator.small.worlds import divided, duplicated
from tests.unit.simulator.small import planted

ONE_TO_TWO = SmallWorld("one to two", 2, (Workload(divided({"m1": 1, "m2": 2}), 3, 4),), ("cut", "taint", "scale"))
SPREAD = SmallWorld("spread", 3, (Workload(divided(), 4),), ("cut",))
TWO_OF_THREE = SmallWorld("two of three", 3, (Workload(duplicated(2), 1),), ("cut", "taint"))
EVERYWHERE = SmallWorld("everywhere", 3, (Workload(duplicated(), 1),), ("cut",))
ALIKE = SmallWorld("alike", 2, (Workload(duplicated(1), 1),) * 2, ("cut",), most_faults=1)
PURGED = SmallWorld("purged", 2, (Workload(duplicated(1), 1, purge_mode="Directly"),), ("cut",))


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_the_real_decisions_break_no_invariant(world: SmallWorld) -> None:
    found = search(world, most_states=1_500)
    assert found.finding is None, tell(world, found.finding)


@pytest.mark.parametrize(
    ("world", "placement", "id"),
    [
        pytest.param(TWO_OF_THREE, planted.configured(exact_health=True), "S1", id="time ends every eviction"),
        pytest.param(ONE_TO_TWO, planted.altered(planted.impatient), "S1", id="no eviction is waited for"),
        pytest.param(TWO_OF_THREE, planted.without_taints, "S2", id="taints keep nothing away"),
        pytest.param(ONE_TO_TWO, planted.altered(planted.losing), "S3", id="a replica is lost"),
        pytest.param(PURGED, planted.without_brake, "S4", id="the brake is not felt"),
        pytest.param(ONE_TO_TWO, planted.configured(keep_without_place=False), "S11", id="evicts without a place"),
        pytest.param(EVERYWHERE, planted.without_gain, "S12", id="evicts what nothing replaces"),
        pytest.param(SPREAD, planted.altered(planted.gathering), "C2", id="survivors shrink"),
        pytest.param(ONE_TO_TWO, planted.altered(planted.evicting_twice), "C3", id="evicts twice"),
        pytest.param(ONE_TO_TWO, planted.altered(planted.forgetful), "L1", id="does not place again"),
        pytest.param(ONE_TO_TWO, planted.altered(planted.asleep), "L2", id="sets no alarm"),
        pytest.param(ONE_TO_TWO, planted.altered(planted.silent), "L3", id="says nothing"),
    ],
)
def test_a_planted_fault_is_found_and_told(world: SmallWorld, placement: planted.Placement, id: str) -> None:
    found = search(world, 20_000, Rules(placement=placement))
    assert found.finding is not None
    assert id in {problem.id for problem in found.finding.problems}
    assert len(tell(world, found.finding).splitlines()) <= MOST_LINES


def test_a_search_is_the_same_every_time() -> None:
    assert search(ONE_TO_TWO, 2_000) == search(ONE_TO_TWO, 2_000)


def test_fewer_faults_come_first_and_a_small_enough_world_is_seen_whole() -> None:
    found = search(ALIKE, 100_000)
    assert (found.faults, found.is_whole) == (1, True)
