"""Templates that `kubectl replace` writes as the user's file has them: without the marks of their policy."""

from leeward.sim.world import Mode, World
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, by_weight, deployment, in_world, policy

TWO: dict[str, Mode] = {"member1": "Push", "member2": "Push"}
WEB = "web-deployment"


async def replace(world: World, replicas: int, image: str = "nginx") -> None:
    found, anew = await world.client.get(DEPLOYMENTS, "web", "default"), deployment("web", replicas, image)
    anew["metadata"] |= {"namespace": "default", "resourceVersion": found["metadata"]["resourceVersion"]}
    await world.client.update(DEPLOYMENTS, anew, "web", "default")


@in_world(TWO)
async def test_s17_a_template_that_is_replaced_without_its_marks_stays_with_its_policy(world: World) -> None:
    """The other policy would win the template, if nobody had claimed it."""
    first, second = policy("web", by_weight({"member1": 1})), policy("web", by_weight({"member2": 1}))
    first["metadata"]["name"], second["metadata"]["name"] = "second-by-name", "first-by-name"
    await apply(world.client, deployment("web", 2), first)
    await world.until(lambda: world.assigned(WEB) == {"member1": 2}, 60)
    marked = (await world.client.get(DEPLOYMENTS, "web", "default"))["metadata"]
    await apply(world.client, second)
    await replace(world, 2)
    await world.sleep(60)
    assert world.assigned(WEB) == {"member1": 2}
    found = (await world.client.get(DEPLOYMENTS, "web", "default"))["metadata"]
    assert (found["labels"], found["annotations"]) == (marked["labels"], marked["annotations"])


@in_world(TWO)
async def test_s17_a_lazy_policy_follows_a_template_that_is_replaced_without_its_marks(world: World) -> None:
    """The image would be rolled out, and the replicas stay as they were until another change."""
    lazy = policy("web", by_weight({"member1": 1}))
    lazy["spec"]["activationPreference"] = "Lazy"
    await apply(world.client, lazy)
    await world.sleep(5)
    await apply(world.client, deployment("web", 2))
    await world.until(lambda: world.assigned(WEB) == {"member1": 2}, 60)
    await world.client.patch(POLICIES, "web", {"spec": {"placement": by_weight({"member2": 1})}}, "default")
    await replace(world, 2)
    await world.sleep(60)
    assert world.assigned(WEB) == {"member1": 2}, "a user has changed nothing"
    await replace(world, 4, "nginx:2")
    await world.until(lambda: world.assigned(WEB) == {"member2": 4}, 120)
