"""Histories: drawn from a seed, told as data, and the same to the last byte each time they are played."""

import asyncio
import gc

import pytest

from kubeapi.loop.virtual import run_virtual
from kubeclient import Unreachable
from simulator.histories import campaign
from simulator.histories.generator import draw_history
from simulator.histories.model import (
    CutOff,
    Deploy,
    Explain,
    History,
    MemberIsKilled,
    MemberStops,
    Plan,
    Release,
    read_history,
    write_history,
)
from simulator.histories.persistent_client import PATIENCE_SECONDS, PersistentClient
from simulator.histories.playing import USERS_SECONDS, play
from simulator.histories.users import Users

STATIC = Plan(division="Static", clusters=("m1", "m2"), weights=(1, 2))
OUTAGE = History(
    seed=1,
    members=(("m1", "Push"), ("m2", "Pull")),
    steps=(
        Deploy(at=45, app="web", plan=STATIC, replicas=3),
        MemberStops(at=70, lasts=70, member="m2"),
        Release(at=100, app="web", version=2),
    ),
)


def test_a_history_survives_being_written_down() -> None:
    for seed in range(50):
        history = draw_history(seed)
        assert read_history(write_history(history)) == history


def test_l1_a_failover_and_its_end_hold_every_invariant() -> None:
    run = play(OUTAGE)
    assert run.violations == []
    assert run.writes > 100


@pytest.mark.parametrize("tenths", range(0, 40, 5))
def test_a_history_ends_though_a_member_dies_beside_its_operator(tenths: int) -> None:
    """An operator works from the moment at which its object is made: for three seconds."""
    duplicated = Plan(division="Duplicated", clusters=("m1",), groups=(1, 1))
    run = play(
        History(
            seed=1,
            members=(("m1", "Push"),),
            steps=(
                Explain(at=36, version=1),
                Deploy(at=45, app="app1", plan=duplicated, replicas=2, scripted=True),
                MemberIsKilled(at=45 + tenths / 10, lasts=20, member="m1"),
            ),
        )
    )
    assert run.violations == []


def test_a_history_ends_though_what_a_user_waits_for_never_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait for a user ends in virtual time."""

    async def waits(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Users, "do", waits)
    run = play(History(seed=1, members=(("m1", "Push"),), steps=(Explain(at=36, version=1),)))
    assert run.seconds > 36 + USERS_SECONDS
    assert run.violations == []


def test_a_user_does_not_insist_for_ever_on_an_answer() -> None:
    async def unanswered() -> None:
        raise Unreachable("nobody answers")

    async def insists() -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert not await PersistentClient.insist(object.__new__(PersistentClient), unanswered)
        return loop.time() - began

    assert PATIENCE_SECONDS < run_virtual(insists()) <= PATIENCE_SECONDS + 2


@pytest.mark.parametrize("seed", [1, 4])
def test_the_same_seed_gives_the_same_trace(seed: int) -> None:
    first, second = play(draw_history(seed)), play(draw_history(seed))
    assert first.trace_hash == second.trace_hash
    assert first.violations == second.violations == []


def test_a_history_is_the_same_whatever_order_sets_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dependants of an object were looked at in the order of a set, and slow requests came in another one."""
    monkeypatch.setattr(campaign, "TWICE", 1)
    monkeypatch.setattr(gc, "disable", lambda: None)
    assert campaign.examine(40130).problems == ()
    monkeypatch.setattr(campaign, "draw_history", {40130: OUTAGE}.__getitem__)
    (problem,) = campaign.examine(40130).problems
    assert problem.startswith("the same seed gave another trace where sets have another order: ")


def test_a_cut_off_control_plane_evicts_nothing() -> None:
    steps = (
        Deploy(at=45, app="web", plan=Plan(division="Duplicated", clusters=("m1", "m2", "m3"), groups=(1, 2))),
        CutOff(at=80, lasts=150),
    )
    run = play(History(seed=7, members=(("m1", "Push"), ("m2", "Pull"), ("m3", "Push")), steps=steps))
    assert run.violations == []


def test_s19_a_cluster_that_fails_twice_soon_has_one_outage_that_is_told_as_it_was() -> None:
    steps = (
        Deploy(at=45, app="web", plan=STATIC, replicas=3),
        MemberStops(at=80, lasts=70, member="m2"),
        MemberStops(at=190, lasts=70, member="m2"),
    )
    assert play(History(seed=1, members=OUTAGE.members, steps=steps)).violations == []
