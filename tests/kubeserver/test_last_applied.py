"""Users who applied with kubectl before they did so on the server, and go over."""

import json
from typing import Any

from kubeapi.meta import Manifest
from kubeserver.kinds.metadata import MAX_ANNOTATION_BYTES
from kubeserver.patch.apply.last_applied import ANNOTATION, MANAGER
from tests.kubeserver.api_world import CONFIG_MAPS, Answer, ApiWorld, tell

APPLY_PATCH = "application/apply-patch+yaml"
A_MAP = f"{CONFIG_MAPS}/a"


def config(**data: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}


async def applied_by_client(world: ApiWorld, said: Any, **data: str) -> None:
    """Makes the object as kubectl does, with what it said in the annotation."""
    made = config(**data)
    made["metadata"]["annotations"] = {ANNOTATION: said if isinstance(said, str) else json.dumps(said)}
    assert (await world.create(CONFIG_MAPS, made, fieldManager="kubectl-client-side-apply")).code == 201


async def apply(world: ApiWorld, body: Manifest, manager: str = MANAGER) -> Answer:
    return await world.patch(A_MAP, body, APPLY_PATCH, fieldManager=manager)


def said(answer: Answer) -> str | None:
    return answer.body["metadata"].get("annotations", {}).get(ANNOTATION)


def test_kubectl_takes_what_it_said_before_and_goes_on_saying_what_it_says() -> None:
    async def story(world: ApiWorld) -> None:
        await applied_by_client(world, config(k="old"), k="old")
        answer = await apply(world, config(k="<new>"))
        assert (answer.code, answer.body["data"]) == (200, {"k": "<new>"})
        assert said(answer) == (
            '{"apiVersion":"v1","data":{"k":"\\u003cnew\\u003e"},"kind":"ConfigMap","metadata":{"name":"a"}}\n'
        )

    tell(story)


def test_others_are_in_conflict_with_what_kubectl_said() -> None:
    async def story(world: ApiWorld) -> None:
        await applied_by_client(world, config(k="old"), k="old")
        assert (await apply(world, config(k="new"), "other")).code == 409
        answer = await apply(world, config(k="old"), "other")
        assert (answer.code, said(answer)) == (200, json.dumps(config(k="old")))

    tell(story)


def test_what_kubectl_did_not_say_or_is_not_so_any_more_stays_in_conflict() -> None:
    async def story(world: ApiWorld) -> None:
        await applied_by_client(world, config(k="old", l="said"), k="old", l="other", m="made")
        answer = await apply(world, config(k="new", l="new", m="new"))
        assert answer.code == 409
        assert [cause["field"] for cause in answer.body["details"]["causes"]] == [".data.l", ".data.m"]

    tell(story)


def test_an_annotation_that_cannot_be_read_says_nothing() -> None:
    for broken in ("{", "[]", config() | {"apiVersion": "v2", "data": {"k": "old"}}, config() | {"data": {"k": 1}}):

        async def story(world: ApiWorld, broken: Any = broken) -> None:
            await applied_by_client(world, broken, k="old")
            assert (await apply(world, config(k="new"))).code == 409

        tell(story)


def test_more_than_annotations_can_hold_is_not_said_again() -> None:
    async def story(world: ApiWorld) -> None:
        await applied_by_client(world, config(k="old"), k="old")
        answer = await apply(world, config(k="x" * MAX_ANNOTATION_BYTES))
        assert (answer.code, said(answer)) == (200, None)

    tell(story)
