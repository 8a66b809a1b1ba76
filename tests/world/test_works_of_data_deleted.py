"""Works of claims that somebody deletes by hand, while their binding asks for them: the data stays (decision 24)."""

from leeward.api.names import execution_space, work_name
from leeward.api.resource import WORKS
from leeward.sim.world import World
from tests.world.stories import PUSH_PUSH_PULL, apply, identities, play, policy
from tests.world.test_bindings_deleted import CLAIM, CLAIMS
from tests.world.test_ownership import on


def test_s5_claims_whose_works_are_deleted_in_all_clusters_at_once_keep_their_data() -> None:
    async def story(world: World) -> None:
        await world.client.create(CLAIMS, CLAIM, "default")
        await apply(world.client, policy("data", on(*PUSH_PUSH_PULL), "PersistentVolumeClaim", "v1"))
        await world.sleep(60)
        before = await identities(world, "data", resource=CLAIMS)
        assert set(before) == set(PUSH_PUSH_PULL)
        for member in PUSH_PUSH_PULL:
            name = work_name("PersistentVolumeClaim", "data", "default")
            await world.client.delete(WORKS, name, execution_space(member))
        await world.sleep(120)
        assert await identities(world, "data", resource=CLAIMS) == before
        await world.client.delete(CLAIMS, "data", "default")
        await world.sleep(20)
        assert await identities(world, "data", resource=CLAIMS) == {}

    play(story)
