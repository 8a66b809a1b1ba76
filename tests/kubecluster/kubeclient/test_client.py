"""The client: what it sends, and what each kind of answer becomes."""

import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import pytest

from kubeapi.core import CONFIG_MAPS, ConfigMap
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import ObjectMeta
from kubeapi.resource import Resource
from kubeclient import (
    AlreadyExists,
    ApiError,
    Client,
    Conflict,
    Expired,
    Forbidden,
    Invalid,
    NotFound,
    NotServed,
    Page,
    Response,
    TooManyRequests,
    Unauthorized,
    Undecodable,
    Unreachable,
    WatchEvent,
    WorldError,
)
from kubeclient.client import REQUEST_TIMEOUT_SECONDS
from kubeclient.patience import IMPATIENT
from tests.kubecluster.runtime.small_world import (
    CLOCK,
    ScriptedTransport,
    SmallWorld,
    config_map,
    config_maps,
    frame,
    response,
    tell,
)


def ask(answer: Response, request: Callable[[Client], Awaitable[object]] | None = None) -> tuple[object, str]:
    """Result that the client makes of an answer (a GET's, unless told), and the body that it sent."""
    transport = ScriptedTransport([answer])

    async def main() -> object:
        client = Client(transport, patience=IMPATIENT)
        return await (request(client) if request else client.get(CONFIG_MAPS, "a", "default"))

    return run_virtual(main()), transport.requests[0].body.decode()


def watch(*lines: bytes) -> list[WatchEvent[ConfigMap]]:
    async def main() -> list[WatchEvent[ConfigMap]]:
        client = Client(ScriptedTransport(watches=[list(lines)]))
        async with aclosing(client.watch(CONFIG_MAPS, resource_version="1")) as events:
            return [event async for event in events]

    return run_virtual(main())


@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [
        (400, "BadRequest", Invalid),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotServed),
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (410, "Expired", Expired),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (500, "InternalError", ApiError),
        (302, "", ApiError),
    ],
)
@pytest.mark.parametrize("is_status", [True, False])
def test_every_refusal_becomes_its_error_with_the_code_of_the_answer(
    code: int, reason: str, error: type[ApiError], is_status: bool
) -> None:
    body = {"kind": "Status", "reason": reason, "message": "no way"} if is_status else {"error": "no way"}
    if reason == "AlreadyExists" and not is_status:
        error = Conflict
    with pytest.raises(ApiError, match="no way") as caught:
        ask(response(body, code))
    assert type(caught.value) is error
    assert caught.value.code == code


def test_an_object_is_not_found_only_by_an_answer_that_names_it_s5() -> None:
    named = {
        "kind": "Status",
        "reason": "NotFound",
        "message": "no way",
        "details": {"name": "a", "kind": "configmaps"},
    }
    for body, error in ((named, NotFound), ({**named, "details": {"kind": "configmaps"}}, NotServed)):
        with pytest.raises(NotFound) as caught:
            ask(response(body, 404))
        assert type(caught.value) is error
    with pytest.raises(NotServed):
        ask(Response(404, b"404 page not found\n"))


def test_a_refusal_that_is_no_json_is_quoted_and_not_at_length() -> None:
    with pytest.raises(ApiError) as caught:
        ask(Response(502, b"<html>bad gateway " + b"x" * 10_000 + b"\xff"))
    assert str(caught.value).startswith("<html>bad gateway")
    assert len(str(caught.value)) <= 200
    with pytest.raises(ApiError, match="HTTP 503"):
        ask(Response(503, b""))


def test_how_long_to_wait_comes_from_the_server() -> None:
    with pytest.raises(TooManyRequests) as caught:
        ask(response({"details": {"retryAfterSeconds": 7}}, 429))
    assert caught.value.retry_after_seconds == 7


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"metadata": 1}'])
def test_an_answer_that_cannot_be_read_is_neither_an_object_nor_an_absence(body: bytes) -> None:
    with pytest.raises(Undecodable):
        ask(Response(200, body))
    for without_items in (body, b"{}", b'{"items": null}', b'{"items": [1]}'):
        with pytest.raises(Undecodable):
            ask(Response(200, without_items), lambda client: client.list(CONFIG_MAPS))


def test_a_request_has_a_deadline() -> None:
    async def main() -> None:
        with pytest.raises(Unreachable):
            await Client(ScriptedTransport()).get(CONFIG_MAPS, "a", "default")
        assert CLOCK.monotonic() == REQUEST_TIMEOUT_SECONDS

    run_virtual(main())


def test_a_watch_brings_objects_and_bookmarks() -> None:
    events = watch(
        frame("ADDED", config_map("a", 5)),
        frame("DELETED", config_map("a", 7)),
        frame("BOOKMARK", {"kind": "ConfigMap", "metadata": {"resourceVersion": "9"}}),
    )
    told = [(event.type, event.object and event.object.name, event.resource_version) for event in events]
    assert told == [("ADDED", "a", "5"), ("DELETED", "a", "7"), ("BOOKMARK", None, "9")]


TOO_LARGE = {"code": 504, "details": {"causes": [{"reason": "ResourceVersionTooLarge"}]}}


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (frame("ERROR", {"code": 410, "reason": "Expired", "message": "too old"}), Expired),
        (frame("ERROR", TOO_LARGE), Expired),
        (frame("ERROR", {"code": 500, "message": "broken"}), ApiError),
        (frame("ERROR", "what"), Undecodable),
        (frame("ADDED", {"metadata": {"name": 3}}), Undecodable),
        (frame("ADDED", config_map("a", 5))[:-9], Undecodable),
    ],
)
def test_an_error_in_a_watch_ends_it_after_what_came_before(line: bytes, error: type[WorldError]) -> None:
    seen: list[str] = []

    async def main() -> None:
        client = Client(ScriptedTransport(watches=[[frame("ADDED", config_map("before", 2)), line]]))
        async with aclosing(client.watch(CONFIG_MAPS, resource_version="1")) as events:
            async for event in events:
                seen.append(event.type)

    with pytest.raises(WorldError) as caught:
        run_virtual(main())
    assert type(caught.value) is error
    assert seen == ["ADDED"]


def test_a_patch_is_bound_to_a_version_and_a_deletion_to_a_uid() -> None:
    found = response(config_map("a", 5))
    patch = {"metadata": {"labels": {"x": "y"}}, "data": {"k": None}}
    _, sent = ask(found, lambda client: client.patch(CONFIG_MAPS, "a", patch, "default", resource_version="4"))
    assert json.loads(sent) == {"metadata": {"labels": {"x": "y"}, "resourceVersion": "4"}, "data": {"k": None}}
    _, sent = ask(found, lambda client: client.delete(CONFIG_MAPS, "a", "default", uid="u-1", grace_seconds=0))
    options = json.loads(sent)
    assert (options["preconditions"], options["gracePeriodSeconds"]) == ({"uid": "u-1"}, 0)


def test_manifests_in_a_list_say_what_they_are() -> None:
    manifests = Resource.of_manifests("v1", "configmaps", "ConfigMap", True)
    page, _ = ask(config_maps(10, config_map("a", 5)), lambda client: client.list(manifests))
    assert page == Page(({"apiVersion": "v1", "kind": "ConfigMap", **config_map("a", 5)},), "10")


def test_an_object_goes_through_its_life_on_a_real_server() -> None:
    async def story(world: SmallWorld) -> None:
        client = world.client
        obj = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"), data={"mode": "oars"})
        created = await client.create(CONFIG_MAPS, obj, "default")
        with pytest.raises(AlreadyExists):
            await client.create(CONFIG_MAPS, obj, "default")
        version = created.metadata.resource_version
        patched = await client.patch(CONFIG_MAPS, "a", {"data": {"mode": "sail"}}, "default", resource_version=version)
        assert patched.data == {"mode": "sail"}
        with pytest.raises(Conflict):
            await client.update(CONFIG_MAPS, created, "a", "default")
        with pytest.raises(Conflict):
            await client.delete(CONFIG_MAPS, "a", "default", uid="another")
        await client.delete(CONFIG_MAPS, "a", "default", uid=created.metadata.uid)
        with pytest.raises(NotFound):
            await client.get(CONFIG_MAPS, "a", "default")

    tell(story)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../../secrets/token", "a%2Fb"])
def test_a_name_that_would_lead_to_another_path_is_the_name_of_nothing(name: str) -> None:
    async def main() -> None:
        transport = ScriptedTransport([])
        client = Client(transport)
        for request in (
            client.get(CONFIG_MAPS, name, "default"),
            client.delete(CONFIG_MAPS, name, "default"),
            client.patch(CONFIG_MAPS, name, {}, "default"),
            client.get(CONFIG_MAPS, "a", f"default/{name}"),
        ):
            with pytest.raises(NotFound, match="nothing can be called so"):
                await request
        assert transport.requests == []

    run_virtual(main())
