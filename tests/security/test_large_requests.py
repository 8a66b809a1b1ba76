"""Large requests by the hundred: they take turns, so that others wait for one of them at the most.

    has            the right to write and list objects of one namespace
    does           sends hundreds of large bodies at once, or asks for hundreds of large lists, in any form
    must not get   a round of the loop that is as long as all of them together, or memory for all of them at once

On real processes, 100 connections with bodies of 200,000 brackets kept others waiting for 8 to 14 s, and 200 lists of
90 MB for 8 s. Holds: L4.
"""

import asyncio
from collections import Counter
from unittest import mock

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeapi.transport import Response
from kubeclient import Request
from kubeserver.handler import User
from kubeserver.handlers.fairness import Fairness
from kubeserver.handlers.presenting import Presenter
from kubeserver.handlers.reading import LARGE_LIST_BYTES
from kubeserver.negotiation import JSON, PROTOBUF, YAML
from kubeserver.registry.large_objects import LARGE_BYTES, pause
from kubeserver.registry.reading import Page
from tests.kubeserver.api_world import CONFIG_MAPS, ApiWorld, config_map, tell

MANY = 100
LARGE = b"x" * (LARGE_BYTES + 1)
OBJECT_BYTES = 900_000


class Rounds:
    """Number of the round of the loop, as long as it is counted."""

    def __init__(self) -> None:
        self.number = 0

    async def count(self) -> None:
        while True:
            self.number += 1
            await asyncio.sleep(0)


def test_l4_of_many_large_steps_one_is_made_in_a_round() -> None:
    async def story() -> None:
        rounds, steps = Rounds(), Counter[int]()
        counting = asyncio.create_task(rounds.count())

        async def work() -> None:
            for _ in range(3):
                await pause(len(LARGE))
                steps[rounds.number] += 1

        await asyncio.gather(*(work() for _ in range(MANY)))
        counting.cancel()
        assert (sum(steps.values()), max(steps.values())) == (3 * MANY, 1)

    run_virtual(story())


def test_a_large_step_that_is_given_up_holds_up_no_other() -> None:
    async def story() -> None:
        waiting = [asyncio.create_task(pause(len(LARGE))) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[1].cancel()
        done = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(each) for each in done] == [type(None), asyncio.CancelledError, type(None)]

    run_virtual(story())


class Slow:
    """A `Handler` that goes through a body for a while; `most` large ones at the same time."""

    def __init__(self) -> None:
        self.within = self.most = 0
        self.done = list[str]()

    async def handle(self, request: Request, user: User) -> Response:
        self.within += 1
        self.most = max(self.most, self.within)
        for _ in range(5):
            await pause(len(request.body))
        self.within -= 1
        self.done.append(user.name)
        return Response(200, b"")


def test_l4_a_flood_of_large_writes_leaves_the_turn_to_others() -> None:
    async def story() -> None:
        slow = Slow()
        fair = Fairness(slow)

        async def write(name: str, body: bytes) -> None:
            await fair.handle(Request("POST", CONFIG_MAPS, body=body), User(name, ()))

        flood = [asyncio.create_task(write("flood", LARGE)) for _ in range(MANY)]
        await asyncio.sleep(0)
        await write("small", b"{}")
        assert slow.done == ["small"]
        await write("large", LARGE)
        assert slow.done.count("flood") < MANY / 2, "users take turns"
        await asyncio.gather(*flood)
        assert slow.most <= 16

    run_virtual(story())


def test_l4_two_large_lists_are_made_at_a_time() -> None:
    within = Counter[str]()

    async def story(world: ApiWorld) -> None:
        count = LARGE_LIST_BYTES // OBJECT_BYTES + 1
        for number in range(count):
            await world.create(CONFIG_MAPS, config_map(f"a{number}", text="x" * OBJECT_BYTES))
        make = Presenter.page

        async def counted(presenter: Presenter, page: Page) -> Response:
            within["now"] += 1
            within["most"] = max(within["most"], within["now"])
            try:
                return await make(presenter, page)
            finally:
                within["now"] -= 1

        with mock.patch.object(Presenter, "page", counted):
            answers = await asyncio.gather(*(world.get(CONFIG_MAPS) for _ in range(6)))
        assert {(each.code, len(each.body["items"])) for each in answers} == {(200, count)}
        assert within["most"] == 2

    tell(story)


@pytest.mark.parametrize("accept", [YAML, PROTOBUF])
@pytest.mark.parametrize("path", [CONFIG_MAPS, f"{CONFIG_MAPS}/a"], ids=["list", "object"])
def test_l4_a_large_answer_is_in_json_whatever_was_asked_for(path: str, accept: str) -> None:
    """Twenty megabytes of YAML or protobuf kept others waiting for 13 to 20 s on real processes."""

    async def story(world: ApiWorld) -> None:
        async def form(text: str) -> tuple[int, str]:
            await world.update(f"{CONFIG_MAPS}/a", config_map("a", text=text))
            answer = await world.call("GET", path, accept=accept)
            return answer.code, answer.headers["content-type"]

        await world.create(CONFIG_MAPS, config_map("a"))
        assert await form("x" * OBJECT_BYTES) == (200, JSON)
        assert await form("x") == (200, accept)

    tell(story)
