"""Agents that do not know yet what their control plane says by now."""

from kubeserver.store.backup import revision_behind
from kubeserver.store.medium import Loaded
from leeward.sim.member import agent_of
from leeward.sim.world import World
from tests.world.stories import DEPLOYMENTS, apply, deployment, play, policy
from tests.world.test_ownership import on


async def image_in(world: World, member: str) -> str:
    found = await world.member(member).client.get(DEPLOYMENTS, "web", "default")
    return found["spec"]["template"]["spec"]["containers"][0]["image"]


async def release(world: World, image: str) -> None:
    template = {"spec": {"containers": [{"name": "main", "image": image}]}}
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"template": template}}, "default")


async def restored_to(world: World, backup: Loaded) -> None:
    newest = (await world.medium.load()).records[-1].revision
    world.crash_apiserver()
    await world.sleep(5)
    copied = max(record.revision for record in backup.records)
    world.medium.replace(Loaded(tuple(backup.records), revision_behind(copied, newest)))
    await world.start_apiserver()


def test_l1_a_release_after_a_restore_reaches_the_agent_that_knew_another_one_of_that_generation() -> None:
    """A release was bad, and the control plane is restored to before it; the next release comes before the agent has
    listed its Works again."""

    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 2, "good:1"), policy("web", on("member1")))
        await world.sleep(60)
        backup = await world.medium.load()
        await release(world, "bad:2")
        await world.sleep(30)
        assert await image_in(world, "member1") == "bad:2"
        world.crash_controllers()
        way = world.link(agent_of("member1"), world.NAME)
        way.cut()
        await restored_to(world, backup)
        world.start_controllers()
        await release(world, "good:3")
        await world.sleep(8)
        way.mend()
        await world.sleep(60)
        assert world.is_ready("member1")
        assert await image_in(world, "member1") == "good:3"

    play(story, {"member1": "Pull"})
