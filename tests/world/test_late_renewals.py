"""A renewal of the heartbeat that is heard of late is no sign that somebody watches now."""

from datetime import timedelta

import pytest

from kubeapi.core import LEASES
from kubeapi.meta import format_micro_time
from leeward.api.names import HEARTBEAT_NAME, SYSTEM_NAMESPACE
from leeward.core.cluster_health.condition_taints import outage_since
from leeward.sim.world import CONTROLLERS, World
from tests.world.stories import apply, by_weight, deployment, in_world, policy

AWAY_SECONDS = 400


@pytest.mark.long
@in_world()
async def test_s13_a_renewal_that_is_heard_of_when_the_hub_is_back_makes_no_time_watched(world: World) -> None:
    await apply(world.client, deployment("web", 3), policy("web", by_weight({"member1": 1, "member2": 2})))
    await world.until(lambda: len(world.assigned("web-deployment")) == 2, 60)
    await world.sleep(30)
    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"))
    await world.sleep_to_whole(5, offset=1)
    world.link(CONTROLLERS, world.NAME).cut()
    stored = {"spec": {"renewTime": format_micro_time(world.clock.now())}}
    await world.client.patch(LEASES, HEARTBEAT_NAME, stored, SYSTEM_NAMESPACE)
    await world.sleep(AWAY_SECONDS)
    world.link(CONTROLLERS, world.NAME).mend()
    await world.until(lambda: "cluster.karmada.io/not-ready:NoExecute" in world.taints("member1"), 3000)
    cluster = world.cluster("member1")
    since, (taint,) = outage_since(cluster), [t for t in cluster.spec.taints if t.effect == "NoExecute"]
    assert since is not None
    assert taint.time_added is not None
    assert taint.time_added - since >= timedelta(seconds=300 + AWAY_SECONDS - 5), "five minutes of watched time"
