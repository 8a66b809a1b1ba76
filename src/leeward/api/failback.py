"""The failback that a policy asks for by annotations: whether, after how long, and in which steps.

leeward.dev/failback: Automatic     (default Never); from a later term of clusterAffinities to an earlier one, too
leeward.dev/failback-after: 10m     of uninterrupted health of the returned cluster; 1h30m, 90s, ...
leeward.dev/failback-pace: 25%      of all replicas in one step, rounded up; or a number of replicas, as in 2
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from leeward.api.names import (
    FAILBACK_AFTER_ANNOTATION,
    FAILBACK_ANNOTATION,
    FAILBACK_PACE_ANNOTATION,
    TIME_TO_START_ANNOTATION,
)

_SECONDS = {"h": 3600, "m": 60, "s": 1}
_DURATION = re.compile(r"(\d{1,6}[hms]){1,3}")
_PACE = re.compile(r"([1-9]\d{0,8})(%?)")


class FailbackMode(StrEnum):
    NEVER = "Never"
    AUTOMATIC = "Automatic"


@dataclass(frozen=True, slots=True)
class FailbackOptions:
    """`step` is a number of replicas, or with `is_share` a percentage of all."""

    automatic: bool = False
    after_seconds: int = 600
    step: int = 25
    is_share: bool = True

    def replicas_of_step(self, replicas: int) -> int:
        """Replicas of a step, at least one."""
        return max(1, -(-replicas * self.step // 100)) if self.is_share else self.step


_ANNOTATIONS = (FAILBACK_ANNOTATION, FAILBACK_AFTER_ANNOTATION, FAILBACK_PACE_ANNOTATION)


class OptionFault(ValueError):
    """Fault of the value of an annotation, told for people."""

    def __init__(self, annotation: str, fault: str) -> None:
        super().__init__(f"{annotation}: {fault}")
        self.annotation = annotation
        self.fault = fault


def parse_failback(annotations: Mapping[str, str]) -> FailbackOptions:
    """Raises: OptionFault."""
    options = FailbackOptions()
    if annotations.keys().isdisjoint(_ANNOTATIONS):
        return options
    mode = annotations.get(FAILBACK_ANNOTATION, FailbackMode.NEVER)
    if mode not in tuple(FailbackMode):
        raise OptionFault(FAILBACK_ANNOTATION, f"must be {' or '.join(FailbackMode)}")
    step, is_share = _parse_pace(annotations.get(FAILBACK_PACE_ANNOTATION, f"{options.step}%"))
    after = annotations.get(FAILBACK_AFTER_ANNOTATION, f"{options.after_seconds}s")
    after_seconds = parse_duration(FAILBACK_AFTER_ANNOTATION, after)
    return FailbackOptions(mode == FailbackMode.AUTOMATIC, after_seconds, step, is_share)


def parse_time_to_start(annotations: Mapping[str, str]) -> int | None:
    """Seconds that a copy which was moved may take to become healthy; None where the policy does not say so.

    Raises: OptionFault."""
    text = annotations.get(TIME_TO_START_ANNOTATION)
    return None if text is None else parse_duration(TIME_TO_START_ANNOTATION, text)


def time_to_start(annotations: Mapping[str, str]) -> int | None:
    """Seconds as of `parse_time_to_start`; None, too, where nobody can read them."""
    try:
        return parse_time_to_start(annotations)
    except OptionFault:
        return None


def parse_duration(annotation: str, text: str) -> int:
    """Seconds of a duration in an annotation. Raises: OptionFault."""
    if not _DURATION.fullmatch(text):
        raise OptionFault(annotation, "must be a duration in hours, minutes and seconds, as in 10m")
    return sum(int(number) * _SECONDS[unit] for number, unit in re.findall(r"(\d+)([hms])", text))


def _parse_pace(text: str) -> tuple[int, bool]:
    match = _PACE.fullmatch(text)
    if match is None or (match[2] and int(match[1]) > 100):
        fault = "must be the replicas of one step: a number from 1, or a share of all from 1% to 100%"
        raise OptionFault(FAILBACK_PACE_ANNOTATION, fault)
    return int(match[1]), bool(match[2])
