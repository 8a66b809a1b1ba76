"""DaemonSets: nothing that serves goes for a copy that runs nothing, because no node of its cluster is meant."""

from collections.abc import Mapping

import pytest

from kubeapi.core import NODES
from kubeapi.meta import Manifest
from leeward.operations.drain import start_drain
from leeward.sim.world import Mode, World
from tests.world.stories import POLICIES, apply, identities, play, policy, tasks
from tests.world.test_claims_found_again import ONE
from tests.world.test_ownership import on
from tests.world.test_templates_in_outages import DAEMON_SETS

PUSH: Mapping[str, Mode] = dict.fromkeys(("member1", "member2", "member3"), "Push")
FOUR: Mapping[str, Mode] = {**PUSH, "member4": "Push"}
AGENT = "agent-daemonset"


async def agent_runs(world: World, placement: Manifest, *chosen: str) -> None:
    """A DaemonSet for nodes with a label, which those of the `chosen` members have."""
    for member in chosen:
        await choose(world, member)
    labels = {"app": "agent"}
    pod = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "agent", "image": "agent"}], "nodeSelector": {"gpu": "yes"}},
    }
    spec = {"selector": {"matchLabels": labels}, "template": pod}
    agent = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"}, "spec": spec}
    await world.client.create(DAEMON_SETS, agent, "default")
    await apply(world.client, policy("agent", placement, "DaemonSet"))
    await world.sleep(90)


async def choose(world: World, member: str) -> None:
    client = world.member(member).client
    for node in (await client.list(NODES)).items:
        await client.patch(NODES, node.name, {"metadata": {"labels": {"gpu": "yes"}}})


async def ready(world: World) -> dict[str, int]:
    """Ready Pods by member that has the DaemonSet."""
    there = await identities(world, "agent", resource=DAEMON_SETS)
    found = {name: await world.member(name).client.get(DAEMON_SETS, "agent", "default") for name in there}
    return {name: each["status"].get("numberReady", 0) for name, each in found.items()}


async def place(world: World, placement: Manifest) -> None:
    await world.client.patch(POLICIES, "agent", {"spec": {"placement": placement}}, "default")


@pytest.mark.parametrize("way", ["drain", "edit"])
def test_s1_a_copy_that_runs_nothing_replaces_none(way: str) -> None:
    async def story(world: World) -> None:
        await agent_runs(world, on("member1"), "member1")
        assert await ready(world) == {"member1": 2}
        if way == "drain":
            await start_drain(world.client, "member1", None)
        await place(world, ONE if way == "drain" else on("member2"))
        await world.sleep(1500)
        (new,) = world.assigned(AGENT).keys() - {"member1"}
        assert await ready(world) == {"member1": 2, new: 0}
        await choose(world, new)
        await world.sleep(900)
        assert (await ready(world), tasks(world, AGENT)) == ({new: 2}, [])

    play(story, PUSH)


def test_s1_a_copy_that_runs_nothing_takes_over_from_no_cluster_that_is_away() -> None:
    async def story(world: World) -> None:
        await agent_runs(world, on("member1"), "member1")
        await place(world, ONE)
        await world.member("member1").stop()
        await world.sleep(1500)
        await world.member("member1").start()
        await world.sleep(600)
        assert (await ready(world))["member1"] == 2

    play(story, PUSH)


@pytest.mark.parametrize("way", ["drain", "edit"])
def test_a_copy_goes_that_runs_nothing(way: str) -> None:
    async def story(world: World) -> None:
        await agent_runs(world, ONE)
        (old,) = world.assigned(AGENT)
        if way == "drain":
            await start_drain(world.client, old, None)
        else:
            await place(world, on(*(name for name in PUSH if name != old)))
        await world.sleep(1500)
        assert old not in await ready(world)
        assert tasks(world, AGENT) == []

    play(story, PUSH)


@pytest.mark.parametrize("way", ["drain", "edit"])
def test_a_copy_that_runs_nothing_holds_up_none_beside_it(way: str) -> None:
    """The copy of another cluster goes or moves, beside one without a node for the DaemonSet."""

    async def story(world: World) -> None:
        two = {**ONE, "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 3, "maxGroups": 3}]}
        await agent_runs(world, two | on("member1", "member2", "member3"), "member1", "member3", "member4")
        assert await ready(world) == {"member1": 2, "member2": 0, "member3": 2}
        if way == "drain":
            await place(world, two | on(*FOUR))
            await start_drain(world.client, "member3", None)
        else:
            await place(world, {"spreadConstraints": None, **on("member1", "member2")})
        await world.sleep(1500)
        moved = {"member4": 2} if way == "drain" else {}
        assert await ready(world) == {"member1": 2, "member2": 0, **moved}
        assert tasks(world, AGENT) == []

    play(story, FOUR)
