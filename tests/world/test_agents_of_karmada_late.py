"""Copies that Karmada's own agent finds when its member comes back: no order comes before they may go."""

import pytest

from tests.migration.karmada_agent import KarmadaAgent
from tests.world.stories import apply, deployment, identities, policy, ready_replicas, tasks
from tests.world.test_karmada_agent import FLEET, WEB, ForeignAgents, joined, play, recorded_status
from tests.world.test_restored import ONE_COPY


@pytest.mark.long
def test_s1_karmadas_agent_keeps_the_only_copy_when_it_returns() -> None:
    """The cluster that had replaced it is lost by then (decision 164)."""

    async def story(world: ForeignAgents) -> None:
        agent = await joined(world)
        await world.until(lambda: all(world.is_ready(name) for name in FLEET), 60)
        works = KarmadaAgent(world, world.member("member3"), agent.client)
        works.start()
        either = {"clusterAffinity": {"clusterNames": ["member2", "member3"]}, **ONE_COPY}
        await world.member("member2").stop()
        await world.until(lambda: not world.is_ready("member2"), 120)
        await apply(world.client, deployment("web", 3), policy("web", either))
        await world.until(lambda: list(world.assigned(WEB)) == ["member3"], 60)
        await world.sleep(30)
        before = await identities(world, "web", ["member3"])
        assert before
        await world.member("member2").start()
        await world.until(lambda: world.is_ready("member2"), 120)
        await works.stop()
        await world.until(lambda: list(world.assigned(WEB)) == ["member2"] and not tasks(world, WEB), 1_800)
        await world.sleep(30)
        assert await ready_replicas(world, "member2", "web") == 3
        await world.member("member2").stop()
        await world.until(lambda: not world.is_ready("member2"), 120)
        await world.sleep(30)
        await agent.report(recorded_status())
        works = KarmadaAgent(world, world.member("member3"), agent.client)
        works.start()
        await world.until(lambda: world.is_ready("member3"), 120)
        for _ in range(60):
            await world.sleep(1)
            assert await identities(world, "web", ["member3"]) == before
        await world.until(lambda: list(world.assigned(WEB)) == ["member3"], 600)
        await world.sleep(30)
        assert await identities(world, "web", ["member3"]) == before
        assert await ready_replicas(world, "member3", "web") == 3
        await works.stop()

    play(story)
