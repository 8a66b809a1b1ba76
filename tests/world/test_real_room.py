"""A member whose nodes are fragmented says that it has room, and its estimator that it has none for these replicas."""

import pytest

from kubecluster.settings import WorkloadSettings
from leeward.manager.gates import switch_gates
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import World
from tests.world.estimators import WorldEstimator, play_with_estimators
from tests.world.stories import apply, policy, ready_replicas
from tests.world.test_quota import asking
from tests.world.test_quota_estimate import BY_ROOM, assigned

FRAGMENTED = WorkloadSettings(nodes=4, node_cpu="900m")
ROOMY, SMALL = WorkloadSettings(nodes=2, node_cpu="4"), WorkloadSettings(nodes=2, node_cpu="3")
SIZES = {"member1": FRAGMENTED, "member2": ROOMY, "member3": SMALL}
SUMS = switch_gates([("CustomizedClusterResourceModeling", False)])
"""Clusters report sums, and not how many nodes they have of which size."""
AGGREGATED = {
    "clusterAffinity": {"clusterNames": list(SIZES)},
    "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
}


def asked(estimator: WorldEstimator) -> ManagerSettings:
    return ManagerSettings(gates=SUMS, cluster_estimator=estimator)


def test_replicas_go_where_a_node_has_room_and_not_where_the_sum_says_so() -> None:
    async def story(world: World, _: WorldEstimator) -> None:
        await apply(world.client, asking("web", 6), policy("web", BY_ROOM))
        await world.sleep(60)
        found = assigned(world, "web")
        assert (found.get("member1", 0), sum(found.values())) == (0, 6)
        assert sum([await ready_replicas(world, name, "web") for name in found]) == 6

    play_with_estimators(story, SIZES, asked)


def test_without_estimators_they_wait_for_a_node_that_is_not_there() -> None:
    async def story(world: World, _: WorldEstimator) -> None:
        await apply(world.client, asking("web", 6), policy("web", BY_ROOM))
        await world.sleep(60)
        assert assigned(world, "web")["member1"] > 0
        assert await ready_replicas(world, "member1", "web") == 0

    play_with_estimators(story, SIZES, lambda _: ManagerSettings(gates=SUMS))


@pytest.mark.long
def test_a_failover_passes_by_a_fragmented_cluster() -> None:
    async def story(world: World, _: WorldEstimator) -> None:
        await apply(world.client, asking("web", 6), policy("web", AGGREGATED))
        await world.sleep(60)
        assert assigned(world, "web") == {"member2": 6}
        await world.member("member2").stop()
        await world.until(lambda: assigned(world, "web").get("member3", 0) == 6)
        await world.sleep(30)
        assert await ready_replicas(world, "member3", "web") == 6

    play_with_estimators(story, SIZES, asked)


def test_where_an_estimator_is_silent_the_report_of_the_cluster_counts() -> None:
    """Unknown is neither no room nor any amount of it."""

    async def story(world: World, estimator: WorldEstimator) -> None:
        estimator.gone = {"member3"}
        await apply(world.client, asking("web", 12), policy("web", BY_ROOM))
        await world.sleep(60)
        assert assigned(world, "web") == {"member2": 7, "member3": 5}
        assert estimator.asked.count("member3") <= 2, "who fails rests"

    play_with_estimators(story, SIZES, asked)
