"""Rehearsals as a user has them: of a picture of a world, from the file of a scenario."""

from pathlib import Path

import pytest

from kubeapi.codec import parse_yaml
from leeward.answers.fleet_state import FleetState
from leeward.sim.rehearsal.rehearsal import RehearsalReport, rehearse
from leeward.sim.rehearsal.scenario_file import parse_scenario
from leeward.sim.world import Mode, World
from tests.world.pictures import picture
from tests.world.stories import PUSH_PUSH_PULL, apply, play

EXAMPLES = Path(__file__).parents[2] / "examples"
FIVE: dict[str, Mode] = {f"member{number}": "Push" for number in range(1, 6)}


def picture_with(example: str, members: dict[str, Mode]) -> FleetState:
    taken: list[FleetState] = []

    async def story(world: World) -> None:
        await apply(world.client, *parse_yaml((EXAMPLES / f"{example}.yaml").read_text()))
        await world.sleep(60)
        taken.append(await picture(world))

    play(story, members)
    return taken[0]


def rehearsed(example: str, members: dict[str, Mode]) -> RehearsalReport:
    scenario = parse_scenario((EXAMPLES / f"rehearsals/{example}.yaml").read_bytes())
    return rehearse(picture_with(example, members), scenario)


@pytest.mark.parametrize(
    ("example", "members"), [("divided", PUSH_PUSH_PULL), ("duplicated", FIVE), ("pull", PUSH_PUSH_PULL)]
)
def test_the_scenarios_that_ship_hold(example: str, members: dict[str, Mode]) -> None:
    report = rehearsed(example, members)
    for event in report.timeline:
        print(event.after_seconds, event.sentence)
    assert [verdict.shortfalls for verdict in report.verdicts] == [[]] * len(report.verdicts)
    assert (report.left_out, report.differs) == ([], [])
