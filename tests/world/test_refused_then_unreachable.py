"""Credentials that are refused for half an hour say nothing of the cluster: an outage's clock starts with it."""

import pytest

from leeward.api.names import OUTAGE_ANNOTATION
from leeward.sim.world import World
from tests.world.stories import DEPLOYMENTS, apply, by_weight, deployment, in_world, policy, ready_replicas
from tests.world.test_detection import NOT_READY, answers, reason_of, status

WEB = "web-deployment"
SHARED = {"member1": 2, "member2": 2}
REFUSED_SECONDS = 1_800
EVICTION_SECONDS, TOLERATION_SECONDS = 300, 300
"""The defaults of `--failover-eviction-timeout` and of a policy's tolerations."""


async def web_runs_and_credentials_are_refused(world: World) -> None:
    await apply(world.client, deployment("web", 4), policy("web", by_weight({"member1": 1, "member2": 1})))
    await world.until(lambda: world.assigned(WEB) == SHARED, 60)
    await world.sleep(30)
    answers(world.member("member1").place, lambda request: status(401, "Unauthorized"))
    await world.sleep(REFUSED_SECONDS)
    assert reason_of(world, "member1") == ("False", "StatusCollectionFailed")
    assert world.taints("member1") == {f"{NOT_READY}:NoSchedule"}


@pytest.mark.long
@in_world()
async def test_no_execute_is_due_a_whole_timeout_after_the_cluster_was_seen_to_be_unreachable(world: World) -> None:
    await web_runs_and_credentials_are_refused(world)
    world.member("member1").pause()
    await world.until(lambda: reason_of(world, "member1") != ("False", "StatusCollectionFailed"), 120)
    unreachable = world.seconds
    await world.until(lambda: f"{NOT_READY}:NoExecute" in world.taints("member1"), 2 * EVICTION_SECONDS)
    assert world.seconds - unreachable >= EVICTION_SECONDS - 1
    assert world.assigned(WEB) == SHARED, "its tolerations begin only now"


@pytest.mark.long
@in_world()
async def test_s12_an_outage_within_timeout_and_toleration_after_half_an_hour_of_refused_credentials_moves_nothing(
    world: World,
) -> None:
    await web_runs_and_credentials_are_refused(world)
    world.member("member1").place.audit = None
    client = world.member("member1").client
    before = await client.get(DEPLOYMENTS, "web", "default")
    answers(world.member("member1").place, lambda request: status(401, "Unauthorized"))
    await world.sleep(120)
    world.member("member1").pause()
    await world.sleep(EVICTION_SECONDS + TOLERATION_SECONDS - 150)
    world.member("member1").resume()
    world.member("member1").place.audit = None
    await world.sleep(900)
    assert world.taints("member1") == set()
    assert OUTAGE_ANNOTATION not in world.cluster("member1").metadata.annotations
    assert world.assigned(WEB) == SHARED
    after = await client.get(DEPLOYMENTS, "web", "default")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert await ready_replicas(world, "member1", "web") == 2
