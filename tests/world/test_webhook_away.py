"""A control plane on a real kube-apiserver asks a webhook, and nobody answers: failovers go on (L2), and no policy is
written unjudged."""

import pytest

from kubeclient import ApiError
from leeward.sim.world import World
from leeward.webhook.configurations import Endpoint, configurations
from tests.world.stories import (
    POLICIES,
    apply,
    by_weight,
    deployment,
    identities,
    in_world,
    policy,
    ready_replicas,
    tasks,
)

NOBODY = Endpoint("https://127.0.0.1:9")
HOUR_SECONDS = 3_600


async def ask_nobody(world: World) -> None:
    """Has the control plane ask a webhook at which nobody listens."""
    for resource, configuration in configurations(NOBODY, b""):
        for hook in configuration["webhooks"]:
            hook["clientConfig"] = {"url": hook["clientConfig"]["url"]}
        await world.client.create(resource, configuration)


@in_world()
async def test_l2_a_dead_cluster_is_left_while_no_webhook_answers_and_comes_back(world: World) -> None:
    await apply(world.client, deployment("web", 3), policy("web", by_weight({"member1": 1, "member2": 2})))
    await world.until(lambda: world.assigned("web-deployment") == {"member1": 1, "member2": 2}, 60)
    await world.sleep(60)
    before = await identities(world, "web", ["member2"])
    await ask_nobody(world)
    await world.member("member1").stop()
    await world.until(lambda: world.assigned("web-deployment") == {"member2": 3}, HOUR_SECONDS)
    await world.until(lambda: not tasks(world, "web-deployment"), HOUR_SECONDS)
    assert await ready_replicas(world, "member2", "web") == 3
    assert (await identities(world, "web", ["member2"]))["member2"][0] == before["member2"][0]
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1") and not world.taints("member1"), HOUR_SECONDS)


@in_world()
async def test_a_policy_is_refused_while_no_webhook_answers(world: World) -> None:
    await ask_nobody(world)
    with pytest.raises(ApiError, match="webhook"):
        await world.client.create(POLICIES, policy("web", by_weight({"member1": 1})), "default")
