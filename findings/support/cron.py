"""Tells when a schedule is due by libraries for Python."""

import sys
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger
from croniter import croniter
from cronsim import CronSim

start, zone, schedule = datetime.fromisoformat(sys.argv[1]), ZoneInfo(sys.argv[2]), sys.argv[3]
local = start.astimezone(zone)


def by_croniter() -> list[datetime]:
    due = croniter(schedule, local)
    return [due.get_next(datetime) for _ in range(3)]


def by_cronsim() -> list[datetime]:
    due = CronSim(schedule, local)
    return [next(due) for _ in range(3)]


def by_apscheduler() -> list[datetime]:
    trigger, due = CronTrigger.from_crontab(schedule, timezone=zone), [local]
    for _ in range(3):
        now = (due[-1].astimezone(UTC) + timedelta(seconds=1)).astimezone(zone)
        due.append(trigger.get_next_fire_time(due[-1], now))
    return due[1:]


for reader, read in (("croniter", by_croniter), ("cronsim", by_cronsim), ("apscheduler", by_apscheduler)):
    try:
        print(f"{reader}:", ", ".join(due.astimezone(UTC).strftime("%m-%d %H:%M") for due in read()))
    except Exception:
        print(f"{reader}: refused")
