"""Planted bugs of groups that move together."""

from collections.abc import Mapping
from typing import Any
from unittest import mock

from leeward.core.placement import Decision
from leeward.planning import group_decisions
from simulator.histories.model import History, MemberStops, Plan, Replan, Scale
from simulator.histories.steered.casting import web
from tests.sim.planted_harm import PUSHED, Harm


def _alone() -> Any:
    """Each member is decided as if there was no other one."""
    return mock.patch.object(group_decisions, "members_of", return_value={})


def _unheard() -> Any:
    """Nobody says that the others are elsewhere."""

    def untold(_: object, decision: Decision) -> Decision:
        return decision

    return mock.patch(f"{group_decisions.__name__}._Group.told", untold)


def _plan(*clusters: str, group: str = "shop", **more: Any) -> Plan:
    return Plan(division="Aggregated", clusters=clusters, groups=(1, 1), group=group, **more)


def _grouped(*steps: Any) -> History:
    """Two applications of a group, which begin in m1; db tolerates an outage for longer."""
    home, patient = _plan("m1"), dict[str, Any](toleration_seconds=110)
    deployed = web(home, 2), web(_plan("m1", **patient), 2, app="db", at=50)
    wider = Replan(at=80, app="db", plan=_plan("m1", "m2", "m3", **patient))
    return History(seed=9, members=PUSHED, steps=(*deployed, wider, *steps, Scale(at=240, app="web", replicas=3)))


def _joined() -> History:
    """Two applications of which one is put into the group of the other, and is elsewhere."""
    deployed = web(_plan("m1"), 2), web(_plan("m2", group=""), 2, app="db", at=50)
    return History(seed=9, members=PUSHED, steps=(*deployed, Replan(at=80, app="db", plan=_plan("m2"))))


_NARROWER = Replan(at=100, app="web", plan=_plan("m2", "m3"))
_WIDER = Replan(at=80, app="web", plan=_plan("m1", "m2", "m3"))

GROUPS: Mapping[str, Harm] = {
    "move alone": Harm(_alone, "S21", _grouped(_NARROWER)),
    "leave alone": Harm(_alone, "S21", _grouped(_WIDER, MemberStops(at=100, lasts=130, member="m1"))),
    "part unheard": Harm(_unheard, "S21", _joined()),
}
