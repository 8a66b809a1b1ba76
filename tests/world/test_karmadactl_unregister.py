"""`karmadactl unregister` of a Pull member: it deletes Works until there are none, and then the Cluster.

Works of what is assigned there are made anew, so that it gives up: the member is drained first.
"""

import pytest

from leeward.api.names import DRAIN_TAINT
from leeward.client import NotFound
from leeward.sim.world import World
from tests.migration import karmadactl
from tests.world.stories import apply, by_weight, deployment, play, policy, ready_replicas

WEB = "web-deployment"


@pytest.mark.long
def test_a_drained_pull_member_leaves_by_the_requests_of_karmadactl() -> None:
    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 4), policy("web", by_weight({"member2": 1, "member3": 1})))
        await world.until(lambda: world.assigned(WEB) == {"member2": 2, "member3": 2})
        await world.sleep(30)
        with pytest.raises(TimeoutError):
            await karmadactl.unregister(world.client, "member3", seconds=10)
        await world.sleep(30)
        assert await ready_replicas(world, "member3", "web") == 2, "what was deleted is made anew"
        drained = {"spec": {"taints": [{"key": DRAIN_TAINT, "effect": "NoExecute"}]}}
        await world.client.patch(karmadactl.CLUSTERS, "member3", drained)
        await world.until(lambda: world.assigned(WEB) == {"member2": 4})
        await world.sleep(700)
        await karmadactl.unregister(world.client, "member3")
        with pytest.raises(NotFound):
            await world.client.get(karmadactl.CLUSTERS, "member3")
        assert await ready_replicas(world, "member3", "web") == -1
        assert await ready_replicas(world, "member2", "web") == 4

    play(story)
