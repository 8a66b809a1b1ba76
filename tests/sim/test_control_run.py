"""Control runs: what is rebalanced when all is over runs where it would run if nothing had failed."""

from unittest import mock

from simulator.histories.control_run import disagreements
from simulator.histories.model import Deploy, History, MemberStops
from simulator.histories.playing import play
from simulator.histories.users import Users
from tests.sim.scenarios import EVENLY, FLEET

LOST = History(
    seed=9,
    members=FLEET,
    steps=(Deploy(at=45, app="web", plan=EVENLY, replicas=6), MemberStops(at=80, lasts=150, member="m1")),
)


def test_what_has_moved_is_back_when_it_is_rebalanced() -> None:
    assert list(disagreements(play(LOST))) == []


def test_what_is_not_back_is_found() -> None:
    async def forget(*_: object) -> None:
        return None

    with mock.patch.object(Users, "_rebalance", forget):
        assert [text.partition(" is ")[0] for text in disagreements(play(LOST))] == ["default/web-deployment"]
