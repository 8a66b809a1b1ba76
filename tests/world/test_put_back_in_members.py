"""Objects that come back in a member after their Work is gone: by somebody's hand, or with a backup of the member."""

import pytest

from kubeapi.meta import Manifest
from leeward.api.resource import NAMESPACES
from leeward.client import NotFound
from leeward.sim.world import Mode, World
from tests.world.stories import CONFIG_MAPS, POLICIES, play
from tests.world.test_dependencies_in_trouble import CLAIMS, claim
from tests.world.test_kinds import appears, selecting


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


def test_s5_a_namespace_that_is_put_back_by_hand_in_a_member_stays_with_what_is_in_it() -> None:
    async def story(world: World) -> None:
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

    play(story, {"member1": "Push"})
