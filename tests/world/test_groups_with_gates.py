"""Groups whose members wait for gates: each says its own, and none waits for the others' beyond it."""

import pytest

from kubeapi.codec import render_yaml
from kubeapi.meta import Manifest
from leeward.api.meta import find_condition
from leeward.api.names import REPLACEMENT_HELD_CONDITION
from leeward.sim.world import World
from tests.world.stories import CONFIG_MAPS, POLICIES, play
from tests.world.test_groups import DB, THREE, WEB, member_of, running, serve, together

WAIT_FOR = "leeward.dev/wait-for"
PARTNERS = {"web": "db", "db": "web"}
BINDINGS = {"web": WEB, "db": DB}


def gated(name: str, gate: Manifest) -> Manifest:
    wanted = member_of("shop", name)
    wanted["metadata"]["annotations"][WAIT_FOR] = render_yaml({**gate, "tellAfter": "4m"})
    return wanted


def waiting(world: World, name: str) -> str:
    """Reason for which the replacement of an application does not start; empty where it may."""
    found = world.binding(BINDINGS[name])
    held = find_condition(found.status.conditions, REPLACEMENT_HELD_CONDITION) if found else None
    return held.reason if held is not None and held.status == "True" else ""


async def lost(world: World, gates: dict[str, Manifest]) -> str:
    """Both have left the dead cluster, and wait. Returns where they are to start."""
    home = await running(world, *(gated(name, gate) for name, gate in gates.items()))
    await world.member(home).stop()
    await world.until(lambda: together(world) not in ("", home), 900)
    await world.until(lambda: all(waiting(world, name) for name in gates), 120)
    return together(world)


@pytest.mark.parametrize("first", PARTNERS)
def test_a_member_starts_when_its_own_gate_opens(first: str) -> None:
    async def story(world: World) -> None:
        gates = {
            name: {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": f"{name}-volume",
                "for": "jsonpath={.data.state}=Primary",
            }
            for name in PARTNERS
        }
        goal, second = await lost(world, gates), PARTNERS[first]
        for name in (first, second):
            volume = {"metadata": {"name": f"{name}-volume"}, "data": {"state": "Primary"}}
            await world.member(goal).client.create(CONFIG_MAPS, volume, "default")
            await world.sleep(90)
            assert (waiting(world, name), await serve(world, goal, name)) == ("", True)
            assert bool(waiting(world, second)) == (name == first)
        assert together(world) == goal

    play(story, THREE)


def test_two_that_wait_for_one_another_say_so_until_one_may_start() -> None:
    async def story(world: World) -> None:
        gates = {
            name: {"apiVersion": "apps/v1", "kind": "Deployment", "name": other, "for": "condition=Available"}
            for name, other in PARTNERS.items()
        }
        goal = await lost(world, gates)
        await world.sleep(300)
        assert [waiting(world, name) for name in PARTNERS] == ["GateOverdue", "GateOverdue"]
        await world.client.patch(POLICIES, "db", {"metadata": {"annotations": {WAIT_FOR: None}}}, "default")
        await world.until(lambda: not any(waiting(world, name) for name in PARTNERS), 180)
        await world.sleep(90)
        assert (together(world), await serve(world, goal)) == (goal, True)

    play(story, THREE)
