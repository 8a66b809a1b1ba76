"""A kind that only a webhook understands, in a world: it is divided and judged; a webhook that hangs costs its own kind
only.
"""

import asyncio
import base64
from collections import Counter
from typing import Any

import pytest

from controller_runtime.identity import key_of
from kubeapi.codec import encode
from kubeapi.core import EVENTS
from kubeapi.meta import Manifest, annotations_of
from kubeclient import Unreachable
from leeward.api.names import WORK_NAME_ANNOTATION, work_name
from leeward.api.resource import RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS
from leeward.sim.world import World
from tests.world.stories import CONFIG_MAPS, POLICIES, apply, by_weight, deployment, in_world, policy, ready_replicas
from tests.world.test_dependencies import config
from tests.world.test_kinds import CRON_TAB_DEFINITION, CRON_TABS, DEFINITIONS, appears
from tests.world.test_scripted_kinds import CRON_TAB, health, report

HOST = "https://crontabs.example.com"
RULE: Manifest = {
    "operations": ["*"],
    "apiGroups": ["stable.example.com"],
    "apiVersions": ["*"],
    "kinds": ["CronTab"],
}
CONFIGURATION: Manifest = {
    "metadata": {"name": "cron-tabs"},
    "webhooks": [
        {
            "name": "crontabs.example.com",
            "clientConfig": {"url": f"{HOST}/interpret"},
            "rules": [RULE],
            "interpreterContextVersions": ["v1alpha1"],
        }
    ],
}
BOTH = {"member1": 2, "member2": 1}
LATE = work_name("Deployment", "late", "default")
FAILOVER_SECONDS = 30 + 300 + 300 + 30
"""Seconds until a failure counts, until it taints, the toleration, and what is left for us."""


class CronTabWebhook:
    """Understands CronTabs by their `workers`, what they say they `needs`, and what is `done`; hangs, or is away, when
    told so."""

    def __init__(self) -> None:
        self.asked = Counter[str]()
        self.least_done = 4
        self.hangs = self.is_away = self.is_away_for_works = False
        self.needs: list[str] = []
        self.waiting = self.most_waiting = 0

    async def __call__(self, request: Manifest) -> Manifest:
        self.asked[f"{request['operation']} {request['name']}"] += 1
        asked_of_work = WORK_NAME_ANNOTATION in annotations_of(request["object"])
        if self.is_away or (self.is_away_for_works and asked_of_work and request["operation"] == "InterpretDependency"):
            raise Unreachable("connection refused")
        if self.hangs:
            self.waiting += 1
            self.most_waiting = max(self.most_waiting, self.waiting)
            try:
                await asyncio.Event().wait()
            finally:
                self.waiting -= 1
        return self._answer(request)

    def _answer(self, request: Manifest) -> Manifest:
        spec = request["object"]["spec"]
        status: Manifest = request["object"].get("status") or {}
        match request["operation"]:
            case "InterpretReplica":
                return {"replicas": spec["workers"]}
            case "ReviseReplica":
                return _patch({"op": "replace", "path": "/spec/workers", "value": request["replicas"]})
            case "InterpretStatus":
                return {"rawStatus": status}
            case "InterpretHealth":
                return {"healthy": status.get("done", 0) >= self.least_done}
            case "AggregateStatus":
                items: list[Manifest] = request["aggregatedStatus"]
                done = sum(item["status"].get("done", 0) for item in items if item.get("status"))
                return _patch({"op": "add", "path": "/status", "value": {"done": done}})
            case "InterpretDependency":
                needs = spec.get("needs", self.needs)
                found = ({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": n} for n in needs)
                return {"dependencies": list(found)}
            case _:
                return {}


def _patch(*operations: Manifest) -> Manifest:
    return {"patch": base64.b64encode(encode(list(operations))).decode(), "patchType": "JSONPatch"}


async def given_a_webhook(world: World) -> CronTabWebhook:
    webhook = CronTabWebhook()
    world.interpreter_hosts.put(HOST, webhook)
    for name in BOTH:
        await world.member(name).client.create(DEFINITIONS, CRON_TAB_DEFINITION)
    version: Manifest = {**CRON_TAB_DEFINITION["spec"]["versions"][0], "subresources": {"status": {}}}
    definition: Manifest = {**CRON_TAB_DEFINITION, "spec": {**CRON_TAB_DEFINITION["spec"], "versions": [version]}}
    await world.client.create(DEFINITIONS, definition)
    await world.client.create(RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS, CONFIGURATION)
    await world.sleep(30)
    return webhook


async def given_cron_tabs(world: World, *names: str) -> None:
    for name in names:
        await world.client.create(CRON_TABS, {**CRON_TAB, "metadata": {"name": name}}, "default")
        await world.client.create(
            POLICIES, policy(name, by_weight(BOTH), "CronTab", "stable.example.com/v1"), "default"
        )


async def there(world: World, member: str, name: str) -> Manifest:
    """Spec of a CronTab in a member."""
    return (await world.member(member).client.get(CRON_TABS, name, "default"))["spec"]


async def warnings(world: World, name: str) -> set[str]:
    found: Any = (await world.client.list(EVENTS)).items
    return {event.reason for event in found if event.type == "Warning" and event.involved_object.name.startswith(name)}


@in_world()
async def test_a_kind_is_divided_judged_and_added_up_by_a_webhook(world: World) -> None:
    webhook = await given_a_webhook(world)
    await given_cron_tabs(world, "nightly")
    first = await appears(world, "member1", CRON_TABS, "nightly", "default")
    second = await appears(world, "member2", CRON_TABS, "nightly", "default")
    assert [first["spec"]["workers"], second["spec"]["workers"]] == [4, 2]
    await report(world, "member1", 4)
    await report(world, "member2", 1)
    await world.sleep(10)
    assert [await health(world, "member1"), await health(world, "member2")] == [["Healthy"], ["Unhealthy"]]
    assert (await world.client.get(CRON_TABS, "nightly", "default"))["status"] == {"done": 5}
    asked = webhook.asked.copy()
    await world.sleep(600)
    assert webhook.asked == asked, "L5: in a quiet world nobody is asked"


@pytest.mark.long
@in_world()
async def test_a_webhook_that_hangs_holds_up_no_other_kind_nor_a_failover_l4(world: World) -> None:
    webhook = await given_a_webhook(world)
    tabs = [f"tab-{number:02}" for number in range(20)]
    await given_cron_tabs(world, *tabs)
    await apply(world.client, deployment("web", 3), policy("web", by_weight(BOTH)))
    await appears(world, "member2", CRON_TABS, tabs[-1], "default")
    await world.sleep(60)

    webhook.hangs = True
    for name in tabs:
        await world.client.patch(CRON_TABS, name, {"spec": {"workers": 9}}, "default")
    await world.sleep(1)
    await apply(world.client, deployment("late", 3), policy("late", by_weight(BOTH)))
    assert await world.until(lambda: world.work("member1", LATE) is not None, 10) < 1
    await world.sleep(9)
    assert [await ready_replicas(world, name, "late") for name in BOTH] == [2, 1]

    world.member("member1").pause()
    seconds = await world.until(lambda: world.assigned("web-deployment") == {"member2": 3}, FAILOVER_SECONDS)
    await world.sleep(30)
    assert [await ready_replicas(world, "member2", name) for name in ("web", "late")] == [3, 3], seconds
    assert webhook.most_waiting <= 4 * 3, "four at once, for each process: the control plane and two agents"
    assert {(await there(world, "member2", name))["workers"] for name in tabs} == {2}

    webhook.hangs = False
    await world.sleep(120)
    assert {(await there(world, "member2", name))["workers"] for name in tabs} == {9}


@in_world()
async def test_a_webhook_that_was_away_is_asked_again_by_itself(world: World) -> None:
    webhook = await given_a_webhook(world)
    await given_cron_tabs(world, "nightly")
    await appears(world, "member1", CRON_TABS, "nightly", "default")
    webhook.is_away = True
    await report(world, "member1", 4)
    await world.sleep(10)
    assert await health(world, "member1") == ["Unknown"]
    assert "InterpretHealthFailed" in await warnings(world, "nightly")
    webhook.is_away = False
    await world.sleep(120)
    assert await health(world, "member1") == ["Healthy"]


@in_world()
async def test_another_configuration_has_its_kinds_asked_anew(world: World) -> None:
    webhook = await given_a_webhook(world)
    await given_cron_tabs(world, "nightly")
    await apply(world.client, deployment("web", 3), policy("web", by_weight(BOTH)))
    await appears(world, "member1", CRON_TABS, "nightly", "default")
    await report(world, "member1", 3)
    await world.sleep(10)
    assert await health(world, "member1") == ["Unhealthy"]
    webhook.least_done = 3
    await world.sleep(60)
    assert await health(world, "member1") == ["Unhealthy"], "nobody has told that it answers otherwise"
    hooks: list[Manifest] = [{**CONFIGURATION["webhooks"][0], "timeoutSeconds": 5}]
    patch: Manifest = {"webhooks": hooks}
    await world.client.patch(RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS, "cron-tabs", patch)
    await world.sleep(10)
    assert await health(world, "member1") == ["Healthy"]


@in_world()
async def test_what_nobody_could_say_was_needed_goes_when_somebody_can(world: World) -> None:
    webhook = await given_a_webhook(world)
    webhook.needs, webhook.least_done = ["settings"], 0
    await apply(world.client, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}})
    await given_cron_tabs(world, "nightly")
    await world.client.patch(POLICIES, "nightly", {"spec": {"propagateDeps": True}}, "default")
    for name in BOTH:
        await appears(world, name, CONFIG_MAPS, "settings", "default")
        status = {"done": 4, "readyReplicas": 9}
        await world.member(name).client.patch(CRON_TABS, "nightly", {"status": status}, "default")
    await world.sleep(30)
    webhook.needs, webhook.is_away_for_works = [], True
    hooks: list[Manifest] = [{**CONFIGURATION["webhooks"][0], "timeoutSeconds": 5}]
    await world.client.patch(RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS, "cron-tabs", {"webhooks": hooks})
    await world.sleep(60)
    await appears(world, "member1", CONFIG_MAPS, "settings", "default")
    webhook.is_away_for_works = False
    await world.sleep(480)
    assert (await world.member("member1").client.list(CONFIG_MAPS, "default")).items == ()


async def given_a_cron_tab_that_needs(world: World, webhook: CronTabWebhook, needed: str) -> None:
    """Prepares the world: there are ConfigMaps old and new."""
    webhook.needs, webhook.least_done = [needed], 0
    await apply(world.client, config("old"), config("new"))
    await given_cron_tabs(world, "nightly")
    await world.client.patch(POLICIES, "nightly", {"spec": {"propagateDeps": True}}, "default")
    for name in BOTH:
        await appears(world, name, CONFIG_MAPS, needed, "default")
        status = {"done": 4, "readyReplicas": 9}
        await world.member(name).client.patch(CRON_TABS, "nightly", {"status": status}, "default")
    await world.sleep(30)


async def configs(world: World) -> list[set[str]]:
    """ConfigMaps that there are in each member."""
    found = [await world.member(name).client.list(CONFIG_MAPS, "default") for name in BOTH]
    return [{key_of(each).name for each in there.items} & {"old", "new"} for there in found]


@in_world()
async def test_s15_what_a_user_has_a_template_need_is_there_at_once_and_what_it_needs_no_more_goes(
    world: World,
) -> None:
    webhook = await given_a_webhook(world)
    await given_a_cron_tab_that_needs(world, webhook, "old")
    assert await configs(world) == [{"old"}] * 2
    await world.client.patch(CRON_TABS, "nightly", {"spec": {"needs": ["new"]}}, "default")
    await world.sleep(10)
    assert [(await there(world, name, "nightly"))["needs"] for name in BOTH] == [["new"], ["new"]]
    assert all("new" in found for found in await configs(world))
    await world.sleep(60)
    assert await configs(world) == [{"new"}] * 2
    assert "GetDependenciesFailed" not in await warnings(world, "nightly")


@in_world()
async def test_s15_what_a_webhook_newly_names_comes_at_once_and_what_it_suddenly_does_not_name_stays_for_now(
    world: World,
) -> None:
    """The webhook speaks of a template that nobody has touched, also for controllers that start meanwhile."""
    webhook = await given_a_webhook(world)
    await given_a_cron_tab_that_needs(world, webhook, "old")
    webhook.needs = ["new"]
    hooks: list[Manifest] = [{**CONFIGURATION["webhooks"][0], "timeoutSeconds": 5}]
    await world.client.patch(RESOURCE_INTERPRETER_WEBHOOK_CONFIGURATIONS, "cron-tabs", {"webhooks": hooks})
    await world.sleep(15)
    assert await configs(world) == [{"old", "new"}] * 2
    assert "GetDependenciesFailed" in await warnings(world, "nightly")
    await world.stop_controllers()
    world.start_controllers()
    await world.sleep(300)
    assert await configs(world) == [{"old", "new"}] * 2
    await world.sleep(180)
    assert await configs(world) == [{"new"}] * 2
