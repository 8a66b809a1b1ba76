"""Each checker can fail: what is planted against it is found, and without the bug the same history holds."""

import pytest

from leeward.sim.histories.model import ApiServerIsKilled, ControllersAreKilled, Deploy, History, Scale, Storm
from leeward.sim.histories.playing import play
from tests.sim.planted_server import SERVER_BUGS
from tests.sim.scenarios import FLEET, STATIC

BUSY = History(
    seed=3,
    members=FLEET,
    steps=(
        Deploy(at=45, app="web", plan=STATIC, replicas=4),
        Storm(
            at=50, lasts=60, who="controllers", whom="control-plane", rate=0.2, mishaps=("unanswered",), lag_seconds=0.5
        ),
        Scale(at=60, app="web", replicas=6),
        ApiServerIsKilled(at=80, lasts=5, power_cut=True),
        ControllersAreKilled(at=100, lasts=5),
    ),
)


def test_a_restart_with_a_power_cut_holds_every_invariant() -> None:
    assert play(BUSY).violations == []


@pytest.mark.parametrize("bug", SERVER_BUGS)
def test_a_planted_bug_of_the_api_server_is_found(bug: str) -> None:
    plant, invariant = SERVER_BUGS[bug]
    with plant():
        run = play(BUSY)
    assert invariant in {violation.invariant for violation in run.violations}
