"""Statuses of one object within a while, which are one write."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import msgspec
import pytest

from controller_runtime.informer import Informer
from controller_runtime.informers import Informers
from controller_runtime.statuses import (
    BURST_SECONDS,
    BURST_SIZE,
    NEWS_SECONDS,
    PROGRESS_SECONDS,
    StatusChange,
    Statuses,
    StatusWriters,
)
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeapi.transport import Request, Response
from kubeclient import Client, Unreachable, WorldError
from leeward.api.meta import Condition
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.schema import custom_resource_definitions
from leeward.api.work import Work, WorkStatus
from tests.kubeserver.api_world import ApiWorld, tell

NOW = datetime(2026, 1, 1, tzinfo=UTC)
MANIFEST: Manifest = {"metadata": {"name": "web"}, "spec": {"workload": {"manifests": []}}}


DEPLOYMENTS = Resource.of_manifests("apps/v1", "deployments", "Deployment", True)
POD: Manifest = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web"}]}}
DEPLOYMENT: Manifest = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": POD},
}


class Counting:
    """A transport that counts the writes that pass it, each of which takes `seconds`, or lets none pass."""

    def __init__(self, world: ApiWorld) -> None:
        self._inner = world.transport
        self.stream = world.transport.stream
        self.close = world.transport.close
        self.writes = 0
        self.bodies: list[Manifest] = []
        self.seconds = 0.0
        self.refuses = False

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        if request.method != "GET":
            self.writes += 1
            self.bodies.append(json.loads(request.body))
        if self.refuses:
            raise Unreachable("the cable is cut")
        await asyncio.sleep(self.seconds)
        return await self._inner.send(request, timeout_seconds=timeout_seconds)


class Desk:
    """Desk at which writers post what they have to say of the Work `web`."""

    def __init__(
        self, client: Client, transport: Counting, informer: Informer[Work], supervisor: Supervisor, burst: int
    ) -> None:
        self.statuses = Statuses(client, WORKS, informer, supervisor, burst)
        self.transport = transport
        self.failures: list[WorldError] = []
        self.written: list[tuple[Work, Work]] = []
        self._informers, self._supervisor = Informers(client, Randomness(2), supervisor), supervisor
        self.writers = StatusWriters(client, self._informers, supervisor)
        self._client = client
        self._informer = informer

    @property
    def work(self) -> Work:
        work = self._informer.get("web", "default")
        assert work is not None
        return work

    def writers_of(self, processes: int) -> StatusWriters:
        return StatusWriters(self._client, self._informers, self._supervisor, processes)

    async def other(self, name: str) -> Work:
        """Another Work beside `web`, without a status."""
        work = await self._client.create(WORKS, {**MANIFEST, "metadata": {"name": name}}, "default")
        self._informer.remember(work)
        self.transport.writes = 0
        return work

    async def deployment(self) -> Manifest:
        """A template, of a kind that is not ours, which says nothing of its status."""
        made = await self._client.create(DEPLOYMENTS, DEPLOYMENT, "default")
        return {key: value for key, value in made.items() if key != "status"}

    def post(
        self,
        writer: str,
        *conditions: str,
        within: float = NEWS_SECONDS,
        work: Work | None = None,
        statuses: Statuses[Work] | None = None,
        is_paced: bool | None = None,
        left_for: float = 0.0,
    ) -> None:
        said = StatusChange[Work](
            says(*conditions), self.failures.append, lambda old, new: self.written.append((old, new))
        )
        how = {} if is_paced is None else {"is_paced": is_paced}
        (statuses or self.statuses).post(work or self.work, writer, said, within=within, left_for=left_for, **how)


def says(*types: str) -> Callable[[WorkStatus], WorkStatus]:
    def change(status: WorkStatus) -> WorkStatus:
        present = {condition.type for condition in status.conditions}
        added = tuple(Condition(t, "True", "Told", "", NOW) for t in types if t not in present)
        return msgspec.structs.replace(status, conditions=(*status.conditions, *added))

    return change


def play(story: Callable[[Desk], Awaitable[None]], *, burst: int = 0) -> None:
    """`burst` 0: it is always a burst."""

    async def run(world: ApiWorld) -> None:
        transport = Counting(world)
        client = Client(transport)
        async with Supervisor("works") as supervisor:
            informer = Informer(client, WORKS, Randomness(1))
            supervisor.start(informer.run(), "works")
            informer.remember(await client.create(WORKS, MANIFEST, "default"))
            await informer.wait_synced()
            transport.writes = 0
            await story(Desk(client, transport, informer, supervisor, burst))

    tell(run, crds=custom_resource_definitions())


def conditions(work: Work) -> list[str]:
    return [condition.type for condition in work.status.conditions]


def test_two_writers_that_speak_of_one_object_at_once_write_once_and_both_are_heard() -> None:
    async def story(desk: Desk) -> None:
        desk.post("execution", "Applied")
        desk.post("status", "Reflected")
        await asyncio.sleep(2 * NEWS_SECONDS)
        assert conditions(desk.work) == ["Applied", "Reflected"]
        assert desk.transport.writes == 1

    play(story)


def test_progress_waits_for_news_which_takes_it_along() -> None:
    async def story(desk: Desk) -> None:
        desk.post("execution", "Applied", within=PROGRESS_SECONDS)
        await asyncio.sleep(PROGRESS_SECONDS / 2)
        assert conditions(desk.work) == []
        desk.post("status", "Reflected")
        await asyncio.sleep(2 * NEWS_SECONDS)
        assert conditions(desk.work) == ["Applied", "Reflected"]
        await asyncio.sleep(PROGRESS_SECONDS)
        assert desk.transport.writes == 1

    play(story)


def test_where_there_is_no_burst_nothing_waits_longer_than_news() -> None:
    async def story(desk: Desk) -> None:
        desk.post("execution", "Applied", within=PROGRESS_SECONDS)
        await asyncio.sleep(2 * NEWS_SECONDS)
        assert conditions(desk.work) == ["Applied"]

    play(story, burst=BURST_SIZE)


def test_a_burst_that_is_expected_is_one_before_the_first_is_written() -> None:
    async def story(desk: Desk) -> None:
        desk.statuses.expect_burst()
        desk.post("status", "Progressing", within=PROGRESS_SECONDS)
        await asyncio.sleep(PROGRESS_SECONDS - 0.1)
        assert desk.transport.writes == 0
        await asyncio.sleep(0.2)
        assert desk.transport.writes == 1

    play(story, burst=BURST_SIZE)


def test_the_first_of_a_burst_wait_as_the_others_do() -> None:
    """Each of them would cost a write more, wave by wave."""

    async def story(desk: Desk) -> None:
        works = [await desk.other(f"app-{index}") for index in range(2 * BURST_SIZE)]
        for work in works:
            desk.post("status", "Progressing", within=PROGRESS_SECONDS, work=work)
        await asyncio.sleep(PROGRESS_SECONDS - 0.1)
        assert desk.transport.writes == 0
        for work in works:
            desk.post("status", "Healthy", work=work)
        await asyncio.sleep(10)
        assert desk.transport.writes == len(works)

    play(story, burst=BURST_SIZE)


def test_a_burst_is_one_for_as_long_as_it_waits_and_a_moment_longer() -> None:
    async def story(desk: Desk) -> None:
        desk.statuses.expect_burst()
        for name in ("api", "db"):
            desk.post("execution", "Applied", within=4 * BURST_SECONDS, work=await desk.other(name))
        await asyncio.sleep(2 * BURST_SECONDS)
        desk.post("status", "Progressing", within=PROGRESS_SECONDS)
        await asyncio.sleep(PROGRESS_SECONDS - 0.1)
        assert desk.transport.writes == 0
        await asyncio.sleep(2 * BURST_SECONDS)
        assert desk.transport.writes == 3
        await asyncio.sleep(BURST_SECONDS)
        desk.post("status", "Reflected", within=PROGRESS_SECONDS)
        await asyncio.sleep(2 * NEWS_SECONDS)
        assert desk.transport.writes == 4, "one alone is none"

    play(story, burst=2)


def told_one_after_another(*, is_paced: bool | None) -> int:
    """Writes at once of what is progress, after two others were told and written, where two make a burst."""
    writes: list[int] = []

    async def story(desk: Desk) -> None:
        for name in ("api", "db"):
            desk.post("status", "Progressing", within=PROGRESS_SECONDS, work=await desk.other(name), is_paced=is_paced)
            await asyncio.sleep(2 * NEWS_SECONDS)
        desk.transport.writes = 0
        desk.post("status", "Progressing", within=PROGRESS_SECONDS)
        await asyncio.sleep(2 * NEWS_SECONDS)
        writes.append(desk.transport.writes)

    play(story, burst=2)
    return writes[0]


def test_those_who_were_written_are_of_a_burst_unless_their_writer_spreads_what_it_says() -> None:
    assert [told_one_after_another(is_paced=how) for how in (None, False, True)] == [0, 0, 1]


def test_what_is_said_in_a_burst_waits_though_that_ends() -> None:
    async def story(desk: Desk) -> None:
        desk.statuses.expect_burst()
        await asyncio.sleep(BURST_SECONDS - NEWS_SECONDS / 2)
        desk.post("status", "Progressing", within=PROGRESS_SECONDS)
        await asyncio.sleep(PROGRESS_SECONDS - 0.1)
        assert desk.transport.writes == 0
        await asyncio.sleep(0.2)
        assert desk.transport.writes == 1

    play(story, burst=BURST_SIZE)


@pytest.mark.parametrize("is_written", [False, True])
def test_what_is_left_to_another_process_is_written_where_that_does_not(is_written: bool) -> None:
    async def story(desk: Desk) -> None:
        desk.post("status", "Progressing", left_for=15.0)
        await asyncio.sleep(15.0)
        assert desk.transport.writes == 0
        assert [each.type for each in desk.statuses.expected(desk.work).status.conditions] == ["Progressing"]
        if is_written:
            desk.post("another", "Progressing")
        await asyncio.sleep(0.2)
        assert desk.transport.writes == 1

    play(story, burst=BURST_SIZE)


def test_news_does_not_wait_for_what_is_left_to_another_process() -> None:
    async def story(desk: Desk) -> None:
        desk.post("status", "Progressing", left_for=15.0)
        desk.post("execution", "Applied")
        await asyncio.sleep(0.2)
        assert desk.transport.writes == 1
        await asyncio.sleep(20)
        assert desk.transport.writes == 1

    play(story, burst=BURST_SIZE)


def test_a_part_of_a_burst_is_one_where_processes_divide_the_objects() -> None:
    async def story(desk: Desk) -> None:
        for processes, namespace, is_burst in ((2, "", True), (2, "default", False), (1, "", False)):
            statuses = desk.writers_of(processes).of(WORKS, namespace)
            for number in range(BURST_SIZE // 2):
                work = await desk.other(f"{processes}-{namespace}-{number}")
                desk.post("execution", "Applied", within=60, work=work, statuses=statuses)
            assert statuses.is_burst is is_burst, (processes, namespace)

    play(story, burst=BURST_SIZE)


def test_as_many_as_make_a_burst_are_one_while_they_wait() -> None:
    async def story(desk: Desk) -> None:
        desk.statuses.expect_burst()
        there: list[bool] = []
        for name in ("api", "db"):
            work = await desk.other(name)
            desk.post("execution", "Applied", within=4 * BURST_SECONDS, work=work, is_paced=True)
            await asyncio.sleep(BURST_SECONDS + 1 if there else 0)
            there.append(desk.statuses.is_burst)
        assert there == [True, True]

    play(story, burst=2)


def test_a_status_is_written_to_the_version_that_was_seen_and_its_task_says_whose_it_is() -> None:
    async def story(desk: Desk) -> None:
        version = desk.work.metadata.resource_version
        desk.post("execution", "Applied")
        assert "status of Work default/web" in {task.get_name() for task in asyncio.all_tasks()}
        await asyncio.sleep(2 * NEWS_SECONDS)
        body = desk.transport.bodies[-1]
        assert body["metadata"] == {"resourceVersion": version}
        assert [each["type"] for each in body["status"]["conditions"]] == ["Applied"]

    play(story)


def test_an_object_is_written_once_at_a_time_and_nothing_is_refused() -> None:
    async def story(desk: Desk) -> None:
        desk.transport.seconds = 1.0
        desk.post("execution", "Applied")
        await asyncio.sleep(2 * NEWS_SECONDS)
        desk.post("status", "Reflected")
        assert conditions(desk.statuses.expected(desk.work)) == ["Applied", "Reflected"]
        await asyncio.sleep(3 * desk.transport.seconds)
        assert [(conditions(old), conditions(new)) for old, new in desk.written] == [
            ([], ["Applied"]),
            (["Applied"], ["Applied", "Reflected"]),
        ]
        assert (desk.transport.writes, desk.failures) == (2, [])

    play(story)


def test_what_is_being_written_is_not_written_again() -> None:
    async def story(desk: Desk) -> None:
        desk.transport.seconds = 1.0
        desk.post("execution", "Applied")
        await asyncio.sleep(2 * NEWS_SECONDS)
        desk.post("execution", "Applied")
        await asyncio.sleep(3 * desk.transport.seconds)
        assert desk.transport.writes == 1

    play(story)


def test_progress_that_nothing_comes_of_is_written_in_the_end() -> None:
    async def story(desk: Desk) -> None:
        desk.post("execution", "Applied", within=PROGRESS_SECONDS)
        await asyncio.sleep(PROGRESS_SECONDS + NEWS_SECONDS)
        assert conditions(desk.work) == ["Applied"]

    play(story)


def test_what_a_writer_says_next_replaces_what_it_said() -> None:
    async def story(desk: Desk) -> None:
        desk.post("status", "NotYet", within=PROGRESS_SECONDS)
        desk.post("status", "Reflected")
        await asyncio.sleep(2 * NEWS_SECONDS)
        assert conditions(desk.work) == ["Reflected"]
        assert [(conditions(old), conditions(new)) for old, new in desk.written] == [([], ["Reflected"])]

    play(story)


def test_what_is_going_to_be_written_can_be_seen_before() -> None:
    async def story(desk: Desk) -> None:
        desk.post("execution", "Applied")
        assert conditions(desk.work) == []
        assert conditions(desk.statuses.expected(desk.work)) == ["Applied"]
        await asyncio.sleep(2 * NEWS_SECONDS)
        assert desk.statuses.expected(desk.work) == desk.work

    play(story)


def test_what_is_expected_is_made_up_once_between_two_words() -> None:
    async def story(desk: Desk) -> None:
        made = list[str]()

        def counted(status: WorkStatus) -> WorkStatus:
            made.append("once")
            return says("Applied")(status)

        desk.statuses.post(
            desk.work, "execution", StatusChange[Work](counted, desk.failures.append), within=PROGRESS_SECONDS
        )
        seen = [desk.statuses.expected(desk.work) for _ in range(5)]
        assert conditions(seen[-1]) == ["Applied"]
        assert made == ["once"]
        desk.post("status", "Reflected", within=PROGRESS_SECONDS)
        assert conditions(desk.statuses.expected(desk.work)) == ["Applied", "Reflected"]

    play(story, burst=1)


def test_what_one_writer_has_said_is_made_up_once_until_it_is_written() -> None:
    async def story(desk: Desk) -> None:
        made = list[str]()

        def counted(status: WorkStatus) -> WorkStatus:
            made.append("once")
            return says("Applied")(status)

        desk.statuses.post(
            desk.work, "execution", StatusChange[Work](counted, desk.failures.append), within=NEWS_SECONDS
        )
        await asyncio.sleep(2 * NEWS_SECONDS)
        assert conditions(desk.work) == ["Applied"]
        assert made == ["once"]

    play(story)


def test_what_is_there_already_is_not_written() -> None:
    async def story(desk: Desk) -> None:
        desk.post("execution", "Applied")
        await asyncio.sleep(2 * NEWS_SECONDS)
        desk.post("execution", "Applied")
        await asyncio.sleep(2 * NEWS_SECONDS)
        assert desk.transport.writes == 1

    play(story)


def test_a_change_is_made_to_what_is_there_when_it_is_written_and_not_to_what_was_seen() -> None:
    async def story(desk: Desk) -> None:
        seen = desk.work
        desk.post("execution", "Applied")
        await asyncio.sleep(2 * NEWS_SECONDS)
        desk.post("status", "Reflected", work=seen)
        await asyncio.sleep(2 * NEWS_SECONDS)
        assert conditions(desk.work) == ["Applied", "Reflected"]

    play(story)


def test_every_writer_learns_that_a_write_was_refused() -> None:
    async def story(desk: Desk) -> None:
        desk.transport.refuses = True
        desk.post("execution", "Applied")
        desk.post("status", "Reflected")
        await asyncio.sleep(2 * NEWS_SECONDS)
        assert [type(error) for error in desk.failures] == [Unreachable, Unreachable]

    play(story)


def test_an_object_that_was_replaced_by_another_of_its_name_has_no_status_to_write() -> None:
    async def story(desk: Desk) -> None:
        metadata = msgspec.structs.replace(desk.work.metadata, uid="another")
        desk.post("execution", "Applied", work=msgspec.structs.replace(desk.work, metadata=metadata))
        await asyncio.sleep(2 * NEWS_SECONDS)
        assert desk.transport.writes == 0

    play(story)


def test_a_status_of_a_kind_that_is_not_ours_is_written_as_well() -> None:
    async def story(desk: Desk) -> None:
        template = await desk.deployment()
        statuses, seen = desk.writers.of(DEPLOYMENTS), list[Manifest]()

        def change(status: Manifest) -> Manifest:
            seen.append(status)
            return {**status, "replicas": 3}

        await asyncio.sleep(1)
        statuses.post(template, "binding", StatusChange[Manifest](change, desk.failures.append), within=NEWS_SECONDS)
        expected = statuses.expected(template)
        assert (expected["status"], expected["spec"]) == ({"replicas": 3}, template["spec"])
        await asyncio.sleep(2 * NEWS_SECONDS)
        assert seen == [{}, {}], "of what was posted, and of what is there"
        assert desk.transport.bodies[-1]["status"] == {"replicas": 3}
        assert desk.failures == []

    play(story, burst=BURST_SIZE)


def test_there_is_one_writer_for_each_kind_and_namespace() -> None:
    async def story(desk: Desk) -> None:
        everywhere, here, elsewhere = (desk.writers.of(WORKS, *where) for where in ((), ("default",), ("other",)))
        clusters = desk.writers.of(CLUSTERS)
        assert len({id(each) for each in (everywhere, here, elsewhere, clusters)}) == 4
        assert desk.writers.of(WORKS) is everywhere
        await asyncio.sleep(1)
        for statuses, written in ((elsewhere, []), (here, ["Applied"])):
            desk.post("execution", "Applied", statuses=statuses)
            await asyncio.sleep(2 * NEWS_SECONDS)
            assert conditions(desk.work) == written
        desk.post("execution", "Reflected", statuses=everywhere)
        await asyncio.sleep(2 * NEWS_SECONDS)
        assert conditions(desk.work) == ["Applied", "Reflected"]
        desk.writers.expect_burst()
        assert everywhere.is_burst
        assert here.is_burst

    play(story, burst=BURST_SIZE)
