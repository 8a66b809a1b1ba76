"""Options of failback that a policy may give, and what is wrong with others."""

import pytest

from leeward.api.failback import FailbackOptions, OptionFault, parse_failback, parse_time_to_start
from leeward.api.names import (
    FAILBACK_AFTER_ANNOTATION,
    FAILBACK_ANNOTATION,
    FAILBACK_PACE_ANNOTATION,
    TIME_TO_START_ANNOTATION,
)


def test_by_default_there_is_none() -> None:
    assert parse_failback({}) == FailbackOptions(automatic=False, after_seconds=600, step=25, is_share=True)


@pytest.mark.parametrize(("text", "seconds"), [("10m", 600), ("1h30m", 5_400), ("90s", 90), ("0s", 0)])
def test_the_time_of_health_is_a_duration(text: str, seconds: int) -> None:
    assert parse_failback({FAILBACK_AFTER_ANNOTATION: text}).after_seconds == seconds


@pytest.mark.parametrize(
    ("pace", "replicas", "step"), [("2", 10, 2), ("25%", 10, 3), ("1%", 10, 1), ("100%", 7, 7), ("5", 0, 5)]
)
def test_a_step_is_a_number_of_replicas_or_a_share_rounded_up(pace: str, replicas: int, step: int) -> None:
    assert parse_failback({FAILBACK_PACE_ANNOTATION: pace}).replicas_of_step(replicas) == step


@pytest.mark.parametrize(
    ("annotation", "text", "way_out"),
    [
        (FAILBACK_ANNOTATION, "automatic", "must be Never or Automatic"),
        (FAILBACK_AFTER_ANNOTATION, "10", "must be a duration in hours, minutes and seconds, as in 10m"),
        (FAILBACK_AFTER_ANNOTATION, "-5m", "must be a duration"),
        (FAILBACK_PACE_ANNOTATION, "0", "a number from 1, or a share of all from 1% to 100%"),
        (FAILBACK_PACE_ANNOTATION, "101%", "a number from 1, or a share of all from 1% to 100%"),
        (FAILBACK_PACE_ANNOTATION, "fast", "a number from 1"),
    ],
)
def test_a_fault_names_the_annotation_and_the_way_out(annotation: str, text: str, way_out: str) -> None:
    with pytest.raises(OptionFault) as caught:
        parse_failback({annotation: text})
    assert caught.value.annotation == annotation
    assert way_out in caught.value.fault


def test_a_time_to_start_is_a_duration_or_the_default() -> None:
    assert parse_time_to_start({}) is None
    assert parse_time_to_start({TIME_TO_START_ANNOTATION: "1h30m"}) == 5400
    with pytest.raises(OptionFault) as refused:
        parse_time_to_start({TIME_TO_START_ANNOTATION: "half an hour"})
    assert refused.value.annotation == TIME_TO_START_ANNOTATION
