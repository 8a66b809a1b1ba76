"""Operations as an operator does and sees them, over the whole product on the virtual clock."""

import pytest

from leeward.operations.brake import read_brake, release_brake
from leeward.operations.clusters import ClusterState
from leeward.operations.drain import copies_in, start_drain, undo_drain
from leeward.operations.findings import Hold, Severity
from leeward.operations.status import FleetStatus, look_at_fleet
from leeward.operations.taints import CORDON, change_taints, with_taint, without_taints
from leeward.sim.world import World
from tests.world.stories import apply, by_weight, deployment, in_world, play, policy

BOTH = by_weight({"member1": 1, "member2": 1})
ONLY_MEMBER1 = {"clusterAffinity": {"clusterNames": ["member1"]}}


async def look(world: World) -> FleetStatus:
    return await look_at_fleet(world.client, world.clock)


def states(seen: FleetStatus) -> dict[str, ClusterState]:
    return {row.name: row.state for row in seen.clusters or ()}


@pytest.mark.long
def test_a_fleet_is_well_then_fails_then_is_dead_and_then_holds_what_has_no_place_to_go() -> None:
    async def story(world: World) -> None:
        await apply(world.client, deployment("web", 2), policy("web", BOTH))
        await apply(world.client, deployment("solo", 2), policy("solo", ONLY_MEMBER1))
        await world.sleep(60)
        seen = await look(world)
        assert (seen.findings, seen.unseen) == ([], [])
        assert (seen.applications, seen.replicas) == (2, 4)
        assert {row.name: (row.replicas, row.applications) for row in seen.clusters or ()} == {
            "member1": (3, 2),
            "member2": (1, 1),
            "member3": (0, 0),
        }

        await world.member("member1").stop()
        await world.until(lambda: states_of_world(world) == "failing")
        (finding,) = (await look(world)).findings
        assert (finding.severity, finding.about) == (Severity.SOON, "cluster/member1")

        await world.until(lambda: not world.is_ready("member1"))
        seen = await look(world)
        finding = seen.findings[0]
        assert (finding.severity, finding.about) == (Severity.NEEDS_SOMEBODY, "cluster/member1")
        assert finding.details == ("2 applications have no planned eviction",)
        assert next(row.name for row in seen.clusters or ()) == "member1", "the worst row first"

        await world.sleep(900)
        seen = await look(world)
        about = [finding.about for finding in seen.findings]
        assert about == ["applications", "deployment/default/solo", "cluster/member1"]
        assert seen.findings[0].sentence == "1 of 2 applications is down"
        assert seen.findings[2].details == ("1 application cannot move",)
        (held,) = seen.held
        assert (held.workload, held.hold, held.reason) == ("Deployment default/solo", Hold.HELD, "NoPlaceToGo")

        await world.member("member1").start()
        await world.until(lambda: world.is_ready("member1"))
        await world.sleep(120)
        assert (await look(world)).findings == []

    def states_of_world(world: World) -> str:
        cluster = world.cluster("member1")
        return "failing" if any(c.type == "leeward.dev/Failing" for c in cluster.status.conditions) else ""

    play(story)


@pytest.mark.long
@in_world()
async def test_a_drain_is_told_until_nothing_is_left_and_a_cordon_is_only_a_row(world: World) -> None:
    await apply(world.client, deployment("web", 2), policy("web", BOTH))
    await world.sleep(60)
    await start_drain(world.client, "member1", None)
    await change_taints(world.client, "member2", with_taint(CORDON))
    await world.sleep(0.5)
    seen = await look(world)
    assert states(seen)["member1"] is ClusterState.DRAINING
    assert states(seen)["member2"] is ClusterState.CORDONED
    assert [(finding.severity, finding.about) for finding in seen.findings if finding.about.startswith("c")] == [
        (Severity.SOON, "cluster/member1")
    ]

    await change_taints(world.client, "member2", without_taints(CORDON))
    await world.sleep(120)
    assert await copies_in(world.client, "member1") == []
    seen = await look(world)
    assert (seen.findings, states(seen)["member1"]) == ([], ClusterState.DRAINED)
    assert await undo_drain(world.client, "member1")
    assert not await undo_drain(world.client, "member1")
    assert states(await look(world))["member1"] is ClusterState.READY


@in_world()
async def test_a_brake_is_told_and_released(world: World) -> None:
    await world.sleep(60)
    assert not (await release_brake(world.client)).brake.engaged
    for name in world.members:
        await world.member(name).stop()
    await world.sleep(300)
    seen = await look(world)
    assert seen.findings[0].about == "brake"
    assert seen.findings[0].sentence.startswith("the brake is engaged (since ")
    assert (await release_brake(world.client)).brake.engaged
    assert (await read_brake(world.client)).brake.overruled
    await world.sleep(1)
    assert "the brake was released by hand: evictions are allowed until the fleet looks well again" in {
        f.sentence.partition(",")[0] for f in (await look(world)).findings
    }
