"""Leeward is installed into a control plane and taken out again, on virtual time."""

from collections.abc import Awaitable, Callable

import pytest

from kubeapi.meta import Manifest
from leeward.app.install.installing import install, uninstall
from leeward.app.install.manifests import definitions
from leeward.app.local.errors import FleetError
from leeward.client import Client
from tests.kubeserver.api_world import DEFINITIONS, MERGE, ApiWorld, tell

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
