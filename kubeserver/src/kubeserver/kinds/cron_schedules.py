"""The schedules of CronJobs: five fields, or a descriptor such as `@daily`; and the names of time zones.

Only whether a schedule can be read, never when it is due: no Job is made here.

Kubernetes: the parser that its CronJobs use (ParseStandard); the same schedules are taken, the faults in its words.
"""

import zoneinfo
from collections.abc import Mapping
from functools import cache

_DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_FIELDS: tuple[tuple[int, int, Mapping[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)


class _Unreadable(ValueError):
    """Fault of one field."""


def schedule_fault(schedule: str) -> str:
    """Fault of a schedule; empty when it can be kept."""
    if "TZ" in schedule:
        return "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
    if schedule.startswith("@"):
        return _descriptor_fault(schedule)
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        return f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
    try:
        for text, (low, high, names) in zip(fields, _FIELDS, strict=True):
            for part in text.split(","):
                _check_range(part, low, high, names)
    except _Unreadable as fault:
        return str(fault)
    return ""


def zone_fault(name: str) -> str:
    """Fault of a time zone; empty when there is one of this name."""
    if not name:
        return "timeZone must be nil or non-empty string"
    if name.lower() == "local":
        return "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return f"unknown time zone {name}" if _zones_are_known() else ""
    return ""


@cache
def _zones_are_known() -> bool:
    """Tells whether time zones are known: on a machine that has no database of them, every name is taken."""
    return bool(zoneinfo.available_timezones())


def _descriptor_fault(text: str) -> str:
    every = text.removeprefix("@every ")
    if text in _DESCRIPTORS or (every != text and every[:1].isdigit() and every[-1:] in "hms"):
        return ""
    return f"unrecognized descriptor: {text}"


def _check_range(text: str, low: int, high: int, names: Mapping[str, int]) -> None:
    """`*`, `5`, `1-5`, each perhaps with a step: `*/15`. Raises: _Unreadable."""
    span, slash, step = text.partition("/")
    first, dash, last = span.partition("-")
    if first in ("*", "?"):
        start, end = low, high
    else:
        start = _number(first, names)
        end = _number(last, names) if dash else high if slash else start
    if slash and _number(step, {}) == 0:
        raise _Unreadable(f"step of range should be a positive number: {text}")
    if start < low:
        raise _Unreadable(f"beginning of range ({start}) below minimum ({low}): {text}")
    if end > high:
        raise _Unreadable(f"end of range ({end}) above maximum ({high}): {text}")
    if start > end:
        raise _Unreadable(f"beginning of range ({start}) beyond end of range ({end}): {text}")


def _number(text: str, names: Mapping[str, int]) -> int:
    named = names.get(text.lower())
    if named is not None:
        return named
    try:
        number = int(text)
    except ValueError:
        raise _Unreadable(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax') from None
    if number < 0:
        raise _Unreadable(f"negative number ({number}) not allowed: {text}")
    return number
