"""The brake in small fleets: clusters that fall silent at once look like a cut of our own, those that refuse do not."""

from collections.abc import Awaitable, Callable, Mapping

import pytest

from kubeapi.core import EVENTS
from leeward.answers.cluster_explanation import explain_cluster
from leeward.answers.imagined import ImaginedChange
from leeward.answers.what_if import what_if
from leeward.answers.what_if_sentences import brake_sentence
from leeward.api.meta import find_condition
from leeward.api.names import CLUSTER_OUTAGE_CONDITION
from leeward.api.resource import CLUSTERS
from leeward.core.cluster_health.brake import BrakeSettings
from leeward.manager.settings import ManagerSettings
from leeward.operations.brake import read_brake, release_brake
from leeward.sim.world import Mode, World
from tests.world.pictures import picture
from tests.world.stories import apply, deployment, in_world, play, policy

WEB = "web-deployment"
NAMES = ("member1", "member2", "member3", "member4")


def fleet(size: int, mode: Mode = "Push") -> dict[str, Mode]:
    return dict.fromkeys(NAMES[:size], mode)


NOWHERE: Mapping[str, str] = {}


async def place(world: World, places: Mapping[str, str] = NOWHERE) -> None:
    """Has an application placed in `member1`; `places` are regions."""
    for name, region in places.items():
        await world.client.patch(CLUSTERS, name, {"spec": {"region": region}})
    placement = {
        "clusterAffinities": [
            {"affinityName": "home", "clusterNames": ["member1"]},
            {"affinityName": "away", "clusterNames": [NAMES[len(world.members) - 1]]},
        ]
    }
    await apply(world.client, deployment("web", 2), policy("web", placement))
    await world.until(lambda: list(world.assigned(WEB)) == ["member1"], 60)
    await world.sleep(30)


async def moved_within(world: World, seconds: float) -> float | None:
    """Seconds after which it has left `member1`; None where it has not."""
    try:
        return await world.until(lambda: "member1" not in world.assigned(WEB), seconds)
    except TimeoutError:
        return None


@pytest.mark.parametrize("size", [3, 4])
def test_s4_two_clusters_that_fall_silent_at_once_are_held_for_ten_minutes(size: int) -> None:
    async def story(world: World) -> None:
        await place(world)
        world.member("member1").pause()
        world.member("member2").pause()
        await world.sleep(300)
        brake = await read_brake(world.client)
        assert (brake.brake.engaged, brake.reason) == (True, "SilentAtOnce")
        events = [e for e in (await world.client.list(EVENTS, "karmada-system")).items if e.reason == "BrakeEngaged"]
        assert ["fell silent at once" in event.message for event in events] == [True]
        binding = world.binding(WEB)
        assert binding is not None
        told = find_condition(binding.status.conditions, CLUSTER_OUTAGE_CONDITION)
        assert told is not None
        explained = [step.sentence for step in explain_cluster(await picture(world), "member1").next]
        for sentence in (told.message, next(each for each in explained if "no application leaves" in each)):
            assert "lusters fell silent at once" in sentence
            assert "most of the fleet" not in sentence.lower()
        await world.stop_controllers()
        world.start_controllers()
        assert await moved_within(world, 400) is None, "also after a restart"
        assert await moved_within(world, 600) is not None, "for a bounded time"
        assert not (await read_brake(world.client)).brake.engaged

    play(story, fleet(size))


@pytest.mark.parametrize("mode", ["Push", "Pull"])
def test_s4_a_cut_that_ends_in_time_moves_nothing(mode: Mode) -> None:
    async def story(world: World) -> None:
        await place(world)
        for name in ("member1", "member2"):
            world.member(name).pause()
        await world.sleep(550)
        assert (await read_brake(world.client)).reason == "SilentAtOnce"
        for name in ("member1", "member2"):
            world.member(name).resume()
        assert await moved_within(world, 900) is None

    play(story, fleet(3, mode))


async def both_refuse(world: World) -> None:
    await place(world)
    for name in ("member1", "member2"):
        await world.member(name).stop()


async def one_refuses(world: World) -> None:
    await place(world)
    await world.member("member1").stop()
    world.member("member2").pause()


async def a_region_is_lost(world: World) -> None:
    await place(world, {"member1": "north", "member2": "north", "member3": "south"})
    for name in ("member1", "member2"):
        world.member(name).pause()


async def one_after_the_other(world: World) -> None:
    await place(world)
    world.member("member2").pause()
    await world.sleep(40)
    world.member("member1").pause()


async def only_one(world: World) -> None:
    await place(world)
    world.member("member1").pause()


@pytest.mark.parametrize("dies", [both_refuse, one_refuses, a_region_is_lost, one_after_the_other, only_one])
@in_world(fleet(3))
async def test_l2_other_losses_fail_over_as_before(world: World, dies: Callable[[World], Awaitable[None]]) -> None:
    await dies(world)
    assert await moved_within(world, 660) is not None
    assert not (await read_brake(world.client)).brake.engaged


@in_world(fleet(2))
async def test_l2_a_fleet_of_two_fails_over_from_one_and_holds_both(world: World) -> None:
    await place(world)
    world.member("member1").pause()
    assert await moved_within(world, 660) is not None
    await world.member("member2").stop()
    await world.sleep(120)
    assert (await read_brake(world.client)).reason == "FleetLooksDead"


def test_l2_who_wants_less_switches_it_off_or_releases_the_brake() -> None:
    async def story(world: World) -> None:
        await place(world)
        for name in ("member1", "member2"):
            world.member(name).pause()
        if released:
            await world.sleep(120)
            await release_brake(world.client)
        assert await moved_within(world, 660) is not None

    for released in (False, True):
        settings = ManagerSettings(brake=BrakeSettings(silence_seconds=600 if released else 0))
        play(story, fleet(3), manager=settings)


@pytest.mark.parametrize(("places", "held"), [(NOWHERE, True), ({"member1": "north", "member2": "north"}, False)])
@in_world(fleet(3))
async def test_what_if_tells_that_silence_would_be_held_and_a_refusal_not(
    world: World, places: Mapping[str, str], held: bool
) -> None:
    await place(world, places)
    told = what_if(await picture(world), ImaginedChange(frozenset({"member1", "member2"})))
    assert (told.braked, told.held_if_silent) == (False, held)
    assert ("unless connections to the clusters time out" in brake_sentence(told)) is held
    one = what_if(await picture(world), ImaginedChange(frozenset({"member1"})))
    assert not one.held_if_silent
