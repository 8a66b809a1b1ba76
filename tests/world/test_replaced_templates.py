"""Templates that `kubectl replace` writes as the user's file has them: without the marks of their policy."""

from leeward.sim.world import Mode, World
from tests.world.stories import DEPLOYMENTS, apply, by_weight, deployment, play, policy

TWO: dict[str, Mode] = {"member1": "Push", "member2": "Push"}
WEB = "web-deployment"


async def replace(world: World, replicas: int, image: str = "nginx") -> None:
    found, anew = await world.client.get(DEPLOYMENTS, "web", "default"), deployment("web", replicas, image)
    anew["metadata"] |= {"namespace": "default", "resourceVersion": found["metadata"]["resourceVersion"]}
    await world.client.update(DEPLOYMENTS, anew, "web", "default")


def test_s17_a_template_that_is_replaced_without_its_marks_stays_with_its_policy() -> None:
    """The other policy would win the template, if nobody had claimed it."""

    async def story(world: World) -> None:
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

    play(story, TWO)
