"""Schedule of a CronJob: five fields or a descriptor such as `@daily`, in its own time zone; and `@every 5m`.

Kubernetes: its CronJobs use robfig/cron 3.0; the same schedules are due at the same instants. A minute that the clocks
skip is never due, and one that comes twice is due twice. `tests/data/cron` has recorded answers.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

_EVERY = "@every "
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d+\.?\d*|\.\d+)(h|ms|m|s|us|µs|ns)")
_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY_NAMES = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MONTHS = {name: n for n, name in enumerate(_MONTH_NAMES, 1)}
_DAYS = {name: n for n, name in enumerate(_DAY_NAMES)}
_YEARS_AHEAD = 5
"""Years in which a schedule that is due at all is due, as robfig/cron searches."""
_BACK = (timedelta(hours=1), timedelta(days=1), timedelta(days=40), timedelta(days=366 * (_YEARS_AHEAD + 1)))
_MOST_COUNTED = 100
LONGEST_REMEMBERED = 256
"""Most characters of a schedule that is not read again."""


@dataclass(frozen=True, slots=True)
class _Field:
    """Numbers that a field names; `is_open` where it says `*` or `?` without a step."""

    numbers: frozenset[int]
    is_open: bool


@dataclass(frozen=True, slots=True)
class _Fields:
    minutes: _Field
    hours: _Field
    days: _Field
    months: _Field
    weekdays: _Field

    def has(self, day: date) -> bool:
        """Tells whether it is due on the day. Either kind of days is enough where both are named."""
        of_month, of_week = day.day in self.days.numbers, day.isoweekday() % 7 in self.weekdays.numbers
        both = self.days.is_open or self.weekdays.is_open
        return day.month in self.months.numbers and (of_month and of_week if both else of_month or of_week)


def next_due(schedule: str, zone: str, after: datetime) -> datetime | None:
    """The first instant after this one; None for a schedule that is never due (31st February), or is none."""
    try:
        if schedule.startswith(_EVERY):
            return after.replace(microsecond=0) + timedelta(seconds=_seconds(schedule.removeprefix(_EVERY)))
        fields = _parse(schedule)
    except ValueError:
        return None
    place = ZoneInfo(zone or "UTC")
    day = after.astimezone(place).date()
    last_year = day.year + _YEARS_AHEAD
    while day.year <= last_year:
        if fields.has(day):
            due = next((instant for instant in _instants(fields, day, place) if instant > after), None)
            if due is not None:
                return due
        day += timedelta(days=1)
    return None


def last_due(schedule: str, zone: str, after: datetime, now: datetime) -> tuple[datetime | None, int]:
    """The last instant after `after` that has come by `now`, and how many there were; it stops counting at 101."""
    due, missed = next_due(schedule, zone, after), 0
    last = None
    while due is not None and due <= now:
        last, missed = due, missed + 1
        if missed > _MOST_COUNTED:
            return _last_before(schedule, zone, now), missed
        due = next_due(schedule, zone, due)
    return last, missed


def _last_before(schedule: str, zone: str, now: datetime) -> datetime:
    if schedule.startswith(_EVERY):
        return now
    for back in _BACK:
        last, due = None, next_due(schedule, zone, now - back)
        while due is not None and due <= now:
            last, due = due, next_due(schedule, zone, due)
        if last is not None:
            return last
    return now


def _instants(fields: _Fields, day: date, zone: ZoneInfo) -> Iterator[datetime]:
    """The instants of a day on which the schedule is due, in their order."""
    hours = {at for hour in fields.hours.numbers for at in _times(day, hour, zone)}
    for start in sorted(hours):
        for minute in sorted(fields.minutes.numbers):
            instant = start + timedelta(minutes=minute)
            local = instant.astimezone(zone)
            if (local.date(), local.minute) == (day, minute) and local.hour in fields.hours.numbers:
                yield instant


def _times(day: date, hour: int, zone: ZoneInfo) -> Iterator[datetime]:
    """Instants at which the hour begins: none where the clocks skip it, two where they are put back."""
    for fold in (0, 1):
        local = datetime.combine(day, time(hour, fold=fold), zone)
        instant = local.astimezone(UTC)
        if instant.astimezone(zone).replace(tzinfo=None) == local.replace(tzinfo=None):
            yield instant


def _seconds(text: str) -> int:
    """Raises: ValueError when it is no duration."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text.removeprefix("+"):
        raise ValueError(text)
    return max(1, int(sum(float(number) * _UNITS[unit] for number, unit in parts)))


def _parse(schedule: str) -> _Fields:
    """Raises: ValueError."""
    return _remembered(schedule) if len(schedule) <= LONGEST_REMEMBERED else _read(schedule)


def _read(schedule: str) -> _Fields:
    """Raises: ValueError."""
    words = _DESCRIPTORS.get(schedule, schedule).split()
    minutes, hours, days, months, weekdays = words
    return _Fields(
        _field(minutes, 0, 59, {}),
        _field(hours, 0, 23, {}),
        _field(days, 1, 31, {}),
        _field(months, 1, 12, _MONTHS),
        _field(weekdays, 0, 6, _DAYS),
    )


_remembered = lru_cache(256)(_read)


def _field(text: str, low: int, high: int, names: Mapping[str, int]) -> _Field:
    numbers, is_open = set[int](), False
    for text_of_part in filter(None, dict.fromkeys(text.split(","))):
        part = _part(text_of_part, low, high, names)
        numbers |= part.numbers
        is_open |= part.is_open
    return _Field(frozenset(numbers), is_open)


def _part(text: str, low: int, high: int, names: Mapping[str, int]) -> _Field:
    """`*`, `5`, `1-5`, each perhaps with a step. A lone number with a step goes on to the end. Raises: ValueError."""
    span, slash, by = text.partition("/")
    first, dash, last = span.partition("-")
    step = int(by) if slash else 1
    is_any = first in ("*", "?")
    start = low if is_any else _number(first, names)
    end = high if is_any or (slash and not dash) else _number(last, names) if dash else start
    if step < 1 or not low <= start <= end <= high:
        raise ValueError(text)
    return _Field(frozenset(range(start, end + 1, step)), is_any and step == 1)


def _number(text: str, names: Mapping[str, int]) -> int:
    return names[text.lower()] if text.lower() in names else int(text)
