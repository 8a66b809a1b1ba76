"""Kinds that a member does not serve when something of them is to be removed there: not yet, or in another version."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import NotFound, Request, Response
from leeward.api.names import work_name
from leeward.sim.member import SimulatedMember
from leeward.sim.world import World
from tests.world.stories import POLICIES, in_world
from tests.world.test_kinds import CRON_TAB_DEFINITION, CRON_TABS, DEFINITIONS, SCHEMA, appears, selecting
from tests.world.test_ownership import on
from tests.world.test_restored import PUSHED

GROUP = "stable.example.com"
SECOND = Resource.of_manifests(f"{GROUP}/v2", "crontabs", "CronTab", True)


class Hiding:
    """Hides a group, with all objects of it, from those who ask the member, until it is `over`."""

    over = False

    async def __call__(self, request: Request, work: Callable[[], Awaitable[Any]]) -> Any:
        if not self.over and f"/apis/{GROUP}" in request.path:
            return Response(404, b"404 page not found\n", {"content-type": "text/plain"})
        response = await work()
        if self.over or request.path != "/apis" or not isinstance(response, Response):
            return response
        body: Manifest = json.loads(response.body)
        body["items"] = [each for each in body.get("items", ()) if each["metadata"]["name"] != GROUP]
        body["groups"] = [each for each in body.get("groups", ()) if each["name"] != GROUP]
        return Response(response.code, json.dumps(body).encode(), response.headers)


async def placed(world: World, *names: str) -> SimulatedMember:
    """The member that has custom resources of these names."""
    for client in (world.client, *(world.member(name).client for name in PUSHED)):
        await client.create(DEFINITIONS, CRON_TAB_DEFINITION)
    await world.sleep(90)
    for name in names:
        await world.client.create(CRON_TABS, {"metadata": {"name": name}, "spec": {"replicas": 1}}, "default")
        await world.client.create(POLICIES, selecting(CRON_TABS, name, "member1"), "default")
        await appears(world, "member1", CRON_TABS, name, "default")
    await world.sleep(30)
    return world.member("member1")


async def move(world: World, *names: str) -> None:
    for name in names:
        await world.client.patch(POLICIES, name, {"spec": {"placement": on("member2")}}, "default")


@pytest.mark.parametrize("seconds", [3, 20])
@in_world(PUSHED)
async def test_l3_a_kind_that_is_served_a_moment_after_its_member_is_ready_is_not_gone(
    world: World, seconds: float
) -> None:
    member = await placed(world, "first", "second")
    await member.stop()
    await world.until(lambda: not world.is_ready("member1"), 120)
    await move(world, "first", "second")
    await world.sleep(60)
    member.place.audit = hiding = Hiding()
    await member.start()
    await world.until(lambda: world.is_ready("member1"), 120)
    await world.sleep(seconds)
    hiding.over = True
    await world.sleep(120)
    assert [each["metadata"]["name"] for each in (await member.client.list(CRON_TABS, "default")).items] == []


def version(name: str, *, served: bool) -> Manifest:
    return {"name": name, "served": served, "storage": served, "schema": {"openAPIV3Schema": SCHEMA}}


@pytest.mark.parametrize("controllers", ["go on", "are new"])
@in_world(PUSHED)
async def test_l3_what_is_served_in_another_version_by_now_is_removed_in_that(world: World, controllers: str) -> None:
    member = await placed(world, "db")
    versions = [version("v1", served=False), version("v2", served=True)]
    changed = {"spec": {**CRON_TAB_DEFINITION["spec"], "versions": versions}}
    await member.client.patch(DEFINITIONS, "crontabs.stable.example.com", changed)
    await world.sleep(60)
    if controllers == "are new":
        await world.stop_controllers()
        world.start_controllers()
        await world.sleep(60)
    await move(world, "db")
    await world.sleep(120)
    assert world.work("member1", work_name("CronTab", "db", "default")) is None
    with pytest.raises(NotFound):
        await member.client.get(SECOND, "db", "default")
