"""Requests of a new copy to its member: one, by both controllers on the member's side together."""

import asyncio
from collections.abc import Awaitable, Callable

from controller_runtime.statuses import NEWS_SECONDS
from kubeapi.meta import parse_time
from leeward.api.meta import find_condition
from leeward.api.names import REFLECTED_CONDITION
from leeward.api.resource import WORKS
from leeward.api.work import Work
from leeward.controllers.execution import ExecutionController
from leeward.controllers.work_status import WorkStatusController
from leeward.core.execution.ownership import stamp
from leeward.runtime.member_works import MemberWorks
from tests.unit.controllers.desk import CONFIG_MAPS, SPACE, Desk, play
from tests.unit.controllers.member_hands import PATH, colors

A_MOMENT = 10.0


def started(story: Callable[[Desk], Awaitable[None]]) -> None:
    """Plays the story with both controllers at work, and the member's ConfigMaps followed."""

    async def prepared(desk: Desk) -> None:
        await desk.cluster()
        works = MemberWorks(desk.plane, desk.member)
        ExecutionController(desk.plane, desk.member, works).start()
        WorkStatusController(desk.plane, desk.member, works).start()
        await works.get("web")
        await desk.member.server.discovery.resource("v1", "ConfigMap")
        await desk.member.server.informers.of(CONFIG_MAPS).wait_synced()
        desk.line.sent.clear()
        await story(desk)

    play(prepared)


async def made(desk: Desk) -> Work:
    """A Work, when what it has made has been reported."""
    await desk.work(workload={"manifests": [stamp(colors(), SPACE, "web")]})
    await asyncio.sleep(A_MOMENT)
    work = await desk.seen()
    reflected = find_condition(work.status.conditions, REFLECTED_CONDITION)
    assert reflected is not None
    assert reflected.status == "True"
    return work


def test_a_new_copy_is_one_request_to_its_member() -> None:
    async def story(desk: Desk) -> None:
        await made(desk)
        assert [(sent.method, sent.path) for sent in desk.line.sent] == [("POST", PATH)]

    started(story)


def test_other_contents_are_one_request_to_the_member() -> None:
    async def story(desk: Desk) -> None:
        await made(desk)
        desk.line.sent.clear()
        patch = {"spec": {"workload": {"manifests": [stamp(colors("blue"), SPACE, "web")]}}}
        await desk.client.patch(WORKS, "web", patch, SPACE)
        await asyncio.sleep(A_MOMENT)
        assert [(sent.method, sent.path) for sent in desk.line.sent] == [("PUT", f"{PATH}/colors")]

    started(story)


def test_when_the_cluster_is_back_the_member_itself_is_asked_once_s1() -> None:
    async def story(desk: Desk) -> None:
        await made(desk)
        desk.line.sent.clear()
        await desk.condition(status="False", lastTransitionTime="2025-01-02T00:00:00Z")
        await asyncio.sleep(A_MOMENT)
        assert desk.line.sent == []
        await desk.condition(lastTransitionTime="2100-01-03T00:00:00Z")
        await asyncio.sleep(A_MOMENT)
        assert ("GET", f"{PATH}/colors") in [(sent.method, sent.path) for sent in desk.line.sent]

    started(story)


def test_a_return_is_confirmed_though_more_is_said_before_that_is_written_s1() -> None:
    """Neither a held removal nor an eviction ended by such evidence (seeds 6000 and 6026)."""

    async def story(desk: Desk) -> None:
        await made(desk)
        await desk.condition(status="False", lastTransitionTime="2025-01-02T00:00:00Z")
        await asyncio.sleep(A_MOMENT)
        await desk.condition(lastTransitionTime="2100-01-03T00:00:00Z")
        await asyncio.sleep(NEWS_SECONDS / 2)
        labels = {"metadata": {"labels": {"of": "somebody"}}}
        await desk.member.server.client.patch(CONFIG_MAPS, "colors", labels, "default")
        await asyncio.sleep(A_MOMENT)
        reflected = find_condition((await desk.seen()).status.conditions, REFLECTED_CONDITION)
        assert reflected is not None
        assert reflected.last_transition_time == parse_time("2100-01-03T00:00:00Z")

    started(story)
