"""What is said of one Work within a moment is one write."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import msgspec

from leeward.api.meta import Condition, Manifest
from leeward.api.resource import WORKS
from leeward.api.schema import custom_resource_definitions
from leeward.api.work import Work, WorkStatus
from leeward.client import Client, Unreachable
from leeward.client.transport import Request, Response
from leeward.loop.randomness import Randomness
from leeward.loop.supervisor import Supervisor
from leeward.runtime.informer import Informer
from leeward.runtime.work_statuses import WorkStatuses
from tests.api_world import ApiWorld, tell

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MANIFEST: Manifest = {"metadata": {"name": "web"}, "spec": {"workload": {"manifests": []}}}


class Counting:
    """A transport that counts the writes that pass it, or lets none pass."""

    def __init__(self, world: ApiWorld) -> None:
        self._inner = world.transport
        self.stream = world.transport.stream
        self.close = world.transport.close
        self.writes = 0
        self.refuses = False

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        self.writes += request.method != "GET"
        if self.refuses:
            raise Unreachable("the cable is cut")
        return await self._inner.send(request, timeout_seconds=timeout_seconds)


def says(condition: str) -> Callable[[WorkStatus], WorkStatus]:
    def change(status: WorkStatus) -> WorkStatus:
        if any(present.type == condition for present in status.conditions):
            return status
        added = Condition(type=condition, status="True", reason="Told", message="", last_transition_time=NOW)
        return msgspec.structs.replace(status, conditions=(*status.conditions, added))

    return change


def play(story: Callable[[WorkStatuses, Work, Informer[Work], Counting], Awaitable[None]]) -> None:
    async def run(world: ApiWorld) -> None:
        transport = Counting(world)
        client = Client(transport)
        async with Supervisor("works") as supervisor:
            informer = Informer(client, WORKS, Randomness(1))
            supervisor.start(informer.run(), "works")
            work = await client.create(WORKS, MANIFEST, "default")
            await informer.wait_synced()
            informer.remember(work)
            transport.writes = 0
            await story(WorkStatuses(client, informer, supervisor), work, informer, transport)

    tell(run, crds=custom_resource_definitions())


def conditions(informer: Informer[Work]) -> list[str]:
    work = informer.get("web", "default")
    assert work is not None
    return [condition.type for condition in work.status.conditions]


def test_two_controllers_that_speak_of_one_work_at_once_write_once_and_both_are_heard() -> None:
    async def story(statuses: WorkStatuses, work: Work, informer: Informer[Work], transport: Counting) -> None:
        await asyncio.gather(statuses.change(work, says("Applied")), statuses.change(work, says("Reflected")))
        assert conditions(informer) == ["Applied", "Reflected"]
        assert transport.writes == 1

    play(story)


def test_what_is_there_already_is_not_written() -> None:
    async def story(statuses: WorkStatuses, work: Work, informer: Informer[Work], transport: Counting) -> None:
        await statuses.change(work, says("Applied"))
        applied = informer.get("web", "default")
        assert applied is not None
        await statuses.change(applied, says("Applied"))
        assert transport.writes == 1

    play(story)


def test_a_change_is_made_to_what_is_there_when_it_is_written_and_not_to_what_was_seen() -> None:
    async def story(statuses: WorkStatuses, work: Work, informer: Informer[Work], transport: Counting) -> None:
        await statuses.change(work, says("Applied"))
        await statuses.change(work, says("Reflected"))
        assert conditions(informer) == ["Applied", "Reflected"]

    play(story)


def test_everybody_who_waited_learns_that_a_write_was_refused() -> None:
    async def story(statuses: WorkStatuses, work: Work, informer: Informer[Work], transport: Counting) -> None:
        transport.refuses = True
        told = await asyncio.gather(
            statuses.change(work, says("Applied")), statuses.change(work, says("Reflected")), return_exceptions=True
        )
        assert [type(error) for error in told] == [Unreachable, Unreachable]

    play(story)


def test_a_work_that_is_gone_has_no_status_to_write() -> None:
    async def story(statuses: WorkStatuses, work: Work, informer: Informer[Work], transport: Counting) -> None:
        other = msgspec.structs.replace(work, metadata=msgspec.structs.replace(work.metadata, uid="another"))
        await statuses.change(other, says("Applied"))
        assert transport.writes == 0

    play(story)
