"""Paths and methods: what they lead to, and how they are refused."""

from typing import Any

import pytest

from kubeapi import codec
from kubeapi.transport import Request
from tests.kubeserver.api_world import CONFIG_MAPS, DEFINITIONS, WIDGETS, ApiWorld, config_map, tell, widget, widgets

UNSUPPORTED = 'create is not supported on resources of kind "widgets.example.com"'


@pytest.mark.parametrize(
    ("method", "path", "code", "said"),
    [
        ("GET", f"{WIDGETS}/w/nope", 404, 'widgets.example.com "w" not found'),
        ("POST", f"{WIDGETS}/w/status", 405, UNSUPPORTED),
        ("PUT", WIDGETS, 400, "name must be provided"),
        ("PATCH", WIDGETS, 400, "name must be provided"),
        ("POST", f"{WIDGETS}/x", 201, ""),
        ("POST", f"{WIDGETS}/w", 409, 'widgets.example.com "w" already exists'),
        ("GET", f"{CONFIG_MAPS}/w/nope", 404, "the server could not find the requested resource"),
        ("PUT", CONFIG_MAPS, 405, "the server does not allow this method on the requested resource"),
        ("POST", f"{CONFIG_MAPS}/w", 405, "the server does not allow this method on the requested resource"),
        ("POST", "/api/v1/watch/configmaps", 405, "the server does not allow this method on the requested resource"),
        ("GET", "/api/v1/watch/namespaces/default/nope", 404, "the server could not find the requested resource"),
        ("GET", "/api/v1/watch", 404, "the server could not find the requested resource"),
    ],
)
def test_custom_kinds_answer_for_their_paths_themselves(method: str, path: str, code: int, said: str) -> None:
    async def story(world: ApiWorld) -> None:
        await world.create(DEFINITIONS, widgets())
        await world.create(WIDGETS, widget("w", size=1))
        answer = await world.call(method, path, widget(path.rpartition("/")[2], size=1))
        assert (answer.code, answer.body.get("message", "")) == (code, said)

    tell(story)


@pytest.mark.parametrize(
    ("path", "query", "seen"),
    [
        ("/api/v1/watch/namespaces/default/configmaps", {}, ["a", "b"]),
        ("/api/v1/watch/configmaps", {}, ["a", "b"]),
        ("/api/v1/watch/namespaces/default/configmaps/b", {}, ["b"]),
        ("/api/v1/watch/namespaces/default/configmaps/b", {"fieldSelector": "metadata.name==b"}, ["b"]),
        ("/api/v1/watch/namespaces/default", {}, ["default"]),
        (CONFIG_MAPS, {"watch": ""}, ["a", "b"]),
    ],
)
def test_there_is_more_than_one_way_to_ask_for_a_watch(path: str, query: dict[str, str], seen: list[str]) -> None:
    async def story(world: ApiWorld) -> None:
        for name in ("a", "b"):
            await world.create(CONFIG_MAPS, config_map(name))
        request = Request("GET", path, {"timeoutSeconds": "1", **query}, {"accept": "application/json"})
        async with world.transport.stream(request) as lines:
            frames: list[Any] = [codec.decode_manifest(line) async for line in lines]
        assert [frame["object"]["metadata"]["name"] for frame in frames] == seen

    tell(story)


@pytest.mark.parametrize("no", ["0", "false", "FALSE"])
def test_a_parameter_says_no_in_few_words(no: str) -> None:
    async def story(world: ApiWorld) -> None:
        assert (await world.get(CONFIG_MAPS, watch=no)).body["kind"] == "ConfigMapList"

    tell(story)


@pytest.mark.parametrize(
    ("path", "query", "accept", "said"),
    [
        (
            "/api/v1/watch/namespaces/default/configmaps/b",
            {"fieldSelector": "metadata.name=a"},
            "application/json",
            "fieldSelector metadata.name doesn't match requested name",
        ),
        (
            CONFIG_MAPS,
            {"watch": "true"},
            "application/yaml",
            "only the following media types are accepted: application/json;stream=watch, "
            "application/vnd.kubernetes.protobuf;stream=watch",
        ),
    ],
)
def test_a_watch_that_cannot_be_is_refused(path: str, query: dict[str, str], accept: str, said: str) -> None:
    async def story(world: ApiWorld) -> None:
        refused = await world.call("GET", path, query=query, accept=accept)
        assert refused.code in (400, 406)
        assert said in str(refused.body)

    tell(story)
