"""Leeward is installed into a control plane and taken out again, on virtual time."""

from collections.abc import Awaitable, Callable

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client
from leeward.app.install.installing import install, uninstall
from leeward.app.install.manifests import definitions
from leeward.app.local.errors import FleetError
from tests.kubeserver.api_world import DEFINITIONS, MERGE, ApiWorld, tell

POLICIES = Resource.of_manifests("policy.karmada.io/v1alpha1", "propagationpolicies", "PropagationPolicy", True)
Story = Callable[[ApiWorld, Client], Awaitable[None]]
OURS = {definition["metadata"]["name"] for definition in definitions()}
FIRST = min(OURS)


def play(story: Story) -> None:
    async def installed(world: ApiWorld) -> None:
        client = Client(world.transport)
        await install(client)
        await story(world, client)

    tell(installed)


async def present(world: ApiWorld) -> dict[str, Manifest]:
    items: list[Manifest] = (await world.get(DEFINITIONS)).body["items"]
    return {item["metadata"]["name"]: item for item in items}


def test_what_was_taken_out_is_gone_at_once_and_what_is_installed_after_that_stays() -> None:
    async def story(world: ApiWorld, client: Client) -> None:
        assert (await present(world)).keys() >= OURS
        await uninstall(client)
        assert not (await present(world)).keys() & OURS
        await install(client)
        assert (await present(world)).keys() >= OURS

    play(story)


def test_a_definition_that_does_not_go_is_named_with_the_way_out() -> None:
    async def story(world: ApiWorld, client: Client) -> None:
        held = {"metadata": {"finalizers": ["example.com/hold"]}}
        assert (await world.patch(f"{DEFINITIONS}/{FIRST}", held, MERGE)).code == 200
        with pytest.raises(FleetError, match=rf"not gone after 60 s: {FIRST}; .* run `leeward deinit` again"):
            await uninstall(client)
        with pytest.raises(FleetError, match=f"not served after 60 s: {FIRST}"):
            await install(client)

    play(story)


async def policy(client: Client, **metadata: object) -> None:
    spec: Manifest = {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}], "placement": {}}
    await client.create(POLICIES, {"metadata": {"name": "web", **metadata}, "spec": spec}, "default")


def test_what_is_taken_out_is_not_waited_for_and_the_finalizers_of_others_stay() -> None:
    async def story(world: ApiWorld, client: Client) -> None:
        await policy(client, finalizers=["karmada.io/propagation-policy-controller", "example.com/cleans-up"])
        with pytest.raises(FleetError, match=r"propagationpolicies.*; objects with finalizers of others hold them"):
            await uninstall(client)
        found = await client.get(POLICIES, "web", "default")
        assert found["metadata"]["finalizers"] == ["example.com/cleans-up"]
        await client.patch(POLICIES, "web", {"metadata": {"finalizers": None}}, "default")
        await uninstall(client)
        assert not (await present(world)).keys() & OURS

    play(story)


def test_s5_nothing_is_taken_out_where_clusters_are_not_served_and_one_has_an_execution_space() -> None:
    """The Clusters' API may be changing hands; deinit that was broken off has no such namespaces any more."""

    async def story(world: ApiWorld, client: Client) -> None:
        await policy(client)
        assert (await world.delete(f"{DEFINITIONS}/clusters.cluster.karmada.io")).code == 200
        await world.create("/api/v1/namespaces", {"metadata": {"name": "karmada-es-member1"}})
        there = await present(world)
        with pytest.raises(FleetError, match=r"member1 is still joined: .* first"):
            await uninstall(client)
        assert await present(world) == there
        await world.delete("/api/v1/namespaces/karmada-es-member1")
        await uninstall(client)
        assert not (await present(world)).keys() & OURS

    play(story)
