"""Schedule of a CronJob: five fields or a descriptor such as `@daily`, in its own time zone; and `@every 5m`."""

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from croniter import CroniterError, croniter

_EVERY = "@every "
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)([hms])")


def next_due(schedule: str, zone: str, after: datetime) -> datetime | None:
    """The first instant after this one; None for a schedule that is never due (31st February)."""
    if schedule.startswith(_EVERY):
        seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(schedule))
        return after + timedelta(seconds=max(1.0, seconds))
    local = after.astimezone(ZoneInfo(zone) if zone else UTC)
    try:
        return croniter(schedule, local).get_next(datetime).astimezone(UTC)
    except CroniterError:
        return None


def last_due(schedule: str, zone: str, after: datetime, now: datetime) -> tuple[datetime | None, int]:
    """The last instant after `after` that has come by `now`, and how many there were; it stops counting at 101."""
    due, missed = next_due(schedule, zone, after), 0
    last = None
    while due is not None and due <= now:
        last, missed = due, missed + 1
        if missed > 100:
            return _last_before(schedule, zone, now), missed
        due = next_due(schedule, zone, due)
    return last, missed


def _last_before(schedule: str, zone: str, now: datetime) -> datetime:
    if schedule.startswith(_EVERY):
        return now
    local = (now + timedelta(seconds=1)).astimezone(ZoneInfo(zone) if zone else UTC)
    return croniter(schedule, local).get_prev(datetime).astimezone(UTC)
