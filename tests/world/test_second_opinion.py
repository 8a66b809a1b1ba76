"""Room by the grades of nodes, with which the scheduler counts, and by the sum of what is free: answers tell both."""

from dataclasses import replace

from kubeapi.loop.virtual import run_virtual
from leeward.answers.imagined import ImaginedChange
from leeward.answers.resilience import survey
from leeward.answers.what_if import what_if
from leeward.cli.what_if_text import what_if_lines
from leeward.manager.timing import Timing
from leeward.sim.world import World
from tests.world.pictures import picture
from tests.world.stories import apply, held, policy
from tests.world.test_explain import explain
from tests.world.test_quota import asking

AGGREGATED = {"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}}


def test_room_that_only_grades_do_not_see_is_told_and_not_called_no_place_to_go() -> None:
    """A node with 15 cores free counts as one of 8, one with 7.5 as one of 4."""

    async def run() -> None:
        world = World({"member1": "Push", "member2": "Push"}, Timing.karmada())
        for member in world.members.values():
            member.workloads = replace(member.workloads, nodes=1, node_cpu="15")
            member.nodes = 1
        async with world:
            await world.until(lambda: all(world.is_ready(name) for name in world.members), 60)
            await apply(world.client, asking("large", 1, "10"), policy("large", AGGREGATED))
            await world.sleep(60)
            assert world.assigned("large-deployment") == {}
            told = await explain(world, "deploy/large")
            assert "NoPlaceToGo" not in told.headline
            assert told.headline.endswith("by the sum of what is free, 1 more would fit")

            only = {"clusterAffinity": {"clusterNames": ["member2"]}, **AGGREGATED}
            await apply(world.client, asking("other", 1, "7500m"), policy("other", only))
            await apply(world.client, asking("web", 1, "7"), policy("web", AGGREGATED))
            await world.sleep(120)
            assert world.assigned("web-deployment") == {"member1": 1}
            state = await picture(world)
            lost = what_if(state, ImaginedChange(fails=frozenset({"member1"})))
            (fate,) = [each for each in lost.applications if each.binding == "default/web-deployment"]
            assert (fate.reason, fate.by_sum, lost.by_grade) == ("NoPlaceToGo", 1, ["member1", "member2"])
            said = " ".join(" ".join(what_if_lines(lost)).split())
            assert "by the sum of what is free, 1 replica more would find room" in said
            assert "Room is counted by the grades of nodes (spec.resourceModels) in 2 clusters" in said
            assert "NoPlaceToGo" not in said
            (loss,) = survey(state, {"member1": frozenset({"member1"})}).losses
            assert loss.by_sum == 1
            await world.member("member1").stop()
            await world.until(lambda: held(world, "web-deployment") == "NoPlaceToGo", 900)
            told = await explain(world)
            assert "NoPlaceToGo" not in told.headline

    run_virtual(run())
