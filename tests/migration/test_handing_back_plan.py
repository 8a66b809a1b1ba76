"""The plan of `leeward hand-back`: what it says is what happens then, and it writes nothing."""

from collections import Counter

import pytest

from leeward.app.local.errors import FleetError
from leeward.app.migration.adopting import adopt
from leeward.app.migration.handing_back import hand_back, plan_hand_back
from leeward.app.migration.kinds import CLUSTER_MANIFESTS
from leeward.app.migration.review import Remark, Weight, refusals
from leeward.operations.bindings import list_manifests
from tests.migration.aggregated import AggregatedWorld
from tests.migration.test_adopting import play
from tests.migration.test_switch import WATCHED_SECONDS, Writes


async def adopted(world: AggregatedWorld) -> None:
    await adopt(world.user, world.clock, lambda _: None)
    world.start_controllers()
    await world.sleep(WATCHED_SECONDS)
    await world.stop_controllers()
    await world.sleep(60)


async def planned(world: AggregatedWorld) -> list[Remark]:
    return await plan_hand_back(world.user, world.clock)


def changes(remarks: list[Remark]) -> list[str]:
    return [remark.sentence for remark in remarks if remark.weight is Weight.CHANGES]


@pytest.mark.long
def test_what_is_planned_is_done_and_planning_writes_nothing() -> None:
    async def story(world: AggregatedWorld) -> None:
        await adopted(world)
        before = len(await list_manifests(world.client, CLUSTER_MANIFESTS))
        writes = Writes(world)
        remarks = await planned(world)
        assert writes.all == []
        assert refusals(remarks) == []
        said = changes(remarks)
        assert said[0] == (
            f"{before} Clusters (member1, member2, member3) will be kept by Karmada's API server, as they are now"
        )
        told = list[str]()
        await hand_back(world.user, world.clock, told.append)
        put_back = [line.removeprefix("putting ").removesuffix(" back") for line in told if line.endswith(" back")]
        assert len([each for each in put_back if each[0].isupper()]) >= 2
        for name in (each for each in put_back if each[0].isupper()):
            assert f"{name} will be put back" in said
        (marked,) = (line.split()[1] for line in told if line.startswith("  from "))
        (templates,) = (line.split()[4] for line in told if line.startswith("taking the conditions of "))
        counts = Counter({line.split(" will lose ")[0]: 1 for line in said if " will lose " in line})
        assert counts == Counter([f"{marked} objects", f"{templates} Deployment templates"])
        with pytest.raises(FleetError, match="was not adopted"):
            await planned(world)

    play(story)


def test_what_would_refuse_refuses_the_plan() -> None:
    async def story(world: AggregatedWorld) -> None:
        with pytest.raises(FleetError, match="was not adopted"):
            await planned(world)
        await adopt(world.user, world.clock, lambda _: None)
        await world.client.delete(CLUSTER_MANIFESTS, "member2")
        assert ["member2 is being removed" in each.sentence for each in refusals(await planned(world))] == [True]
        world.start_controllers()
        await world.sleep(30)
        assert "stop `leeward serve` and `leeward webhook`" in {each.next for each in refusals(await planned(world))}

    play(story, applications=False)
