"""APIServices: one for each group version that is served, for as long as it is."""

import asyncio
from typing import Any

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeserver.store.memory import MemoryMedium
from tests.kubeserver.api_world import CONFIG_MAPS, DEFINITIONS, TABLE, ApiWorld, api_world, config_map, tell, widgets
from tests.kubeserver.webhooks import MUTATING, configuration, rule, webhook

API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
SELECTED = "kube-aggregator.kubernetes.io/automanaged"


def _api_service(**spec: Any) -> dict[str, Any]:
    wanted = {"group": "example.org", "version": "v1", "groupPriorityMinimum": 10, "versionPriority": 10, **spec}
    return {"metadata": {"name": "v1.example.org"}, "spec": wanted}


async def _groups(world: ApiWorld) -> set[tuple[str, str]]:
    """All group versions, as discovery lists them."""
    groups = (await world.get("/apis")).body["groups"]
    return {("", "v1"), *((group["name"], version["version"]) for group in groups for version in group["versions"])}


def test_there_is_one_for_each_built_in_group_version_from_the_start():
    async def story(world: ApiWorld) -> None:
        listed = (await world.get(API_SERVICES, labelSelector=f"{SELECTED}=onstart")).body["items"]
        served = {(item["spec"].get("group", ""), item["spec"]["version"]) for item in listed}
        assert served == await _groups(world)
        core = (await world.get(f"{API_SERVICES}/v1.")).body
        assert core["spec"] == {"version": "v1", "groupPriorityMinimum": 18_000, "versionPriority": 1}
        condition = core["status"]["conditions"][0]
        del condition["lastTransitionTime"]
        assert condition == {
            "type": "Available",
            "status": "True",
            "reason": "Local",
            "message": "Local APIServices are always available",
        }
        row = (await world.call("GET", f"{API_SERVICES}/v2.autoscaling", accept=TABLE)).body["rows"][0]
        assert row["cells"][:3] == ["v2.autoscaling", "Local", "True"]

    tell(story)


def test_those_of_definitions_come_and_go_with_them():
    async def story(world: ApiWorld) -> None:
        await world.create(DEFINITIONS, widgets())
        await asyncio.sleep(1)
        made = (await world.get(f"{API_SERVICES}/v1.example.com")).body
        assert made["metadata"]["labels"] == {SELECTED: "true"}
        assert made["spec"] == {
            "group": "example.com",
            "version": "v1",
            "groupPriorityMinimum": 1_000,
            "versionPriority": 100,
        }
        await world.delete(f"{API_SERVICES}/v1.example.com")
        await asyncio.sleep(1)
        assert (await world.get(f"{API_SERVICES}/v1.example.com")).code == 200
        await world.delete(f"{DEFINITIONS}/widgets.example.com")
        await asyncio.sleep(1)
        assert (await world.get(f"{API_SERVICES}/v1.example.com")).code == 404

    tell(story)


def test_a_built_in_one_that_was_deleted_is_back_after_a_restart():
    async def play() -> None:
        medium = MemoryMedium()
        async with api_world(medium) as world:
            await world.delete(f"{API_SERVICES}/v1.apps")
            await asyncio.sleep(1)
            assert (await world.get(f"{API_SERVICES}/v1.apps")).code == 404
            assert (await world.get("/apis/apps/v1")).code == 200
        async with api_world(medium) as world:
            assert (await world.get(f"{API_SERVICES}/v1.apps")).code == 200

    run_virtual(play())


def test_a_webhook_that_nobody_answers_holds_nothing_up():
    async def play() -> None:
        medium = MemoryMedium()
        async with api_world(medium) as world:
            await world.delete(f"{API_SERVICES}/v1.apps")
            everything = rule("*", "*", "*")
            await world.create(MUTATING, configuration("Mutating", "all", webhook("nobody", everything)))
        async with api_world(medium) as world:
            assert (await world.create(CONFIG_MAPS, config_map("refused"))).code == 500
            assert (await world.get(f"{API_SERVICES}/v1.apps")).code == 200

    run_virtual(play())


def test_one_that_leads_to_another_server_is_kept_and_says_that_nobody_is_sent_there():
    async def story(world: ApiWorld) -> None:
        groups = await _groups(world)
        service = {"namespace": "kube-system", "name": "metrics-server"}
        made = await world.create(API_SERVICES, _api_service(service=service, insecureSkipTLSVerify=True))
        assert made.code == 201
        assert "does not pass requests on" in made.headers["warning"]
        condition = made.body["status"]["conditions"][0]
        assert (condition["type"], condition["status"], condition["reason"]) == ("Available", "False", "NotPassedOn")
        row = (await world.call("GET", f"{API_SERVICES}/v1.example.org", accept=TABLE)).body["rows"][0]
        assert row["cells"][:3] == ["v1.example.org", "kube-system/metrics-server", "False (NotPassedOn)"]
        assert await _groups(world) == groups, "discovery offers what is served"
        assert (await world.get("/apis/example.org/v1")).code == 404
        local = await world.patch(
            f"{API_SERVICES}/v1.example.org", {"spec": {"service": None, "insecureSkipTLSVerify": None}}
        )
        assert local.body["status"]["conditions"][0]["reason"] == "Local"
        assert "warning" not in local.headers
        assert (await world.delete(f"{API_SERVICES}/v1.example.org")).code == 200

    tell(story)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"version": "v2"}, 'metadata.name: Invalid value: "v1.example.org": must be `spec.version+"."+spec.group`'),
        ({"groupPriorityMinimum": 0}, "spec.groupPriorityMinimum: Invalid value: 0: must be positive"),
        ({"versionPriority": 1_001}, "spec.versionPriority: Invalid value: 1001: must be positive"),
        ({"caBundle": "YWJj"}, 'spec.caBundle: Invalid value: "3 bytes": local APIServices may not have a caBundle'),
        ({"service": {"name": "a"}}, "spec.service.namespace: Required value"),
        ({"service": {"namespace": "a"}}, "spec.service.name: Required value"),
        ({"service": {"namespace": "a", "name": "b", "port": 65_536}}, "spec.service.port: Invalid value: 65536"),
        (
            {"service": {"namespace": "a", "name": "b"}, "caBundle": "YWJj", "insecureSkipTLSVerify": True},
            "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present",
        ),
        ({"insecureSkipTLSVerify": True}, "local APIServices may not have insecureSkipTLSVerify"),
    ],
)
def test_what_no_server_could_serve_is_refused(spec: dict[str, Any], said: str):
    async def story(world: ApiWorld) -> None:
        refused = await world.create(API_SERVICES, _api_service(**spec))
        assert refused.code == 422
        assert said in refused.body["message"]

    tell(story)


def test_one_of_ones_own_is_available_and_stays():
    async def story(world: ApiWorld) -> None:
        made = await world.create(API_SERVICES, _api_service())
        assert made.body["status"]["conditions"][0]["reason"] == "Local"
        await world.create(DEFINITIONS, widgets())
        await asyncio.sleep(1)
        assert (await world.get(f"{API_SERVICES}/v1.example.org")).body == made.body

    tell(story)
