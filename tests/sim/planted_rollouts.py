"""Planted bugs of changes that go to clusters in stages."""

from collections.abc import Mapping
from typing import Any
from unittest import mock

from msgspec import structs

from leeward.api.rollout import RolloutStage
from leeward.controllers.binding import rollouts
from leeward.core.rollout import staged_revisions, standings
from leeward.core.rollout.rollout_decision import Standing
from leeward.core.rollout.state import RolloutSight, RolloutState, Wishes, wishes_of
from simulator.histories.model import History, MemberStops, Plan, Release, Staging, SteerRollout
from simulator.histories.steered.casting import web
from tests.sim.planted_harm import PUSHED, Harm, both

_ADVANCE = staged_revisions._Advance  # pyright: ignore[reportPrivateUsage]


def _changed(*steps: Any, bad: bool = False, spare: bool = False, **staging: Any) -> History:
    """An application of all three clusters, or of two, gets a change; m1 is the canary."""
    staging = {"stages": (("m1",), ()), **staging}
    plan = Plan(
        division="Duplicated",
        clusters=("m1", "m2", "m3"),
        groups=(2, 2) if spare else (0, 0),
        staging=Staging(**staging),
    )
    return History(seed=9, members=PUSHED, steps=(web(plan, 2), Release(at=130, app="web", version=2, bad=bad), *steps))


def _wait_for_nobody() -> Any:
    """A stage is left as soon as all its clusters have the change."""
    return mock.patch.object(_ADVANCE, "_has_served", return_value=True)


def _never_be_done() -> Any:
    return mock.patch.object(_ADVANCE, "_has_served", return_value=False)


def _allow_all_to_be_unavailable() -> Any:
    return mock.patch.object(RolloutStage, "may_be_unavailable", return_value=99)


def _fail_over_with_the_change() -> Any:
    """A cluster that has no copy yet gets the newest revision."""

    def newest(state: RolloutState, found: Mapping[str, Standing]) -> dict[str, str]:
        return {name: state.target if each.revision is None else each.revision for name, each in found.items()}

    return mock.patch.object(staged_revisions, "as_they_are", newest)


def _believe_every_copy() -> Any:
    """A copy serves as soon as its Work is written."""
    return both(
        mock.patch.object(standings, "sight_of", return_value=RolloutSight.SERVING),
        mock.patch.object(staged_revisions, "_failed", return_value=()),
    )


def _ask_nobody() -> Any:
    """A stage with a pause is left without a person."""
    return mock.patch.object(_ADVANCE, "_is_approved", return_value=True)


def _overhear_a_pause() -> Any:
    def deaf(binding: Any) -> Wishes:
        return structs.replace(wishes_of(binding), paused=False)

    return mock.patch.object(rollouts, "wishes_of", deaf)


_STOPPED = MemberStops(at=132, lasts=200, member="m2")
_PAUSED = SteerRollout(at=135, app="web", wish="pause")

ROLLOUTS: Mapping[str, Harm] = {
    "wait for nobody": Harm(_wait_for_nobody, "S20", _changed()),
    "never be done": Harm(_never_be_done, "L1", _changed()),
    "allow all to be unavailable": Harm(_allow_all_to_be_unavailable, "S20", _changed(stages=((),))),
    "fail over with the change": Harm(_fail_over_with_the_change, "S20", _changed(_STOPPED, bad=True, spare=True)),
    "believe every copy": Harm(_believe_every_copy, "S20", _changed(bad=True)),
    "ask nobody": Harm(_ask_nobody, "S20", _changed(approval=True)),
    "overhear a pause": Harm(_overhear_a_pause, "S20", _changed(_PAUSED)),
}
