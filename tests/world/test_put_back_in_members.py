"""Objects that come back in a member after their Work is gone: by somebody's hand, or with a backup of the member."""

import pytest

from kubeapi.core import NAMESPACES
from kubeapi.meta import Manifest
from kubeclient import NotFound
from leeward.operations.orphans import find_orphans
from leeward.sim.world import Mode, World
from tests.variants import mostly_long
from tests.world.stories import CONFIG_MAPS, POLICIES, identities, in_world, play, ready_replicas, tasks
from tests.world.test_dependencies_with_data import CLAIMS, claim
from tests.world.test_kinds import appears, selecting
from tests.world.test_orphans import reach_in
from tests.world.test_restored import PULLED, PUSHED, WEB, keeps_the_only_copy, moved, placed


def exported(observed: Manifest) -> Manifest:
    """The object as an export has it, which whoever makes backups of namespaces puts back under a uid of its own."""
    kept = {key: observed["metadata"][key] for key in ("name", "labels", "annotations")}
    return {"metadata": kept, **({"spec": observed["spec"]} if "spec" in observed else {})}


@pytest.mark.parametrize("mode", ["Push", "Pull"])
def test_s5_a_claim_that_is_put_back_by_hand_in_a_member_stays(mode: Mode) -> None:
    async def story(world: World) -> None:
        there = world.member("member1").client
        await world.client.create(CLAIMS, claim("data"), "default")
        await world.client.create(POLICIES, selecting(CLAIMS, "data", "member1"), "default")
        found = await appears(world, "member1", CLAIMS, "data", "default")
        await world.sleep(30)
        await world.client.delete(CLAIMS, "data", "default")
        await world.sleep(60)
        with pytest.raises(NotFound):
            await there.get(CLAIMS, "data", "default")
        made = await there.create(CLAIMS, exported(found), "default")
        await world.sleep(60)
        now = (await there.get(CLAIMS, "data", "default"))["metadata"]
        assert now["uid"] == made["metadata"]["uid"]
        assert "deletionTimestamp" not in now

    play(story, {"member1": mode})


@in_world({"member1": "Push"})
async def test_s5_a_namespace_that_is_put_back_by_hand_in_a_member_stays_with_what_is_in_it(world: World) -> None:
    there = world.member("member1").client
    await world.client.create(NAMESPACES, {"metadata": {"name": "shop"}})
    await world.sleep(30)
    found = (await there.get(NAMESPACES, "shop")).metadata
    await world.client.delete(NAMESPACES, "shop")
    await world.sleep(60)
    marks = {"labels": dict(found.labels), "annotations": dict(found.annotations)}
    await there.create(NAMESPACES, {"metadata": {"name": "shop", **marks}})
    await there.create(CONFIG_MAPS, {"metadata": {"name": "own"}, "data": {"a": "1"}}, "shop")
    await world.sleep(60)
    assert (await there.get(CONFIG_MAPS, "own", "shop"))["data"] == {"a": "1"}


async def back_with_its_past(world: World) -> tuple[str, str]:
    """The old cluster has lost its copy to the new one, and is stopped, to come back with what it had before."""
    old = await placed(world)
    backup = await world.member(old).contents()
    new = await moved(world, old)
    await world.until(lambda: tasks(world, WEB) == [], 900)
    await world.sleep(30)
    await world.member(old).start()
    await world.until(lambda: world.is_ready(old), 120)
    await world.sleep(60)
    assert await ready_replicas(world, old, "web") == -1
    await world.member(old).stop()
    await world.until(lambda: not world.is_ready(old), 120)
    world.member(old).medium.replace(backup)
    return old, new


@pytest.mark.parametrize("braked", mostly_long([False, True], False), ids=["its replacement is", "all others are"])
@in_world(PUSHED)
async def test_s1_what_a_restored_member_brings_back_stays_while_what_replaced_it_is_lost(
    world: World, *, braked: bool
) -> None:
    old, new = await back_with_its_past(world)
    lost = [name for name in world.members if name == new or (braked and name != old)]
    for name in lost:
        await world.member(name).stop()
    await world.until(lambda: not world.is_ready(new), 120)
    await world.sleep(60)
    await world.member(old).start()
    await keeps_the_only_copy(world, await identities(world, "web", [old]), old, *lost)
    for name in lost:
        await world.member(name).start()
    await world.until(lambda: len(world.assigned(WEB)) == 1, 600)
    await world.sleep(120)
    assert list(await identities(world, "web")) == list(world.assigned(WEB)), "and then it is removed"


@pytest.mark.parametrize("mode", ["Push", "Pull"])
def test_l3_what_a_restored_member_brings_back_is_removed_while_its_replacement_is_healthy_but_by_agents(
    mode: Mode,
) -> None:
    async def story(world: World) -> None:
        old, _ = await back_with_its_past(world)
        await world.member(old).start()
        await world.until(lambda: world.is_ready(old), 120)
        await world.sleep(60)
        left = [str(each) for each in (await find_orphans(world.client, reach_in(world))).orphans]
        assert left == ([] if mode == "Push" else [f"Deployment default/web in {old}"])
        assert (await ready_replicas(world, old, "web") == -1) == (mode == "Push")

    play(story, PUSHED if mode == "Push" else PULLED)
