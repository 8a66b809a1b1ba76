"""Works of one member: a change is told to those who work for its cluster, however many clusters there are."""

import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any

from kubeapi.core import NAMESPACES
from leeward.api.names import execution_space
from leeward.api.resource import WORKS
from leeward.api.work import Work
from leeward.core.execution.settled import is_carried_out
from leeward.runtime.controller_context import Member
from leeward.runtime.member_works import MemberWorks
from tests.unit.controllers.desk import MEMBER, SPACE, Desk, play

MEMBERS, OTHER = 1000, "member2"
HANDLERS = {"work_changed", "cluster_changed"}


def test_a_change_of_a_work_calls_the_handlers_of_its_own_member_and_no_others() -> None:
    added, called = Counter[str](), Counter[str]()

    async def story(desk: Desk) -> None:
        await desk.cluster()
        await follow(desk, added)
        with counting(called):
            await desk.work()
            await desk.note()
            await desk.client.delete(WORKS, "web", SPACE)
            await desk.plane.client.get(NAMESPACES, "default")

    play(story)
    assert called == {"work_changed": 3 * 2}
    assert added == {MEMBER: 2 * 2}


def test_a_change_of_a_cluster_calls_its_own_handlers_and_no_others() -> None:
    added, called = Counter[str](), Counter[str]()

    async def story(desk: Desk) -> None:
        await desk.cluster()
        await follow(desk, added)
        await desk.work("web")
        await desk.client.create(NAMESPACES, {"metadata": {"name": execution_space(OTHER)}})
        metadata = {"name": "shop", "namespace": execution_space(OTHER)}
        await desk.client.create(WORKS, {"metadata": metadata, "spec": {"workload": {}}}, execution_space(OTHER))
        await desk.plane.client.get(NAMESPACES, "default")
        added.clear()
        with counting(called):
            await desk.condition(lastTransitionTime="2025-02-02T00:00:00Z")
            await desk.plane.client.get(NAMESPACES, "default")

    play(story)
    assert called == {"cluster_changed": 2}
    assert added == {MEMBER: 2}


def test_who_begins_is_told_of_its_own_works_and_no_others() -> None:
    added, called = Counter[str](), Counter[str]()

    async def story(desk: Desk) -> None:
        await desk.cluster()
        for number in range(20):
            await desk.work(f"web-{number}")
        desk.plane.informers.of(WORKS)
        await desk.plane.informers.wait_synced()
        with counting(called):
            await follow(desk, added)

    play(story)
    assert called["work_changed"] == 2 * 20
    assert added == {MEMBER: 2 * 20 + 2 * 20}


@contextmanager
def counting(called: Counter[str]) -> Generator[None]:
    """Counts the calls of the handlers, by their names."""

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name in HANDLERS and "member_works" in frame.f_code.co_filename:
            called[frame.f_code.co_name] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(before)


async def follow(desk: Desk, added: Counter[str]) -> None:
    """Two controllers of each of many members, as in a control plane."""

    def add(name: str, _: str, __: bool) -> None:
        added[name] += 1

    def matters(_: Work | None, __: Work) -> bool:
        return True

    for number in range(1, MEMBERS + 1):
        member = Member(f"member{number}", desk.member.server, desk.member.supervisor)
        works = MemberWorks(desk.plane, member)
        for _ in range(2):
            works.subscribe(partial(add, member.name), matters, is_carried_out)
    await desk.plane.informers.wait_synced()
