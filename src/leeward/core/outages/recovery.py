"""Recovery times of an outage: how many applications took how many seconds, in a bounded table."""

from collections import Counter
from collections.abc import Mapping

from leeward.api.outage import RecoveryCount, RecoveryTimes

MOST_TIMES = 200
"""Different times that are kept apart; of more than these they are rounded up to coarser steps."""


def with_recovery(known: RecoveryTimes, seconds: int) -> RecoveryTimes:
    """`known` and one application more. The count and the worst are exact."""
    times = Counter({each.seconds: each.count for each in known.times})
    times[seconds] += 1
    step = 1
    while len(times) > MOST_TIMES:
        step *= 2
        times = _rounded(times, step)
    worst = max(known.worst_seconds, seconds)
    return RecoveryTimes(
        count=known.count + 1,
        median_seconds=_median(times),
        worst_seconds=worst,
        worst=duration(worst),
        times=tuple(RecoveryCount(seconds=each, count=times[each]) for each in sorted(times)),
    )


def duration(seconds: float) -> str:
    """`11m22s`, `1h0m5s`: as kubectl and Go print it."""
    whole = max(0, int(seconds))
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def _rounded(times: Mapping[int, int], step: int) -> Counter[int]:
    coarser = Counter[int]()
    for seconds, count in times.items():
        coarser[-(-seconds // step) * step] += count
    return coarser


def _median(times: Mapping[int, int]) -> int:
    """The lower one of two in the middle."""
    middle, seen = (sum(times.values()) + 1) // 2, 0
    for seconds in sorted(times):
        seen += times[seconds]
        if seen >= middle:
            return seconds
    raise AssertionError("there is at least one")
