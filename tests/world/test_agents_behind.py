"""Agents that do not know yet what their control plane says by now."""

import random

from kubecluster.network_faults import FaultProfile, NetworkFaults
from kubeserver.store.backup import revision_behind
from kubeserver.store.medium import Loaded
from leeward.api.names import REMOVAL_HELD_ANNOTATION, work_name
from leeward.api.resource import CLUSTERS
from leeward.sim.member import agent_of
from leeward.sim.world import World
from tests.world.stories import DEPLOYMENTS, apply, deployment, identities, in_world, policy, tasks
from tests.world.test_detection import answers, status
from tests.world.test_ownership import on
from tests.world.test_restored import PULLED, WEB, placed

WORK = work_name("Deployment", "web", "default")


class Longest(random.Random):
    def random(self) -> float:
        return 1.0


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


@in_world({"member1": "Pull"})
async def test_l1_a_release_after_a_restore_reaches_the_agent_that_knew_another_one_of_that_generation(
    world: World,
) -> None:
    """A release was bad, and the control plane is restored to before it; the next release comes before the agent has
    listed its Works again."""
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


@in_world(PULLED)
async def test_s1_an_agent_that_has_not_heard_that_a_removal_is_held_asks_before_it_deletes(world: World) -> None:
    """A copy leaves by a taint, and its cluster refuses the deletion; its replacement dies meanwhile, and the agent,
    whose streams a proxy has lost, is told nothing any more."""
    old = await placed(world)
    before = await identities(world, "web", [old])
    answers(world.member(old).place, lambda r: status(500, "InternalError") if r.method == "DELETE" else None)
    await world.client.patch(CLUSTERS, old, {"spec": {"taints": [{"key": "x", "effect": "NoExecute"}]}})
    await world.until(lambda: old not in world.assigned(WEB) and not tasks(world, WEB), 600)
    (new,) = world.assigned(WEB)
    await world.sleep(10)
    world.link(agent_of(old), world.NAME).faults = NetworkFaults(FaultProfile(lag_seconds=600), Longest())
    await world.member(new).stop()
    await world.until(lambda: not world.is_ready(new), 100)
    await world.sleep(90)
    work = world.work(old, WORK)
    assert work is not None
    assert REMOVAL_HELD_ANNOTATION in work.metadata.annotations
    answers(world.member(old).place, lambda _: None)
    await world.sleep(120)
    assert world.is_ready(old)
    assert await identities(world, "web", [old]) == before
