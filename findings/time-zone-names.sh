#!/usr/bin/env bash
# Question: a time zone that a program takes for a schedule; does a CronJob take it, and for the same hours?
# Versions: Go 1.19.8, whose time.LoadLocation checks the zone of a CronJob, with tzdata (Debian 12), tzdata 2026.6 for
#   Python's zoneinfo, pytz 2026.6, python-dateutil 2.9.0.post0, pendulum 3.3.0 (PyPI), luxon 3.7.2, moment-timezone 0.6.6
#   (npm), Node's own Intl.
# One would guess: yes; all read the database of IANA.
# What is: those for Node, and pytz, take names in small letters, which Kubernetes refuses. Intl and luxon know `CST`.
#   dateutil takes what looks like a zone of POSIX: `GMT+3` is three hours ahead for it, `UTC+3` too, while `Etc/GMT+3` is
#   three behind for all. `Factory` is a zone for Kubernetes and Python, and none for Node.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" golang-1.19-go=1.19.8-2 golang-1.19-src=1.19.8-2 tzdata
python3 -m venv env
env/bin/pip install -qq tzdata==2026.6 pytz==2026.6 python-dateutil==2.9.0.post0 pendulum==3.3.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund luxon@3.7.2 moment-timezone@0.6.6
cat > zones.go <<'ZONES'
package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	for _, name := range os.Args[1:] {
		zone, err := time.LoadLocation(name)
		if err != nil {
			fmt.Printf("%s|-|Kubernetes\n", name)
			continue
		}
		_, offset := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC).In(zone).Zone()
		fmt.Printf("%s|%+g|Kubernetes\n", name, float64(offset)/3600)
	}
}
ZONES
GOROOT=$work/root/usr/lib/go-1.19 GOCACHE=$work/cache GO111MODULE=off CGO_ENABLED=0 GOFLAGS= HOME=$work \
  root/usr/lib/go-1.19/bin/go build -o kubernetes zones.go
cat > zones.py <<'ZONES'
import datetime
import sys
import zoneinfo

import dateutil.tz
import pendulum
import pytz

NOON = datetime.datetime(2026, 7, 1, 12, tzinfo=datetime.UTC)
READERS = {
    "zoneinfo": zoneinfo.ZoneInfo, "pytz": pytz.timezone, "dateutil": dateutil.tz.gettz, "pendulum": pendulum.timezone,
}
for name in sys.argv[1:]:
    for reader, read in READERS.items():
        try:
            zone = read(name)
        except (LookupError, ValueError):
            zone = None
        told = f"{NOON.astimezone(zone).utcoffset().total_seconds() / 3600:+g}" if zone else "-"
        print(f"{name}|{told}|{reader}")
ZONES
cat > zones.cjs <<'ZONES'
const { DateTime } = require("luxon");
const moment = require("moment-timezone");
const noon = "2026-07-01T12:00:00Z";
const told = (hours) => (hours < 0 ? "" : "+") + hours;
const intl = (name) => {
  const parts = new Intl.DateTimeFormat("en", { timeZone: name, timeZoneName: "longOffset" }).formatToParts(new Date(noon));
  const [hours = "0", minutes = "0"] = parts.find(({ type }) => type === "timeZoneName").value.slice(3).split(":");
  return told(Number(hours) + Math.sign(Number(hours)) * Number(minutes) / 60);
};
for (const name of process.argv.slice(2)) {
  let said = "-";
  try { said = intl(name); } catch {}
  console.log(`${name}|${said}|Intl`);
  const time = DateTime.fromISO(noon).setZone(name);
  console.log(`${name}|${time.isValid ? told(time.offset / 60) : "-"}|luxon`);
  console.log(`${name}|${moment.tz.zone(name) ? told(moment.tz(noon, name).utcOffset() / 60) : "-"}|moment-timezone`);
}
ZONES
cat > grouped.py <<'GROUPED'
import sys

told: dict[str, dict[str, list[str]]] = {}
for line in sys.stdin:
    name, offset, reader = line.rstrip().split("|")
    told.setdefault(name, {}).setdefault(offset, []).append(reader)
for name, offsets in told.items():
    print(f"{name}:")
    for offset, readers in offsets.items():
        print(f"  {'refused' if offset == '-' else offset}: {', '.join(readers)}")
GROUPED
names=(Europe/Berlin europe/berlin CST GMT+3 Etc/GMT+3 UTC+3 EST5 utc Factory)
{
  ZONEINFO=$work/root/usr/share/zoneinfo ./kubernetes "${names[@]}"
  PYTHONTZPATH= env/bin/python zones.py "${names[@]}"
  node zones.cjs "${names[@]}"
} | env/bin/python grouped.py | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
Europe/Berlin:
  +2: Kubernetes, zoneinfo, pytz, dateutil, pendulum, Intl, luxon, moment-timezone
europe/berlin:
  refused: Kubernetes, zoneinfo, dateutil, pendulum
  +2: pytz, Intl, luxon, moment-timezone
CST:
  refused: Kubernetes, zoneinfo, pytz, dateutil, pendulum, moment-timezone
  -5: Intl, luxon
GMT+3:
  refused: Kubernetes, zoneinfo, pytz, pendulum, Intl, luxon, moment-timezone
  +3: dateutil
Etc/GMT+3:
  -3: Kubernetes, zoneinfo, pytz, dateutil, pendulum, Intl, luxon, moment-timezone
UTC+3:
  refused: Kubernetes, zoneinfo, pytz, pendulum, Intl, moment-timezone
  +3: dateutil, luxon
EST5:
  refused: Kubernetes, zoneinfo, pytz, pendulum, Intl, luxon, moment-timezone
  -5: dateutil
utc:
  refused: Kubernetes, zoneinfo, dateutil
  +0: pytz, pendulum, Intl, luxon, moment-timezone
Factory:
  +0: Kubernetes, zoneinfo, dateutil, pendulum
  refused: pytz, Intl, luxon, moment-timezone
EXPECTED
