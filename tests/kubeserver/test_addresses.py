"""ServiceCIDRs, IPAddresses and ComponentStatuses."""

import asyncio
from typing import Any

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeserver.store.memory import MemoryMedium
from tests.kubeserver.api_world import TABLE, ApiWorld, api_world, tell

NETWORKING = "/apis/networking.k8s.io/v1"
RANGES, ADDRESSES = f"{NETWORKING}/servicecidrs", f"{NETWORKING}/ipaddresses"
COMPONENTS = "/api/v1/componentstatuses"
SERVICES = "/api/v1/namespaces/default/services"
PARENT = {"resource": "services", "namespace": "default", "name": "web"}


def _service(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


def test_the_range_of_services_is_there_and_ready():
    async def story(world: ApiWorld) -> None:
        found = (await world.get(f"{RANGES}/kubernetes")).body
        assert found["spec"] == {"cidrs": ["10.96.0.0/16"]}
        assert [(c["type"], c["status"]) for c in found["status"]["conditions"]] == [("Ready", "True")]
        row = (await world.call("GET", f"{RANGES}/kubernetes", accept=TABLE)).body["rows"][0]
        assert row["cells"][:2] == ["kubernetes", "10.96.0.0/16"]
        changed = await world.patch(f"{RANGES}/kubernetes", {"spec": {"cidrs": ["10.0.0.0/16"]}})
        assert "spec.cidrs: Invalid value" in changed.body["message"]

    tell(story)


@pytest.mark.parametrize(
    ("cidrs", "said"),
    [
        ([], "spec.cidrs: Required value: at least one CIDR required"),
        (["10.0.0.0"], 'spec.cidrs[0]: Invalid value: "10.0.0.0": must be a valid CIDR value'),
        (["10.0.0.0/16", "10.1.0.0/16"], "may specify no more than one IP for each IP family"),
        (["10.0.0.0/16", "2001:db8::/64", "10.1.0.0/16"], "may only hold up to 2 values"),
    ],
)
def test_a_range_that_nobody_could_give_addresses_from_is_refused(cidrs: list[str], said: str):
    async def story(world: ApiWorld) -> None:
        refused = await world.create(RANGES, {"metadata": {"name": "more"}, "spec": {"cidrs": cidrs}})
        assert refused.code == 422
        assert said in refused.body["message"]

    tell(story)


def test_an_address_is_its_name_and_belongs_to_somebody():
    async def story(world: ApiWorld) -> None:
        made = await world.create(ADDRESSES, {"metadata": {"name": "10.96.0.7"}, "spec": {"parentRef": PARENT}})
        assert made.code == 201
        row = (await world.call("GET", f"{ADDRESSES}/10.96.0.7", accept=TABLE)).body["rows"][0]
        assert row["cells"] == ["10.96.0.7", "services/default/web"]
        moved = await world.patch(f"{ADDRESSES}/10.96.0.7", {"spec": {"parentRef": {"name": "other"}}})
        assert "field is immutable" in moved.body["message"]

    tell(story)


def test_the_address_of_a_service_comes_and_goes_with_it():
    async def story(world: ApiWorld) -> None:
        made = (await world.create(SERVICES, _service("web"))).body
        await world.create(SERVICES, _service("headless", clusterIP="None"))
        await asyncio.sleep(1)
        listed = (await world.get(ADDRESSES)).body["items"]
        assert [item["metadata"]["name"] for item in listed] == [made["spec"]["clusterIP"]]
        assert listed[0]["spec"] == {"parentRef": PARENT}
        assert listed[0]["metadata"]["labels"] == {
            "ipaddress.kubernetes.io/ip-family": "IPv4",
            "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
        }
        await world.patch(f"{SERVICES}/web", {"spec": {"type": "ExternalName", "externalName": "example.com"}})
        await asyncio.sleep(1)
        assert (await world.get(ADDRESSES)).body["items"] == []

    tell(story)


def test_an_address_that_is_given_again_has_its_new_parent_and_one_without_any_goes_at_the_next_start():
    async def play() -> None:
        medium = MemoryMedium()
        async with api_world(medium) as world:
            await world.create(SERVICES, _service("web", clusterIP="10.96.0.9"))
            await asyncio.sleep(1)
            await world.delete(f"{SERVICES}/web")
            await world.create(SERVICES, _service("api", clusterIP="10.96.0.9"))
            await asyncio.sleep(1)
            assert (await world.get(f"{ADDRESSES}/10.96.0.9")).body["spec"]["parentRef"]["name"] == "api"
            labels = {"ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}
            orphan = {"metadata": {"name": "10.96.0.7", "labels": labels}, "spec": {"parentRef": PARENT}}
            await world.create(ADDRESSES, orphan)
            await world.create(ADDRESSES, {"metadata": {"name": "10.96.0.8"}, "spec": {"parentRef": PARENT}})
        async with api_world(medium) as world:
            await asyncio.sleep(1)
            assert (await world.get(ADDRESSES)).names == ["10.96.0.8", "10.96.0.9"]

    run_virtual(play())


@pytest.mark.parametrize(
    ("name", "spec", "said"),
    [
        ("web", {"parentRef": PARENT}, "must be a canonical IP address"),
        ("2001:DB8::1", {"parentRef": PARENT}, "must be a canonical IP address"),
        ("10.0.0.1", {}, "spec.parentRef: Required value"),
        ("10.0.0.1", {"parentRef": {"resource": "services"}}, "spec.parentRef.name: Required value"),
    ],
)
def test_an_address_that_is_none_or_nobodys_is_refused(name: str, spec: dict[str, Any], said: str):
    async def story(world: ApiWorld) -> None:
        refused = await world.create(ADDRESSES, {"metadata": {"name": name}, "spec": spec})
        assert refused.code == 422
        assert said in refused.body["message"]

    tell(story)


def test_the_components_are_the_store_and_can_only_be_read():
    async def story(world: ApiWorld) -> None:
        listed = await world.call("GET", COMPONENTS, accept=TABLE)
        assert [row["cells"] for row in listed.body["rows"]] == [["etcd-0", "Healthy", "ok", ""]]
        assert "ComponentStatus is deprecated" in listed.headers["warning"]
        assert (await world.get(f"{COMPONENTS}/etcd-0")).body["conditions"][0]["status"] == "True"
        assert (await world.get(f"{COMPONENTS}/scheduler")).code == 404
        assert (await world.create(COMPONENTS, {"metadata": {"name": "etcd-1"}})).code == 405
        assert (await world.get(COMPONENTS, watch="true")).code == 405
        resources = (await world.get("/api/v1")).body["resources"]
        assert [r["verbs"] for r in resources if r["name"] == "componentstatuses"] == [["get", "list"]]

    tell(story)
