"""Facts of a member that each look asks for, and those that only another server can change."""

import json
from collections import Counter

import pytest

from kubeclient import Request, Response
from leeward.sim.world import World
from tests.world.stories import in_world
from tests.world.test_detection import answers, status

LOOKS = ("/readyz", "/api/v1/namespaces/kube-system", "/apis")
SERVER = ("/version", "/api")
NEW = "v1.99.0"


def upgraded(request: Request) -> Response | None:
    if request.path != "/version":
        return None
    return Response(200, json.dumps({"gitVersion": NEW}).encode(), {"content-type": "application/json"})


def version(world: World, name: str) -> str:
    return world.cluster(name).status.kubernetes_version


@pytest.mark.parametrize("name", ["member1", "member3"])
@in_world()
async def test_each_look_asks_for_the_groups_and_once_a_minute_for_version_and_core_kinds(
    world: World, name: str
) -> None:
    await world.sleep_to_whole(10, offset=1)
    asked = Counter[str]()
    answers(world.member(name).place, lambda request: asked.update([request.path]))
    await world.sleep(300)
    assert {path: asked[path] for path in LOOKS} == dict.fromkeys(LOOKS, 30)
    assert {path: asked[path] for path in SERVER} == dict.fromkeys(SERVER, 5)


@in_world()
async def test_an_upgrade_that_nobody_noticed_is_told_within_a_minute(world: World) -> None:
    answers(world.member("member1").place, upgraded)
    await world.until(lambda: version(world, "member1") == NEW, 80)
    assert version(world, "member2") != NEW


@in_world()
async def test_an_upgrade_after_one_failed_probe_is_told_by_the_next_look(world: World) -> None:
    await world.sleep_to_whole(60, offset=15)
    place = world.member("member1").place
    answers(place, lambda request: status(500, "InternalError") if request.path == "/readyz" else None)
    await world.sleep(10)
    assert world.is_ready("member1"), "one failed probe is no outage"
    answers(place, upgraded)
    await world.until(lambda: version(world, "member1") == NEW, 15)


@pytest.mark.parametrize("path", SERVER)
@in_world()
async def test_what_could_not_be_read_is_asked_for_by_each_look(world: World, path: str) -> None:
    await world.sleep_to_whole(10, offset=1)
    before = world.cluster("member1").status
    asked = Counter[str]()

    def refuse(request: Request) -> Response | None:
        asked.update([request.path])
        return status(500, "InternalError") if request.path == path else None

    answers(world.member("member1").place, refuse)
    await world.sleep(160)
    assert asked[path] >= 10, "refused once a minute at first, and then by each look"
    now = world.cluster("member1").status
    assert (now.kubernetes_version, now.api_enablements) == (before.kubernetes_version, before.api_enablements)
