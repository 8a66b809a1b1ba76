"""Time that somebody watched: gaps and steps of the clock move what counts, and nothing else does."""

import msgspec
import pytest

from kubeapi.core import Taint, Toleration
from leeward.api.meta import Condition
from leeward.api.names import (
    FAILING_CONDITION,
    OUTAGE_CONFIRMED_ANNOTATION,
    POLICY_TAINTS_ANNOTATION,
    POLICY_TAINTS_CONFIRMED_ANNOTATION,
)
from leeward.core.cluster_health.condition_taints import decide_taints
from leeward.core.cluster_health.ready_condition import BEFORE_ALL, HealthMemory, Thresholds, watched_memory
from leeward.core.cluster_health.watched_time import (
    ALWAYS,
    MOST_GAPS,
    UNKEPT,
    Attention,
    Gap,
    WatchedTime,
    bounded,
    gap_between,
    parse_gaps,
    render_gaps,
    was_away,
)
from leeward.core.eviction.due_evictions import decide_stay, may_evict
from tests.builders import DEFAULT_TOLERATIONS, at, cluster, dead

TIME = WatchedTime((Gap(at(100), at(160)), Gap(at(200), at(300))))
NOT_READY = Taint(key="cluster.karmada.io/not-ready", effect="NoExecute", time_added=at(50))
MINE = Taint(key="example.com/mine", effect="NoExecute")
NOW = Attention(heartbeat="one")


@pytest.mark.parametrize(
    ("since", "moved"), [(0, 160), (99, 259), (100, 260), (130, 260), (160, 260), (250, 300), (300, 300), (400, 400)]
)
def test_what_counts_since_an_instant_is_moved_by_what_was_missed_after_it(since: float, moved: float) -> None:
    assert TIME.moved(at(since)) == at(moved)
    assert ALWAYS.moved(at(since)) == at(since)


@pytest.mark.parametrize(("since", "had_one"), [(0, True), (159, True), (299, True), (300, False), (400, False)])
def test_a_gap_that_ended_before_an_instant_is_none_since_then(since: float, *, had_one: bool) -> None:
    assert TIME.has_gap_since(at(since)) is had_one
    assert not ALWAYS.has_gap_since(at(since))


def test_gaps_never_overlap_and_none_is_yet_to_come() -> None:
    assert TIME.missing(Gap(at(250), at(400))).gaps[-1] == Gap(at(300), at(400))
    assert TIME.missing(Gap(at(250), at(280))) == TIME
    assert TIME.until(at(250)).gaps == (Gap(at(100), at(160)), Gap(at(200), at(250)))
    assert TIME.until(at(50)) == ALWAYS


def test_gaps_are_written_and_read_and_what_nobody_can_read_is_none() -> None:
    assert parse_gaps(render_gaps(TIME.gaps)) == TIME
    assert parse_gaps("") == ALWAYS
    assert parse_gaps("nonsense,2026-01-01T00:01:40Z/2026-01-01T00:02:40Z").gaps == TIME.gaps[:1]


def test_what_is_remembered_of_gaps_is_bounded_and_never_counts_more_than_was_watched() -> None:
    many = WatchedTime(tuple(Gap(at(n * 10), at(n * 10 + 1)) for n in range(2 * MOST_GAPS)))
    kept = bounded(many, at(10_000))
    assert len(kept.gaps) == MOST_GAPS
    assert kept.moved(at(0)) >= many.moved(at(0))
    assert bounded(many, at(30 * 86_400)) == ALWAYS


@pytest.mark.parametrize(
    ("elapsed", "seconds", "away", "gap"),
    [
        (10, 10, False, None),
        (10.9, 10, False, None),
        (40, 40, False, None),
        (41, 41, True, Gap(at(0), at(41))),
        (3610, 10, True, Gap(at(10), at(3610))),
        (-3590, 10, True, None),
        (100, 3000, True, Gap(at(0), at(100))),
    ],
)
def test_a_pause_and_a_step_of_the_clock_are_gaps(elapsed: float, seconds: float, away: bool, gap: Gap | None) -> None:
    last, now = (at(0), 5.0), (at(elapsed), 5.0 + seconds)
    assert was_away(last, now, 40) is away
    assert gap_between(last, now, 40) == gap


def test_s13_what_the_watching_process_stood_still_is_a_gap() -> None:
    last, now = (at(0), 5.0), (at(20), 25.0)
    assert gap_between(last, now, 40, 0.9) is None
    assert gap_between(last, now, 40, 6.0) == Gap(at(14), at(20))
    assert gap_between(last, now, 40, 25.0) == Gap(at(0), at(20)), "it stood still also before"
    assert gap_between(last, now, 15, 6.0) == Gap(at(0), at(20)), "it was away for longer than is borne anyhow"


def test_l2_many_short_gaps_never_make_up_a_long_one() -> None:
    many = WatchedTime(tuple(Gap(at(n * 10), at(n * 10 + 2)) for n in range(10 * MOST_GAPS)))
    kept = bounded(many, at(10_000))
    assert kept.moved(at(0)) == many.moved(at(0))
    assert all(kept.moved(at(n)) >= many.moved(at(n)) for n in range(0, 5_000, 7))


def test_s13_a_toleration_runs_over_watched_time() -> None:
    stay = decide_stay([NOT_READY], DEFAULT_TOLERATIONS, at(400), TIME)
    assert stay.due == at(50 + 300 + 160)
    by_hand = decide_stay([MINE], [Toleration(operator="Exists", toleration_seconds=10)], at(400), TIME)
    assert by_hand.due is None, "a taint without an instant, as before"


def test_s13_the_eviction_timeout_runs_over_watched_time() -> None:
    lost = cluster("m1", "False")
    early = decide_taints(lost, at(310), last_seen=None, eviction_seconds=300, watched=TIME)
    assert early.wake_at == at(460)
    assert not early.is_due
    assert decide_taints(lost, at(460), last_seen=None, eviction_seconds=300, watched=TIME).is_due


@pytest.mark.parametrize(
    ("confirmed", "attention", "expected"),
    [
        ("one", NOW, True),
        ("another", NOW, False),
        (None, NOW, False),
        ("one", Attention(heartbeat="one", is_now=False), False),
        ("", Attention(heartbeat="", is_now=False), False),
        (None, UNKEPT, True),
    ],
)
def test_s13_an_automatic_taint_counts_once_the_outage_was_seen(
    confirmed: str | None, attention: Attention, expected: bool
) -> None:
    marks = {} if confirmed is None else {OUTAGE_CONFIRMED_ANNOTATION: confirmed}
    lost = dead("m1")
    lost = msgspec.structs.replace(lost, metadata=msgspec.structs.replace(lost.metadata, annotations=marks))
    assert may_evict(NOT_READY, lost, attention) is expected
    assert may_evict(MINE, lost, attention), "a person's wish"


def test_s13_what_is_ready_or_answers_again_is_not_left_for_its_taints() -> None:
    marks = {OUTAGE_CONFIRMED_ANNOTATION: "one"}
    well = cluster("m1")
    well = msgspec.structs.replace(well, metadata=msgspec.structs.replace(well.metadata, annotations=marks))
    assert not may_evict(NOT_READY, well, NOW)
    lost = dead("m1")
    answers = (*lost.status.conditions, Condition(FAILING_CONDITION, "False", "ClusterReady"))
    lost = msgspec.structs.replace(
        lost,
        metadata=well.metadata,
        status=msgspec.structs.replace(lost.status, conditions=answers),
    )
    assert not may_evict(NOT_READY, lost, NOW)


def test_s13_a_taint_of_a_policy_counts_once_its_condition_was_read_anew() -> None:
    taint = Taint(key="example.com/lost", effect="NoExecute", time_added=at(0))
    owned = {POLICY_TAINTS_ANNOTATION: "example.com/lost:NoExecute"}
    for marks, expected in ((owned, False), ({**owned, POLICY_TAINTS_CONFIRMED_ANNOTATION: "one"}, True)):
        lost = dead("m1")
        lost = msgspec.structs.replace(lost, metadata=msgspec.structs.replace(lost.metadata, annotations=marks))
        assert may_evict(taint, lost, NOW) is expected


def test_s13_a_break_completes_no_threshold_of_a_prober() -> None:
    thresholds = Thresholds(30, 30)
    memory = HealthMemory("False", at(0))

    def after(elapsed: float, seconds: float, still: float = 0.0) -> HealthMemory:
        return watched_memory(memory, (at(20), 20.0), (at(20 + elapsed), 20.0 + seconds), 25, 10, thresholds, still)

    assert after(10, 10) == memory
    assert after(18, 18, 8).since == at(8), "a stall of our own is no time"
    assert after(3600, 3600, 3590).since == at(20 + 3600 - 20), "two more looks at least"
    assert after(3600, 3600).since == at(20 + 3600 - 20), "two more looks at least"
    assert after(3610, 10).since == at(3600 + 10), "the step is no time: ten seconds are left of the threshold"
    assert watched_memory(HealthMemory("True", BEFORE_ALL), (at(0), 0.0), (at(99), 99.0), 25, 10, thresholds).since == (
        BEFORE_ALL
    )


@pytest.mark.parametrize(
    ("attention", "settled", "settles"),
    [
        (UNKEPT, True, None),
        (Attention(settled_at=at(200)), True, 200),
        (Attention(heartbeat="one"), True, None),
        (Attention(heartbeat="one", is_now=False), False, None),
        (Attention(heartbeat="one", settled_at=at(99)), True, None),
        (Attention(heartbeat="one", settled_at=at(100)), True, None),
        (Attention(heartbeat="one", settled_at=at(101)), False, 101),
        (Attention(heartbeat="one", is_now=False, settled_at=at(99)), False, None),
        (Attention(heartbeat="", is_now=False), False, None),
    ],
)
def test_s13_what_is_reported_counts_once_it_was_looked_at_again(
    attention: Attention, *, settled: bool, settles: float | None
) -> None:
    assert attention.has_settled(at(100)) is settled
    assert attention.settles_at(at(100)) == (None if settles is None else at(settles))


def test_a_gap_of_no_length_is_none() -> None:
    assert ALWAYS.missing(Gap(at(10), at(10))) == ALWAYS
    assert TIME.until(at(100)) == ALWAYS
    assert TIME.missing(Gap(at(200), at(300))) == TIME


def test_a_difference_of_just_a_step_is_none() -> None:
    assert not was_away((at(0), 0.0), (at(11), 10.0), 20)
    assert was_away((at(0), 0.0), (at(11.001), 10.0), 20)
    assert gap_between((at(0), 0.0), (at(11), 10.0), 20) is None
    assert gap_between((at(0), 0.0), (at(11.001), 10.0), 20) == Gap(at(10), at(11.001))


def test_of_too_many_gaps_the_first_are_joined() -> None:
    many = WatchedTime(tuple(Gap(at(n * 10), at(n * 10 + 1)) for n in range(MOST_GAPS + 2)))
    kept = bounded(many, at(10_000))
    assert kept.gaps[0] == Gap(at(18), at(21))
    assert kept.gaps[1:] == many.gaps[3:]
    week = 7 * 86_400
    assert bounded(TIME, at(160 + week)).gaps == TIME.gaps[1:]
    assert bounded(TIME, at(159 + week)) == TIME


def test_a_gap_with_too_many_ends_is_none() -> None:
    twice = "2026-01-01T00:01:40Z/2026-01-01T00:02:40Z/2026-01-01T00:03:40Z"
    assert parse_gaps(twice) == ALWAYS
