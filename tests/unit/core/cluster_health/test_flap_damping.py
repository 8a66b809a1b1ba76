"""A cluster that comes and goes is held down, and for how long; the bound on the moves that are left."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubeapi.core import Taint, Toleration
from leeward.api.cluster import Cluster
from leeward.api.names import FLAPPING_ANNOTATION, FLAPPING_TAINT
from leeward.api.policy import Placement
from leeward.core.cluster_health.condition_taints import decide_taints
from leeward.core.cluster_health.flap_damping import (
    HoldDown,
    HoldDownSettings,
    decide_hold_down,
    is_held_down,
    parse_flapping,
)
from leeward.core.placement import Decision, PlacementSettings, Snapshot, decide
from tests.builders import DEFAULT_TOLERATIONS, at, binding, cluster, dead, divided, duplicated, fleet, targets
from tests.flapping import HOLD_DOWN, FlappingFleet, IsUp

HOUR = 3600
SETTINGS = PlacementSettings()
HELD_DOWN = Taint(key=FLAPPING_TAINT, effect="NoSchedule", time_added=at(0))
MOVES_A_DAY, LAST_RESORTS_A_DAY = 12, 40
"""Bounds that `docs/decisions/0009-flapping.md` promises."""


def written(there: Cluster, taints: tuple[Taint, ...], annotations: dict[str, str | None]) -> Cluster:
    """The cluster as the API server has it after a patch."""
    merged = {**there.metadata.annotations, **annotations}
    kept = {key: value for key, value in merged.items() if value is not None}
    return msgspec.structs.replace(
        there,
        metadata=msgspec.structs.replace(there.metadata, annotations=kept),
        spec=msgspec.structs.replace(there.spec, taints=taints),
    )


def returned(there: Cluster, seconds: float, hold_down: HoldDownSettings = HOLD_DOWN) -> Cluster:
    """`there`, which was lost, as it is once it has become Ready at `seconds`."""
    lost = written(
        dead(there.name), (*dead(there.name).spec.taints, *there.spec.taints), dict(there.metadata.annotations)
    )
    back = msgspec.structs.replace(lost, status=cluster(there.name).status)
    left = decide_taints(back, at(seconds), last_seen=None, eviction_seconds=300)
    decision = decide_hold_down(back, left.taints, at(seconds), hold_down)
    return written(back, decision.taints, {**left.annotations, **decision.annotations})


def looked_at(there: Cluster, seconds: float) -> HoldDown:
    return decide_hold_down(there, there.spec.taints, at(seconds))


def held_until(there: Cluster) -> datetime | None:
    memory = parse_flapping(there)
    return memory.until if memory else None


def test_a_first_outage_costs_nothing() -> None:
    back = returned(cluster("a"), 0)
    assert (back.spec.taints, held_until(back)) == ((), None)


def test_a_second_outage_soon_after_holds_the_cluster_down_for_an_hour() -> None:
    back = returned(returned(cluster("a"), 0), 60)
    assert [(t.key, t.effect, t.time_added) for t in back.spec.taints] == [(FLAPPING_TAINT, "NoSchedule", at(60))]
    until = held_until(back)
    assert until is not None
    assert 3500 < (until - at(60)).total_seconds() <= 3600
    early = looked_at(back, 3000)
    assert (early.taints, dict(early.annotations), early.wake_at) == (back.spec.taints, {}, until)
    over = decide_hold_down(back, back.spec.taints, until)
    assert over.taints == ()


def test_the_hold_down_grows_up_to_six_hours() -> None:
    there, spans = cluster("a"), list[float]()
    for number in range(12):
        there = returned(there, number * 840)
        until = held_until(there)
        spans.append((until - at(number * 840)).total_seconds() if until else 0)
    assert spans == sorted(spans)
    assert spans[0] == 0
    assert spans[-1] == 6 * HOUR


def test_outages_that_are_far_apart_are_no_flapping() -> None:
    there = cluster("a")
    for number in range(20):
        there = returned(there, number * 10 * HOUR)
        assert not is_held_down(there)


def test_a_score_that_has_decayed_is_forgotten() -> None:
    back = returned(cluster("a"), 0)
    forgotten_at = looked_at(back, 1).wake_at
    assert forgotten_at is not None
    decision = decide_hold_down(back, (), forgotten_at)
    assert decision.annotations == {FLAPPING_ANNOTATION: None}


def test_a_hold_down_that_someone_ended_by_hand_stays_ended() -> None:
    back = returned(returned(cluster("a"), 0), 60)
    assert looked_at(written(back, (), {}), 120).taints == ()


def test_a_taint_that_someone_set_by_hand_stays() -> None:
    by_hand = cluster("a", taints=(HELD_DOWN,))
    assert looked_at(by_hand, 1e6).taints == (HELD_DOWN,)


def test_a_memory_that_nobody_can_read_counts_as_none() -> None:
    assert parse_flapping(written(cluster("a"), (), {FLAPPING_ANNOTATION: "soon"})) is None


def test_switched_off_no_cluster_is_held_down() -> None:
    off = HoldDownSettings(enabled=False)
    back = returned(returned(cluster("a"), 0, off), 60, off)
    assert (back.spec.taints, back.metadata.annotations) == ((), {})


@given(st.lists(st.sampled_from([0, 0.2, 0.5, 1, 2, 3, 4, 5, 6, 7, 8]), min_size=1, max_size=24))
def test_c1_no_cluster_takes_a_workload_in_and_loses_it_more_often_than_promised(waits: Sequence[float]) -> None:
    """The worst cluster: it stays up just long enough to be trusted, takes the workload in, and dies at once.

    `waits` is how many hours it stays up beyond that, time after time.
    """
    there, now, moves = cluster("a"), at(0), 0
    until_it_is_evicted, until_it_is_ready = timedelta(seconds=639), timedelta(seconds=30)
    for number in range(24 * HOUR):
        now += until_it_is_evicted
        if now > at(24 * HOUR):
            break
        moves += 1
        now += until_it_is_ready
        there = returned(there, (now - at(0)).total_seconds())
        now = max(now, held_until(there) or now) + timedelta(hours=waits[number % len(waits)])
    assert moves <= MOVES_A_DAY


def replicas(decision: Decision) -> dict[str, int]:
    return {target.name: target.replicas for target in decision.clusters}


def test_nothing_new_is_placed_on_a_cluster_that_is_held_down() -> None:
    bound = binding(divided({"a": 1, "b": 1}), 4)
    assert replicas(
        decide(Snapshot(bound, fleet(cluster("a", taints=(HELD_DOWN,)), cluster("b")), settings=SETTINGS, now=at(0)))
    ) == {"b": 4}


def test_what_runs_on_a_cluster_that_is_held_down_stays() -> None:
    bound = binding(divided({"a": 1, "b": 1}), 4, targets(a=2, b=2))
    assert replicas(
        decide(Snapshot(bound, fleet(cluster("a", taints=(HELD_DOWN,)), cluster("b")), settings=SETTINGS, now=at(0)))
    ) == {"a": 2, "b": 2}


def test_l2_a_new_workload_is_better_placed_on_a_cluster_that_is_held_down_than_nowhere() -> None:
    assert replicas(
        decide(
            Snapshot(
                binding(duplicated("a", "b"), 2),
                fleet(cluster("a", taints=(HELD_DOWN,)), dead("b")),
                settings=SETTINGS,
                now=at(0),
            )
        )
    ) == {"a": 2}


@pytest.mark.parametrize(("seconds", "expected"), [(300, {"b": 4}), (1_799, {"b": 4}), (1_800, {"a": 4})])
def test_l2_a_lost_workload_goes_there_as_a_last_resort_half_an_hour_after_the_taint(
    seconds: float, expected: dict[str, int]
) -> None:
    bound = binding(divided({"a": 1, "b": 1}), 4, targets(b=4))
    decision = decide(
        Snapshot(bound, fleet(cluster("a", taints=(HELD_DOWN,)), dead("b")), settings=SETTINGS, now=at(seconds))
    )
    assert replicas(decision) == expected
    if expected == {"b": 4}:
        assert decision.wake_at == at(1_800)
        assert decision.held is not None
        assert FLAPPING_TAINT in decision.held.message


def test_a_policy_may_tolerate_the_hold_down() -> None:
    tolerations = (*DEFAULT_TOLERATIONS, Toleration(key=FLAPPING_TAINT, operator="Exists"))
    placement = msgspec.structs.replace(divided({"a": 1, "b": 1}), cluster_tolerations=tolerations)
    assert replicas(
        decide(
            Snapshot(
                binding(placement, 4),
                fleet(cluster("a", taints=(HELD_DOWN,)), cluster("b")),
                settings=SETTINGS,
                now=at(0),
            )
        )
    ) == {"a": 2, "b": 2}


def periodic(up_seconds: float, down_seconds: float, offset_seconds: float = 0) -> IsUp:
    """Up first, then down, over and over."""
    period = up_seconds + down_seconds
    return lambda seconds: (seconds + offset_seconds) % period < up_seconds


def always(_: float) -> bool:
    return True


def play_a_day(placement: Placement, fates: dict[str, IsUp], first: dict[str, int], **settings: Any) -> FlappingFleet:
    fleet = FlappingFleet(binding(placement, sum(first.values()), targets(**first)), fates, **settings)
    fleet.play(24 * HOUR)
    return fleet


def test_c1_twelve_minutes_down_and_two_up_for_a_day_moves_a_workload_once() -> None:
    day = play_a_day(divided({"a": 1, "b": 1}), {"a": periodic(120, 720), "b": always}, {"a": 2, "b": 2})
    assert day.moves == 1


@pytest.mark.parametrize("offset", [0, 120, 420, 720])
def test_c1_two_clusters_that_flap_by_turns_move_a_workload_a_bounded_number_of_times(offset: float) -> None:
    fates = {"a": periodic(120, 720), "b": periodic(120, 720, offset), "c": always}
    day = play_a_day(divided({"a": 1, "b": 1, "c": 1}), fates, {"a": 3, "b": 3})
    assert day.moves <= 2 * MOVES_A_DAY


@pytest.mark.parametrize(("up", "down"), [(720, 720), (3_600, 3_600), (1_000, 2_500)])
def test_c1_with_nothing_but_clusters_that_flap_it_moves_as_often_as_a_last_resort_may(up: float, down: float) -> None:
    fates = {"a": periodic(up, down), "b": periodic(up, down, up)}
    day = play_a_day(divided({"a": 1, "b": 1}), fates, {"a": 4})
    assert day.moves <= 2 * MOVES_A_DAY + LAST_RESORTS_A_DAY


AROUND_EVERY_LIMIT = [29, 30, 31, 39, 40, 41, 299, 300, 301, 330, 341, 599, 601, 631, 639, 641, 720, 1_800, 3_600]


@pytest.mark.long
@settings(max_examples=6, deadline=None)
@given(
    ups=st.lists(st.sampled_from(AROUND_EVERY_LIMIT), min_size=2, max_size=2),
    downs=st.lists(st.sampled_from(AROUND_EVERY_LIMIT), min_size=2, max_size=2),
    offset=st.integers(0, 3_600),
)
def test_c1_whatever_the_periods_a_workload_moves_a_bounded_number_of_times(
    ups: list[int], downs: list[int], offset: int
) -> None:
    fates = {"a": periodic(ups[0], downs[0]), "b": periodic(ups[1], downs[1], offset), "c": always}
    day = play_a_day(duplicated("a", "b", "c", groups=2), fates, {"a": 2, "b": 2})
    assert day.moves <= 2 * MOVES_A_DAY


def test_without_hold_downs_it_moves_with_every_outage() -> None:
    fates = {"a": periodic(780, 720), "b": periodic(780, 720, 780)}
    off = HoldDownSettings(enabled=False)
    day = play_a_day(duplicated("a", "b", groups=1), fates, {"a": 2}, hold_down=off)
    assert day.moves > 2 * MOVES_A_DAY
