"""Questions to one webhook, on the virtual clock: who waits how long, and what is remembered."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kubeapi.codec import decode_manifest, encode, from_wire
from kubeapi.errors import Unreachable
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.transport import Response
from leeward.api.interpreter_config import ResourceInterpreterWebhook
from leeward.core.interpreter.scripts import Operation
from leeward.core.interpreter.webhook_exchange import CONTEXT_KIND, CONTEXT_VERSION, question
from leeward.runtime import webhook_queue
from leeward.runtime.webhook_queue import AT_ONCE, MOST_ANSWERS, NotAnsweredYet, WebhookFailed, WebhookQueue

HOOK = from_wire(
    {"name": "farms", "clientConfig": {"url": "https://farms"}, "interpreterContextVersions": ["v1"]},
    ResourceInterpreterWebhook,
)


class Host:
    """Answers after `seconds` with the generation of the object, or fails; notes what it is asked."""

    def __init__(self, seconds: float = 0, failure: Exception | None = None) -> None:
        self.seconds = seconds
        self.failure = failure
        self.asked: list[str] = []
        self.under_way = self.most = 0

    async def __call__(self, hook: ResourceInterpreterWebhook, body: bytes) -> Response:
        request = decode_manifest(body)["request"]
        self.asked.append(f"{request['name']} {request['object']['metadata']['resourceVersion']}")
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.under_way -= 1
        if self.failure is not None:
            raise self.failure
        response = {"uid": request["uid"], "successful": True, "replicas": len(request["name"])}
        return Response(200, encode({"apiVersion": CONTEXT_VERSION, "kind": CONTEXT_KIND, "response": response}))


class Asking:
    """A queue to a host, and what those heard who asked about an object."""

    def __init__(self, host: Host, supervisor: Supervisor) -> None:
        self._queue = WebhookQueue(HOOK, host, VirtualClock(), supervisor)

    async def __call__(self, name: str, version: int = 1, operation: Operation = Operation.REPLICA) -> str:
        farm: Manifest = {
            "apiVersion": "example.com/v1",
            "kind": "Farm",
            "metadata": {"name": name, "resourceVersion": str(version)},
        }
        try:
            return str((await self._queue.ask(lambda uid: question(uid, operation, farm)))["replicas"])
        except (NotAnsweredYet, WebhookFailed) as error:
            return f"{type(error).__name__}: {error}"


def play(host: Host, story: Callable[[Asking], Awaitable[None]]) -> None:
    async def run() -> None:
        async with Supervisor("webhooks") as supervisor:
            await story(Asking(host, supervisor))

    run_virtual(run())


def seconds() -> float:
    return asyncio.get_running_loop().time()


def test_what_was_asked_is_not_asked_again_until_the_object_or_the_question_is_another() -> None:
    host = Host()

    async def story(ask: Asking) -> None:
        assert [await ask("ann") for _ in range(3)] == ["3"] * 3
        assert await ask("ann", 2) == "3"
        assert await ask("ann", 2, Operation.REVISE_REPLICA) == "3"
        await asyncio.sleep(webhook_queue.ANSWERED_SECONDS)
        assert await ask("ann", 2) == "3"

    play(host, story)
    assert host.asked == ["ann 1", "ann 2", "ann 2", "ann 2"]


def test_the_same_question_is_put_once_for_all_who_ask_it_meanwhile() -> None:
    host = Host(0.1)

    async def story(ask: Asking) -> None:
        assert await asyncio.gather(*(ask("ann") for _ in range(5))) == ["3"] * 5

    play(host, story)
    assert host.asked == ["ann 1"]


def test_few_questions_are_under_way_at_once() -> None:
    host = Host(0.01)

    async def story(ask: Asking) -> None:
        assert await asyncio.gather(*(ask(f"a{number:02}") for number in range(20))) == ["3"] * 20

    play(host, story)
    assert (len(host.asked), host.most) == (20, AT_ONCE)


def test_nobody_waits_for_a_slow_webhook_and_its_answer_is_there_for_who_asks_again() -> None:
    host = Host(5)

    async def story(ask: Asking) -> None:
        started = seconds()
        assert await ask("ann") == "NotAnsweredYet: webhook farms has not answered yet"
        assert seconds() - started == webhook_queue.PATIENCE_SECONDS
        assert await ask("bob") == "NotAnsweredYet: webhook farms has not answered yet"
        assert seconds() - started == webhook_queue.PATIENCE_SECONDS
        await asyncio.sleep(6)
        assert [await ask("ann"), await ask("bob")] == ["3", "3"]
        host.seconds = 0
        assert (await ask("claire")).startswith("NotAnsweredYet")
        await asyncio.sleep(0.1)
        assert [await ask("claire"), await ask("dan")] == ["6", "3"], "it is quick again, and waited for"

    play(host, story)
    assert host.asked == ["ann 1", "bob 1", "claire 1", "dan 1"]


def test_one_that_hangs_is_asked_a_few_questions_and_left_alone_after_its_deadline() -> None:
    host = Host(1_000)

    async def story(ask: Asking) -> None:
        for number in range(20):
            assert (await ask(f"a{number:02}")).startswith("NotAnsweredYet")
        assert seconds() == webhook_queue.PATIENCE_SECONDS
        await asyncio.sleep(10)
        assert await ask("a00") == "WebhookFailed: no answer within 10 s"
        assert await ask("a19") == await ask("new") == "WebhookFailed: it did not answer, and is asked again soon"
        assert len(host.asked) == AT_ONCE
        host.seconds = 0
        await asyncio.sleep(webhook_queue.LEFT_ALONE_SECONDS)
        assert (await ask("new")).startswith("NotAnsweredYet")
        await asyncio.sleep(0.1)
        assert await ask("new") == "3"
        await asyncio.sleep(webhook_queue.FAILED_SECONDS)
        assert await ask("a00") == "3"

    play(host, story)


@pytest.mark.parametrize(
    ("failure", "says"),
    [(Unreachable("refused"), "WebhookFailed: refused"), (ValueError("no port"), "WebhookFailed: no port")],
)
def test_a_failure_is_told_to_who_asks_and_to_who_asks_again(failure: Exception, says: str) -> None:
    host = Host(failure=failure)

    async def story(ask: Asking) -> None:
        assert [await ask("ann"), await ask("ann")] == [says, says]

    play(host, story)
    assert host.asked == ["ann 1"]


def test_what_is_remembered_is_bounded() -> None:
    host = Host()

    async def story(ask: Asking) -> None:
        for number in range(MOST_ANSWERS + 1):
            await ask(f"{number:04}")
        assert len(host.asked) == MOST_ANSWERS + 1
        await ask(f"{MOST_ANSWERS:04}")
        assert len(host.asked) == MOST_ANSWERS + 1
        await ask("0000")
        assert len(host.asked) == MOST_ANSWERS + 2

    play(host, story)


def test_more_questions_than_may_wait_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_queue, "MOST_WAITING", 2)
    host = Host(1_000)

    async def story(ask: Asking) -> None:
        told = [await ask(f"a{number}") for number in range(AT_ONCE + 3)]
        assert told[-1] == "NotAnsweredYet: webhook farms: 2 questions wait already"
        assert told[-2] == "NotAnsweredYet: webhook farms has not answered yet"

    play(host, story)
