"""Clients that wait for templates, `kubectl` and `helm --wait`: which of them end is what the documentation says."""

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.sim.world import World
from tests.waiting_clients import CLIENTS, TEMPLATES, documented, ends, policy_for
from tests.world.stories import apply, in_world, play


def _plural(template: Manifest) -> Resource[Manifest]:
    return Resource.of_manifests(template["apiVersion"], template["kind"].lower() + "s", template["kind"], True)


@pytest.mark.long
def test_clients_that_wait_end_where_the_documentation_says_so() -> None:
    found = dict[str, dict[str, bool]]()

    async def story(world: World) -> None:
        for template, placement in TEMPLATES.values():
            await world.client.create(_plural(template), template, "default")
            await apply(world.client, policy_for(template, placement))
        await world.sleep(120)
        for words, (template, _) in TEMPLATES.items():
            there = await world.client.get(_plural(template), template["metadata"]["name"], "default")
            found[words] = {client: ends(client, {**there, "kind": template["kind"]}) for client in CLIENTS}

    play(story, {"member1": "Push", "member2": "Push"})
    assert found == documented()


@in_world({"member1": "Push", "member2": "Push"})
async def test_nobody_ends_before_the_members_have_reported(world: World) -> None:
    for member in ("member1", "member2"):
        await world.member(member).stop()
    kinds = ("Deployment, divided", "StatefulSet, divided", "DaemonSet", "Job, divided")
    for template, placement in (TEMPLATES[words] for words in kinds):
        await world.client.create(_plural(template), template, "default")
        await apply(world.client, policy_for(template, placement))
    await world.sleep(60)
    for words in kinds:
        template, _ = TEMPLATES[words]
        there = await world.client.get(_plural(template), template["metadata"]["name"], "default")
        assert not any(ends(client, {**there, "kind": template["kind"]}) for client in CLIENTS), words
