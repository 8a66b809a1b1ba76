"""One decision about a cluster that comes and goes: its score, its taint, and when to look again."""

import json

import msgspec
import pytest

from kubeapi.core import Taint
from leeward.api.cluster import Cluster
from leeward.api.names import FLAPPING_ANNOTATION, FLAPPING_TAINT, POLICY_TAINTS_ANNOTATION
from leeward.core.cluster_health.flap_damping import (
    Flapping,
    HoldDown,
    HoldDownSettings,
    decide_hold_down,
    hold_down_seconds,
    is_held_down,
    score_at,
)
from tests.builders import at, cluster

SETTINGS = HoldDownSettings(half_life_seconds=1_000, first_seconds=100, longest_seconds=400)
LOST = Taint("cluster.karmada.io/not-ready", "NoExecute", time_added=at(0))
BY_HAND = Taint("example.com/x", "NoExecute", time_added=at(0))
HELD = Taint(FLAPPING_TAINT, "NoSchedule", time_added=at(0))


def member(
    *taints: Taint, score: float = 0, until: float | None = None, ready: str = "True", policy: str = ""
) -> Cluster:
    there = cluster("m1", ready, taints=taints)
    memory = {"score": score, "at": "2026-01-01T00:00:00Z"}
    if until is not None:
        memory["until"] = f"2026-01-01T00:{int(until // 60):02}:{int(until % 60):02}Z"
    marks = {POLICY_TAINTS_ANNOTATION: policy} if policy else {}
    annotations = {**marks, **({FLAPPING_ANNOTATION: json.dumps(memory)} if score else {})}
    return msgspec.structs.replace(there, metadata=msgspec.structs.replace(there.metadata, annotations=annotations))


def decide(there: Cluster, *taints: Taint, seconds: float) -> tuple[HoldDown, object]:
    """The decision without its annotation, and what that says."""
    decision = decide_hold_down(there, taints, at(seconds), SETTINGS)
    text = decision.annotations.get(FLAPPING_ANNOTATION, "")
    said = json.loads(text) if text else text
    return bare(decision), said


def bare(decision: HoldDown) -> HoldDown:
    return HoldDown(decision.taints, {}, decision.wake_at, decision.began)


def told(score: float, seconds: int, until: int | None = None) -> dict[str, object]:
    base: dict[str, object] = {"score": score, "at": f"2026-01-01T00:{seconds // 60:02}:{seconds % 60:02}Z"}
    return base if until is None else {**base, "until": f"2026-01-01T00:{until // 60:02}:{until % 60:02}Z"}


def test_a_first_return_is_remembered_and_holds_nothing_down() -> None:
    found, said = decide(member(LOST, BY_HAND), BY_HAND, seconds=10.5)
    assert (found, said) == (HoldDown((BY_HAND,), wake_at=at(4_010)), told(1, 10))


@pytest.mark.parametrize(
    ("score", "seconds", "becomes", "held"), [(1, 10, 1.993, 100), (2, 10, 2.986, 198), (8, 10, 8.945, 400)]
)
def test_c1_a_second_return_is_held_down_and_each_further_one_for_longer(
    score: float, seconds: int, becomes: float, held: int
) -> None:
    found, said = decide(member(LOST, score=score), seconds=seconds)
    flapping = Flapping(becomes, at(seconds), at(seconds + held))
    taint = msgspec.structs.replace(HELD, time_added=at(seconds))
    assert (found, said) == (
        HoldDown((taint,), {}, at(seconds + held), flapping),
        told(becomes, seconds, seconds + held),
    )


def test_who_returns_while_it_is_held_down_is_held_down_anew() -> None:
    found, _ = decide(member(LOST, HELD, score=2, until=100), BY_HAND, HELD, seconds=50)
    assert found.taints == (BY_HAND, msgspec.structs.replace(HELD, time_added=at(50)))


def test_an_old_score_that_is_small_lets_the_taint_of_an_earlier_one_go() -> None:
    found, said = decide(member(LOST, HELD, score=0.4), HELD, seconds=0)
    assert (found.taints, found.began, said) == ((), None, told(1.4, 0))


@pytest.mark.parametrize(
    "there",
    [
        member(LOST, ready="False"),
        member(BY_HAND),
        member(Taint("cluster.karmada.io/not-ready", "NoSchedule", time_added=at(0))),
        member(LOST, policy="cluster.karmada.io/not-ready:NoExecute"),
    ],
    ids=["not ready", "by hand", "it was never driven out", "a policy's"],
)
def test_nothing_else_is_a_return(there: Cluster) -> None:
    assert decide_hold_down(there, (), at(10), SETTINGS) == HoldDown(())
    stays = decide_hold_down(member(LOST), (LOST,), at(10), SETTINGS)
    assert stays == HoldDown((LOST,)), "nor what is still driven out"
    off = HoldDownSettings(enabled=False)
    assert decide_hold_down(member(LOST), (), at(10), off) == HoldDown(())


def test_a_hold_down_ends_at_its_instant_and_is_forgotten_when_little_is_left_of_the_score() -> None:
    held = member(HELD, score=2, until=100)
    assert decide(held, HELD, seconds=99) == (HoldDown((HELD,), wake_at=at(100)), "")
    assert decide(held, HELD, BY_HAND, seconds=100) == (HoldDown((BY_HAND,), wake_at=at(5_000)), told(2, 0))
    free = member(score=2)
    assert decide(free, seconds=4_999) == (HoldDown((), wake_at=at(5_000)), "")
    over = decide_hold_down(free, (BY_HAND,), at(5_000), SETTINGS)
    assert over == HoldDown((BY_HAND,), {FLAPPING_ANNOTATION: None})
    assert decide(member(score=0.05), seconds=0)[0] == HoldDown(())


@pytest.mark.parametrize(("score", "forgotten"), [(0.2, 2_000), (0.1, 1_000), (0.4, 3_000), (0.05, 0)])
def test_a_score_is_forgotten_when_less_than_a_tenth_is_left(score: float, forgotten: int) -> None:
    assert decide_hold_down(member(score=score), (), at(forgotten), SETTINGS).annotations
    if forgotten:
        assert not decide_hold_down(member(score=score), (), at(forgotten - 1), SETTINGS).annotations


def test_a_score_halves_and_never_grows_by_a_clock_that_was_ahead() -> None:
    memory = Flapping(2, at(100))
    assert [score_at(memory, at(seconds), 1_000) for seconds in (0, 100, 1_100, 2_100)] == [2, 2, 1, 0.5]
    assert score_at(None, at(0), 1_000) == 0


@pytest.mark.parametrize(
    ("score", "seconds"),
    [(1, 0), (1.49, 0), (1.5, 70.7), (2, 100), (3, 200), (3.5, 282.8), (4, 400), (9, 400), (1e9, 400)],
)
def test_c1_a_hold_down_doubles_with_each_point_up_to_its_bound(score: float, seconds: float) -> None:
    assert hold_down_seconds(score, SETTINGS) == pytest.approx(seconds, abs=0.1)


def test_who_is_held_down_has_the_taint() -> None:
    assert is_held_down(member(BY_HAND, HELD))
    assert not is_held_down(member(BY_HAND))
    assert not is_held_down(member())
