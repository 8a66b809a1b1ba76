"""Large writes: a write of an object at its largest goes in steps, and others run between them.

    has            the right to write one object
    does           writes it as large as the API server takes it, patches it, and applies it again
    must not get   one piece of work from the body to the store, or the parents of all fields gone through for nothing

Holds: L4.
"""

import asyncio
from collections.abc import Awaitable, Callable
from unittest import mock

import pytest

from kubeapi.meta import Manifest
from kubeserver.patch.apply import forgetting
from tests.kubeserver.api_world import CONFIG_MAPS, Answer, ApiWorld, config_map, tell
from tests.world.stories import deployment

PATH = "/apis/apps/v1/namespaces/default/deployments"
APPLY, JSON, MERGE = "application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"
LARGE, SMALL = "x" * 100_000, "x"
WRITES: dict[str, Callable[[ApiWorld, str], Awaitable[Answer]]] = {
    "create": lambda world, text: world.create(CONFIG_MAPS, {**config_map("new"), "data": {"a": text}}),
    "update": lambda world, text: world.update(f"{CONFIG_MAPS}/a", {**config_map("a"), "data": {"a": text}}),
    "merge": lambda world, text: world.patch(f"{CONFIG_MAPS}/a", {"data": {"a": text}}, MERGE),
    "json": lambda world, text: world.patch(
        f"{CONFIG_MAPS}/a", [{"op": "add", "path": "/data", "value": {"a": text}}], JSON
    ),
    "apply": lambda world, text: world.patch(
        f"{CONFIG_MAPS}/a", {**config_map("a"), "data": {"a": text}}, APPLY, fieldManager="m"
    ),
}
STEPS = 3
"""Times that others run, at the least: once the body is read, once it is defaulted, and once it is checked."""


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_l4_others_run_between_the_steps_of_a_large_write(write: Callable[[ApiWorld, str], Awaitable[Answer]]) -> None:
    async def turns_of(world: ApiWorld, text: str) -> int:
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        beside = asyncio.create_task(others())
        written = await write(world, text)
        beside.cancel()
        assert written.code in (200, 201)
        return turns

    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, config_map("a"))
        few = await turns_of(world, SMALL)
        await world.delete(f"{CONFIG_MAPS}/new")
        assert await turns_of(world, LARGE) >= few + STEPS

    tell(story)


def test_large_writes_of_one_object_at_once_lose_nothing() -> None:
    """The second one is made on what the first has stored."""

    async def story(world: ApiWorld) -> None:
        await world.create(CONFIG_MAPS, {**config_map("a"), "data": {"a": LARGE}})
        texts = {f"k{number}": LARGE[:50_000] for number in range(12)}
        patches = [world.patch(f"{CONFIG_MAPS}/a", {"data": {key: text}}, MERGE) for key, text in texts.items()]
        assert {each.code for each in await asyncio.gather(*patches)} == {200}
        assert (await world.get(f"{CONFIG_MAPS}/a")).body["data"].items() >= texts.items()

    tell(story)


def test_l4_an_apply_that_says_what_it_said_before_goes_through_no_parents() -> None:
    def said(count: int) -> Manifest:
        made = deployment("web", 1)
        env = [{"name": f"E{number}", "value": "x"} for number in range(count)]
        made["spec"]["template"]["spec"]["containers"][0]["env"] = env
        return made

    async def story(world: ApiWorld) -> None:
        async def apply(count: int) -> Manifest:
            answer = await world.patch(f"{PATH}/web", said(count), APPLY, fieldManager="m")
            assert answer.code in (200, 201)
            return answer.body

        first = await apply(3)
        with mock.patch.object(forgetting, "named_parents", side_effect=AssertionError("all parents are looked for")):
            assert (await apply(3))["spec"] == first["spec"]
        less = await apply(2)
        assert [each["name"] for each in less["spec"]["template"]["spec"]["containers"][0]["env"]] == ["E0", "E1"]

    tell(story)
