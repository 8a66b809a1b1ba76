"""Room by the grades of nodes, with which the scheduler counts, and by the sum of what is free: answers tell both."""

from dataclasses import replace
from pathlib import Path

import pytest

from kubeapi.loop.virtual import run_virtual
from kubecluster.settings import WorkloadSettings
from leeward.answers.fleet_state import FleetState, encode_state
from leeward.answers.imagined import ImaginedChange
from leeward.answers.resilience import survey
from leeward.answers.room_arithmetic import ESTIMATED
from leeward.answers.what_if import what_if
from leeward.cli.rehearse_text import rehearsal_lines
from leeward.cli.what_if_text import what_if_lines
from leeward.manager.settings import ManagerSettings
from leeward.manager.timing import Timing
from leeward.sim.rehearsal.rehearsal import rehearse
from leeward.sim.rehearsal.scenario_file import API_VERSION, Scenario, ScenarioSpec, ScenarioStep
from leeward.sim.world import World
from tests.verbs import call_verb
from tests.world.estimators import MEMBERS, WorldEstimator, play_with_estimators
from tests.world.pictures import picture
from tests.world.stories import apply, held, policy
from tests.world.test_explain import explain
from tests.world.test_quota import asking

AGGREGATED = {"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}}


def test_room_that_only_grades_do_not_see_is_told_and_not_called_no_place_to_go() -> None:
    """A node with 15 cores free counts as one of 8, one with 7.5 as one of 4."""
    pictures: list[FleetState] = []

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
            assert told.headline.endswith("By the sum of what is free, 1 more would fit")

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
            assert "By the sum of what is free, and not by the grades of nodes, 1 replica more would fit" in said
            assert "Free capacity is counted by the grades of nodes (spec.resourceModels) in 2 clusters" in said
            assert "NoPlaceToGo" not in said
            (loss,) = survey(state, {"member1": frozenset({"member1"})}).losses
            assert loss.by_sum == 1
            pictures.append(state)
            await world.member("member1").stop()
            await world.until(lambda: held(world, "web-deployment") == "NoPlaceToGo", 900)
            told = await explain(world)
            assert "NoPlaceToGo" not in told.headline

    run_virtual(run())
    steps = (ScenarioStep(fail=("member1",)),)
    report = rehearse(
        pictures[0], Scenario(api_version=API_VERSION, kind="Rehearsal", spec=ScenarioSpec(steps=steps, duration="15m"))
    )
    (played,) = [each for each in report.applications if each.binding == "default/web-deployment"]
    assert (played.held, played.by_sum) == ("NoPlaceToGo", 1)
    said = " ".join(" ".join(rehearsal_lines(report)).split())
    assert "Deployment default/web: The scheduler counts by the grades of nodes" in said


def test_answers_say_beforehand_that_the_scheduler_also_asks_estimators(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "fleet.json"

    async def story(world: World, _: WorldEstimator) -> None:
        await apply(world.client, asking("web", 2, "1"), policy("web", AGGREGATED))
        await world.sleep(60)
        file.write_bytes(encode_state(await picture(world)))

    nodes = {name: WorkloadSettings(nodes=1, node_cpu="8") for name in MEMBERS}
    play_with_estimators(story, nodes, lambda estimator: ManagerSettings(cluster_estimator=estimator))
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(
        f"{{apiVersion: {API_VERSION}, kind: Rehearsal, spec: {{duration: 1m, steps: [{{at: 0s, fail: [member1]}}]}}}}"
    )
    for question in (
        ("explain", "deploy/web"),
        ("what-if", "--fail", "member1"),
        ("resilience",),
        ("rehearse", str(scenario)),
    ):
        _, out, _ = call_verb(capsys, *question, "--from", file)
        assert ESTIMATED in " ".join(out.split()), question
