"""Storage that begins as kube-apiserver's: the objects of a new definition are put off for a while, for tests."""

import asyncio
import re
from collections.abc import Awaitable, Callable

import pytest

from kubeapi.errors import TooManyRequests
from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.virtual import run_virtual
from kubeapi.transport import Request, Response
from kubeserver.handlers.initializing import MESSAGE, InitializingStorage
from kubeserver.inprocess import ADMIN, InProcessTransport
from tests.kubeserver.api_world import CONFIG_MAPS, DEFINITIONS, WIDGETS, ApiWorld, api_world

SECONDS = 5.0
WIDGET = f"{DEFINITIONS}/widgets.example.com"
Ask = Callable[[str, str], Awaitable[Response]]


def tell(story: Callable[[ApiWorld, Ask, InProcessTransport], Awaitable[None]]) -> None:
    async def play() -> None:
        async with api_world(crds=[definition()]) as world:
            beginning = InitializingStorage(world.server, world.server, VirtualClock(), SECONDS)

            async def ask(method: str, path: str) -> Response:
                answer = await beginning.handle(Request(method, path, body=b"{}"), ADMIN)
                assert isinstance(answer, Response)
                return answer

            await story(world, ask, InProcessTransport(beginning))

    run_virtual(play())


def definition() -> dict[str, object]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", [WIDGETS, f"{WIDGETS}/a"])
def test_whatever_is_asked_of_its_objects_is_put_off_from_the_first_request_on(method: str, path: str) -> None:
    async def story(world: ApiWorld, ask: Ask, _: InProcessTransport) -> None:
        await asyncio.sleep(1000)
        for _again in range(2):
            answer = await ask(method, path)
            assert (answer.code, answer.headers["retry-after"]) == (429, "1")
            assert MESSAGE in answer.body.decode()
            await asyncio.sleep(SECONDS / 2)
        assert (await ask(method, path)).code != 429

    tell(story)


def test_what_is_built_in_and_the_definition_itself_are_answered() -> None:
    async def story(world: ApiWorld, ask: Ask, _: InProcessTransport) -> None:
        assert (await ask("GET", WIDGETS)).code == 429
        for path in (CONFIG_MAPS, DEFINITIONS, WIDGET, "/apis/example.com/v1", "/readyz"):
            assert (await ask("GET", path)).code == 200

    tell(story)


def test_a_definition_that_changes_begins_anew_and_one_whose_status_is_written_does_not() -> None:
    async def story(world: ApiWorld, ask: Ask, _: InProcessTransport) -> None:
        await ask("GET", WIDGETS)
        await asyncio.sleep(SECONDS)
        await world.patch(WIDGET, {"metadata": {"labels": {"a": "b"}}})
        assert (await ask("GET", WIDGETS)).code == 200
        await world.patch(WIDGET, {"spec": {"names": {"shortNames": ["w"]}}})
        assert (await ask("GET", WIDGETS)).code == 429

    tell(story)


def test_a_watch_is_put_off_too() -> None:
    async def story(world: ApiWorld, _: Ask, transport: InProcessTransport) -> None:
        watching = Request("GET", WIDGETS, {"watch": "true", "timeoutSeconds": "1"})
        with pytest.raises(TooManyRequests, match=re.escape(MESSAGE)) as caught:
            async with transport.stream(watching):
                pass
        assert caught.value.retry_after_seconds == 1
        await asyncio.sleep(SECONDS)
        async with transport.stream(watching) as lines:
            assert [line async for line in lines] == []

    tell(story)
