"""Each checker can fail: what is planted against it is found, and without the bug the same history holds."""

from unittest import mock

import pytest

from controller_runtime.leader import FencedTransport, LeaderElector
from kubeapi.core import Lease
from kubeclient import Request, Response
from leeward.runtime.shard_leases import ShardElector
from simulator.histories.model import (
    ApiServerIsKilled,
    ControllersAreKilled,
    Deploy,
    History,
    LeaderIsPaused,
    MemberStops,
    Scale,
    ShardIsPaused,
    Storm,
)
from simulator.histories.playing import play
from tests.sim.planted import planted
from tests.sim.planted_groups import GROUPS
from tests.sim.planted_harm import HARM
from tests.sim.planted_outages import OUTAGES
from tests.sim.planted_policies import POLICIES
from tests.sim.planted_propagation import PROPAGATION
from tests.sim.planted_rollouts import ROLLOUTS
from tests.sim.planted_server import SERVER_BUGS
from tests.sim.planted_surroundings import SURROUNDINGS
from tests.sim.scenarios import FLEET, STATIC

BUSY = History(
    seed=3,
    members=FLEET,
    revisions=10,
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


PAUSED = History(
    seed=3,
    members=FLEET,
    steps=(
        Deploy(at=45, app="web", plan=STATIC, replicas=4),
        LeaderIsPaused(at=60, lasts=70, after=10, pause_seconds=30),
        Scale(at=70.05, app="web", replicas=6),
    ),
)


def test_s8_a_leader_that_was_paused_begins_no_write_when_its_lease_has_ended() -> None:
    run = play(PAUSED)
    assert run.reached["a write is not begun because the lease has ended"] == 1
    assert run.violations == []


def test_s8_a_write_behind_the_end_of_a_lease_is_found() -> None:
    async def unfenced(self: FencedTransport, request: Request, *, timeout_seconds: float) -> Response:
        return await self._inner.send(request, timeout_seconds=timeout_seconds)  # pyright: ignore[reportPrivateUsage]

    with mock.patch.object(FencedTransport, "send", unfenced):
        assert {violation.invariant for violation in play(PAUSED).violations} == {"S8"}


def sharded(who: str, *, undivided: bool = False) -> History:
    paused = ShardIsPaused(at=60, lasts=100, who=who, after=20, pause_seconds=30, undivided=undivided)
    grown = [
        Scale(at=round(79.94 + 0.02 * number, 3), app=f"web-{number % 4}", replicas=5 + number) for number in range(4)
    ]
    late = [Scale(at=round(92 + number, 3), app=f"web-{number % 4}", replicas=3 + number % 5) for number in range(12)]
    deployed = [Deploy(at=45, app=f"web-{number}", plan=STATIC, replicas=4) for number in range(4)]
    return History(seed=3, members=FLEET, steps=(*deployed, paused, *grown, *late))


@pytest.mark.parametrize("undivided", [False, True])
@pytest.mark.parametrize("who", ["leader", "shard 0", "shard 1"])
def test_s8_a_shard_that_was_paused_or_lost_its_leader_begins_no_write(who: str, undivided: bool) -> None:
    run = play(sharded(who, undivided=undivided))
    assert run.violations == []
    assert run.reached["a shard does not begin a write that it may not"] == 1
    assert run.reached["a shard goes on when another acts for it"] == (who != "leader")


def test_s8_a_write_of_a_shard_that_does_not_ask_for_its_leaders_lease_is_found() -> None:
    both = ShardElector.leaderships.fget
    assert both is not None
    with mock.patch.object(ShardElector, "leaderships", property(lambda self: both(self)[:1])):
        violations = play(sharded("leader", undivided=True)).violations
    assert {violation.invariant for violation in violations} == {"S8"}


def test_s8_a_shard_that_is_taken_from_who_holds_it_is_found() -> None:
    expired = LeaderElector._has_expired  # pyright: ignore[reportPrivateUsage]

    def impatient(self: LeaderElector, lease: Lease) -> bool:
        return lease.name.startswith("leeward-shard-") or expired(self, lease)

    with mock.patch.object(LeaderElector, "_has_expired", impatient):
        violations = play(sharded("shard 0")).violations
    assert {violation.invariant for violation in violations} == {"S8"}


def test_l2_an_eviction_that_is_forgotten_is_found() -> None:
    lost = MemberStops(at=80, lasts=120, member="m1")
    history = History(seed=9, members=FLEET, steps=(Deploy(at=45, app="web", plan=STATIC, replicas=4), lost))
    assert play(history).violations == []
    with planted("forget to evict"):
        assert {violation.invariant for violation in play(history).violations} == {"L2"}


ALL_HARM = {**HARM, **PROPAGATION, **POLICIES, **GROUPS, **ROLLOUTS, **OUTAGES, **SURROUNDINGS}


@pytest.mark.parametrize("bug", ALL_HARM)
def test_a_planted_bug_that_does_harm_is_found_by_the_checker_that_is_there_for_it(bug: str) -> None:
    harm = ALL_HARM[bug]
    assert play(harm.history).violations == []
    with harm.plant():
        run = play(harm.history)
    assert harm.breaks in {violation.invariant for violation in run.violations}
