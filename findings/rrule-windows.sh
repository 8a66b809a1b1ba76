#!/usr/bin/env bash
# Question: a maintenance window is a rule of iCalendar, such as the last Sunday of each month at 02:00 in Berlin; when is it?
# Versions: python-dateutil 2.9.0.post0, recurring-ical-events 3.8.2 (PyPI), rrule 2.8.1,
#   rrule-temporal 2.2.8 (npm).
# One would guess: at one instant for all; RFC 5545 says which instant a time is that the clocks skip, and that UNTIL is in
#   UTC.
# What is: on the Sunday in March on which clocks skip that hour, rrule is an hour early and rrule-temporal leaves the window
#   out. A time that the clocks have twice is the second of the two to rrule. rrule reads an UNTIL in UTC as a time of the
#   zone, so that the last window is missing.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq python-dateutil==2.9.0.post0 recurring-ical-events==3.8.2 icalendar==7.3.2 tzdata==2026.6
echo '{}' > package.json
npm install --silent --no-audit --no-fund rrule@2.8.1 rrule-temporal@2.2.8
cat > windows.json <<'WINDOWS'
[
  ["20260125T020000", "FREQ=MONTHLY;BYDAY=-1SU", "2026-03-01", "2026-05-01"],
  ["20261001T023000", "FREQ=DAILY", "2026-10-24", "2026-10-27"],
  ["20260101T020000", "FREQ=DAILY;UNTIL=20260103T010000Z", "2026-01-01", "2026-02-01"]
]
WINDOWS

cat > windows.py <<'CODE'
import json
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import icalendar
import recurring_ical_events
from dateutil.rrule import rrulestr

EVENT = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:test
BEGIN:VEVENT
UID:1
DTSTAMP:20260101T000000Z
DTSTART;TZID=Europe/Berlin:{}
DURATION:PT1H
RRULE:{}
END:VEVENT
END:VCALENDAR
"""


def tell(library: str, rule: str, times: list[datetime]) -> None:
    print(f"{rule}, {library}:", *(time.astimezone(UTC).strftime("%m-%dT%H:%MZ") for time in sorted(times)))


with open("windows.json") as file:
    for began, rule, *ends in json.load(file):
        start = datetime.strptime(began, "%Y%m%dT%H%M%S").replace(tzinfo=ZoneInfo("Europe/Berlin"))
        first, last = (datetime.fromisoformat(end).replace(tzinfo=UTC) for end in ends)
        tell("dateutil", rule, rrulestr(rule, dtstart=start).between(first, last))
        calendar = icalendar.Calendar.from_ical(EVENT.format(began, rule).replace("\n", "\r\n"))
        events = recurring_ical_events.of(calendar).between(first, last)
        tell("recurring-ical-events", rule, [event["DTSTART"].dt for event in events])
CODE
cat > windows.mjs <<'CODE'
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
const require = createRequire(process.cwd() + "/");
const { rrulestr } = require("rrule");
const { RRuleTemporal } = await import(require.resolve("rrule-temporal"));
const tell = (library, rule, texts) => console.log(`${rule}, ${library}:`, ...texts);
for (const [began, rule, ...ends] of JSON.parse(readFileSync("windows.json", "utf8"))) {
  const [first, last] = ends.map((end) => new Date(`${end}T00:00:00Z`));
  const short = (date) => date.toISOString().slice(5, 16) + "Z";
  const text = `DTSTART;TZID=Europe/Berlin:${began}\nRRULE:${rule}`;
  tell("rrule", rule, rrulestr(text).between(first, last).map(short));
  const temporal = new RRuleTemporal({ rruleString: text }).between(first, last);
  tell("rrule-temporal", rule, temporal.map((time) => short(new Date(time.epochMilliseconds))));
}
CODE
{ env/bin/python windows.py && node windows.mjs; } | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
FREQ=MONTHLY;BYDAY=-1SU, dateutil: 03-29T01:00Z 04-26T00:00Z
FREQ=MONTHLY;BYDAY=-1SU, recurring-ical-events: 03-29T01:00Z 04-26T00:00Z
FREQ=DAILY, dateutil: 10-24T00:30Z 10-25T00:30Z 10-26T01:30Z
FREQ=DAILY, recurring-ical-events: 10-24T00:30Z 10-25T00:30Z 10-26T01:30Z
FREQ=DAILY;UNTIL=20260103T010000Z, dateutil: 01-01T01:00Z 01-02T01:00Z 01-03T01:00Z
FREQ=DAILY;UNTIL=20260103T010000Z, recurring-ical-events: 01-01T01:00Z 01-02T01:00Z 01-03T01:00Z
FREQ=MONTHLY;BYDAY=-1SU, rrule: 03-29T00:00Z 04-26T00:00Z
FREQ=MONTHLY;BYDAY=-1SU, rrule-temporal: 04-26T00:00Z
FREQ=DAILY, rrule: 10-24T00:30Z 10-25T01:30Z 10-26T01:30Z
FREQ=DAILY, rrule-temporal: 10-24T00:30Z 10-25T00:30Z 10-26T01:30Z
FREQ=DAILY;UNTIL=20260103T010000Z, rrule: 01-01T01:00Z 01-02T01:00Z
FREQ=DAILY;UNTIL=20260103T010000Z, rrule-temporal: 01-01T01:00Z 01-02T01:00Z 01-03T01:00Z
EXPECTED
