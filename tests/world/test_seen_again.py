"""A member that was not seen for a while: what it runs is looked at anew when it is Ready again."""

from datetime import datetime

import pytest

from kubeclient import Request, Response
from leeward.api.meta import find_condition
from leeward.api.names import REFLECTED_CONDITION, work_name
from leeward.core.copies.availability import availability
from leeward.sim.member import agent_of
from leeward.sim.world import Mode, World
from tests.world.stories import apply, deployment, play, policy, without_room
from tests.world.test_detection import answers
from tests.world.test_ownership import on

WEB = work_name("Deployment", "web", "default")
NOT_SEEN_SECONDS = 90.0


def seen_at(world: World) -> datetime | None:
    """Instant at which the copy in member3 was looked at last, as far as anybody was told."""
    work = world.work("member3", WEB)
    reflected = find_condition(work.status.conditions, REFLECTED_CONDITION) if work is not None else None
    return reflected.last_transition_time if reflected is not None else None


@pytest.mark.parametrize("seed", [9, 19])
def test_a_copy_is_looked_at_anew_by_an_agent_that_was_cut_off(seed: int) -> None:
    """The agent may write that its member is Ready before its watch tells it that others had written otherwise."""

    async def story(world: World) -> None:
        await apply(
            world.client, deployment("web", 2), policy("web", {"clusterAffinity": {"clusterNames": ["member3"]}})
        )
        await world.sleep(60)
        way = world.link(agent_of("member3"), world.NAME)
        way.cut()
        await world.until(lambda: not world.is_ready("member3"), NOT_SEEN_SECONDS)
        await without_room(world, "member3")
        await world.sleep(29)
        way.mend()
        await world.until(lambda: world.is_ready("member3"))
        await world.sleep(60)
        ready, seen = world.cluster("member3").ready, seen_at(world)
        assert ready is not None
        assert ready.last_transition_time is not None
        assert seen is not None
        assert seen >= ready.last_transition_time

    play(story, seed=seed)


def unserved(request: Request) -> Response | None:
    """The member does not serve workloads yet."""
    if "/apis/apps" not in request.path:
        return None
    return Response(404, b"404 page not found", {"content-type": "text/plain"})


@pytest.mark.parametrize("mode", ["Push", "Pull"])
def test_l1_a_copy_is_looked_at_once_more_in_a_cluster_that_serves_its_kind_after_it_is_ready(mode: Mode) -> None:
    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 2), policy("web", on("member1")))
        await world.sleep(60)
        member = world.member("member1")
        await member.stop_apiserver()
        await world.until(lambda: not world.is_ready("member1"), NOT_SEEN_SECONDS)
        await member.start_apiserver()
        answers(member.place, unserved)
        await world.until(lambda: world.is_ready("member1"), NOT_SEEN_SECONDS)
        await world.sleep(20)
        work = world.work("member1", WEB)
        assert work is not None
        assert [status.health for status in work.status.manifest_statuses] == ["Healthy"], "as it was seen last"
        assert not availability(work, world.cluster("member1"), 2).is_whole
        answers(member.place, lambda _: None)
        await world.sleep(60)
        work = world.work("member1", WEB)
        assert availability(work, world.cluster("member1"), 2).is_whole

    play(story, {"member1": mode})
