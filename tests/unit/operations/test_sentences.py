from datetime import UTC, datetime, timedelta, timezone

import pytest

from leeward.operations.sentences import (
    at,
    counted,
    counted_kind,
    full_moment,
    full_span,
    in_moments,
    long_span,
    moment,
    since,
    span,
)

NOW = datetime(2026, 11, 22, 2, 41, 17, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "says"),
    [(-5, "0 s"), (0.9, "1 s"), (59.4, "59 s"), (59.9, "1 min"), (89, "1 min"), (119, "2 min"), (3599, "1 h"),
     (3600, "1 h"), (86_399, "1 d"), (86_400, "1 d"), (7_776_000, "90 d")],
)  # fmt: skip
def test_a_span_is_told_to_the_nearest_of_its_greatest_unit(seconds: float, says: str) -> None:
    assert span(seconds) == says


@pytest.mark.parametrize(
    ("seconds", "says"),
    [(0, "0 s"), (59.4, "59 s"), (59.6, "1 min"), (330, "5 min 30 s"), (7200, "2 h"), (7261, "2 h 1 min 1 s")],
)
def test_a_full_span_is_told_to_the_second(seconds: float, says: str) -> None:
    assert full_span(seconds) == says


@pytest.mark.parametrize(
    ("seconds", "says"),
    [(629.97, "10 min 30 s"), (3659, "1 h 1 min"), (7199, "2 h"), (86_399, "1 d"), (90_000, "1 d 1 h")],
)
def test_a_long_span_is_told_to_the_nearest_of_its_second_unit(seconds: float, says: str) -> None:
    assert long_span(seconds) == says


def test_an_instant_is_told_in_utc_and_as_short_as_it_can_be() -> None:
    assert moment(NOW - timedelta(minutes=11), NOW) == "02:30:17"
    assert moment(NOW - timedelta(days=20), NOW) == "2 Nov"
    assert moment(NOW - timedelta(days=400), NOW) == "18 Oct 2025"
    assert moment(NOW.astimezone(timezone(timedelta(hours=9))), NOW) == "02:41:17"
    assert full_moment(NOW) == "02:41:17 UTC, 22 Nov 2026"


def test_since_and_until_say_both() -> None:
    assert since(NOW - timedelta(minutes=11), NOW) == " (since 02:30:17, 11 min ago)"
    assert since(None, NOW) == ""
    assert at(NOW + timedelta(seconds=240), NOW) == "at 02:45:17 (in 4 min)"
    assert at(NOW - timedelta(seconds=1), NOW) == "now"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "a is down (since 2026-11-22T02:30:17Z): evicted at 2026-11-22T02:45:17Z",
            "a is down (since 02:30:17): evicted at 02:45:17",
        ),
        ("until 2026-11-23T00:01:00Z", "until 23 Nov 00:01:00"),
        ("since 2025-10-18T02:41:17Z", "since 18 Oct 2025 02:41:17"),
        ("somebody's 2026-13-41T99:00:00Z", "somebody's 2026-13-41T99:00:00Z"),
        ("no instant: 2026-11-22", "no instant: 2026-11-22"),
    ],
)
def test_instants_of_conditions_are_told_as_those_beside_them(text: str, said: str) -> None:
    assert in_moments(text, NOW) == said


def test_counts_agree_with_their_nouns() -> None:
    assert [counted(1, "replica"), counted(0, "replica"), counted(2, "binding")] == [
        "1 replica",
        "0 replicas",
        "2 bindings",
    ]


@pytest.mark.parametrize(
    ("number", "kind", "says"),
    [(1, "Ingress", "1 Ingress"), (2, "Ingress", "2 Ingresses"), (3, "NetworkPolicy", "3 NetworkPolicies"),
     (0, "Service", "0 Services")],
)  # fmt: skip
def test_counts_of_kinds_agree_with_them(number: int, kind: str, says: str) -> None:
    assert counted_kind(number, kind) == says
