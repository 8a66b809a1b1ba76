"""Replicas that find no node are given back, and run in another cluster soon after; what runs is left alone."""

import pytest

from kubeapi.core import EVENTS
from kubecluster.settings import WorkloadSettings
from leeward.controllers.descheduler import SUCCEEDED
from leeward.manager.choice import BY_DEFAULT, DESCHEDULER, SCHEDULER, Choice
from leeward.manager.gates import switch_gates
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import World
from tests.world.estimators import WorldEstimator, play_with_estimators
from tests.world.stories import DEPLOYMENTS, apply, identities, policy, ready_replicas, with_room, without_room
from tests.world.test_quota import asking
from tests.world.test_quota_estimate import assigned

SIZES = {
    "member1": WorkloadSettings(nodes=2, node_cpu="4"),
    "member2": WorkloadSettings(nodes=2, node_cpu="3"),
    "member3": WorkloadSettings(nodes=1, node_cpu="500m"),
}
AGGREGATED = {
    "clusterAffinity": {"clusterNames": list(SIZES)},
    "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
}
ROUND = 420
"""The threshold, and a look after it."""


def with_descheduler(estimator: WorldEstimator) -> ManagerSettings:
    return ManagerSettings(
        gates=switch_gates([("CustomizedClusterResourceModeling", False)]),
        controllers=Choice(by_default=frozenset((*BY_DEFAULT, SCHEDULER, DESCHEDULER))),
        cluster_estimator=estimator,
    )


async def stuck(world: World, estimator: WorldEstimator) -> None:
    """Two replicas run in member1; three more are placed there a moment after its nodes were closed."""
    await apply(world.client, policy("web", AGGREGATED), asking("web", 2))
    await world.until(lambda: assigned(world, "web") == {"member1": 2})
    await world.sleep(30)
    await without_room(world, "member1")
    estimator.gone = {"member1"}
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 5}}, "default")
    await world.until(lambda: assigned(world, "web") == {"member1": 5})
    estimator.gone = set()


async def ready(world: World) -> dict[str, int]:
    return {name: found for name in SIZES if (found := await ready_replicas(world, name, "web")) > 0}


@pytest.mark.long
def test_replicas_without_a_node_run_elsewhere_and_those_that_run_stay() -> None:
    """Holds: S1."""

    async def story(world: World, estimator: WorldEstimator) -> None:
        await stuck(world, estimator)
        before = await identities(world, "web")
        await world.sleep(280)
        assert (assigned(world, "web"), await ready(world)) == ({"member1": 5}, {"member1": 2})
        await world.until(lambda: assigned(world, "web") == {"member1": 2, "member2": 3}, 200)
        await world.sleep(30)
        assert await ready(world) == {"member1": 2, "member2": 3}
        assert (await identities(world, "web"))["member1"][0] == before["member1"][0]
        told = [event.message for event in (await world.client.list(EVENTS)).items if event.reason == SUCCEEDED]
        assert set(told) == {"3 replicas without a node are given back: 3 in cluster member1"}
        await world.sleep(300)
        assert assigned(world, "web") == {"member1": 2, "member2": 3}

    play_with_estimators(story, SIZES, with_descheduler)


@pytest.mark.long
def test_what_has_no_place_elsewhere_goes_on_waiting_where_it_is() -> None:
    async def story(world: World, estimator: WorldEstimator) -> None:
        await stuck(world, estimator)
        await without_room(world, "member2")
        await world.sleep(ROUND + 120)
        assert assigned(world, "web") == {"member1": 5}
        await with_room(world, "member1")
        await world.sleep(30)
        assert await ready(world) == {"member1": 5}

    play_with_estimators(story, SIZES, with_descheduler)
