#!/usr/bin/env bash
# Question: systemd-cron makes timers of a crontab, in the place of cron; on which days do they run?
# Versions: systemd-cron 1.15.19, systemd 252.39 (Debian 12), croniter 7.0.0 (PyPI), which runs as Kubernetes' CronJobs.
# One would guess: on those that crontab(5) names, as a CronJob of the same schedule.
# What is: a day of the month and one of the week have to fall together, where cron takes either. `nov` is October, `dec` is
#   November, and `oct` makes no timer. systemd refuses the timer of `5-7`.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" systemd-cron=1.15.19-5 systemd=252.39-1~deb12u2
python3 -m venv env
env/bin/pip install -qq croniter==7.0.0
mkdir -p etc run/systemd var/spool timers
# The generator with this folder in the place of `/`.
sed "s,'/\(etc\|run\|var\)/,'$work/\1/,g" root/lib/systemd/system-generators/systemd-crontab-generator > generator

cat > cron.py <<'CRON'
import datetime
import sys

from croniter import croniter

due = croniter(sys.argv[1], datetime.datetime(2026, 3, 28, 12))
print("  cron: " + ", ".join(f"{due.get_next(datetime.datetime):%Y-%m-%d}" for _ in range(3)))
CRON
for schedule in "0 0 13 * 5" "0 0 1 nov *" "0 0 1 dec *" "0 0 1 oct *" "0 0 * * mon,wed" "0 0 * * 5-7"; do
  echo "$schedule"
  env/bin/python cron.py "$schedule"
  echo "$schedule root true" > etc/crontab
  rm -rf timers/*
  python3 generator timers > said 2>&1
  if calendar=$(sed -n 's/^OnCalendar=//p' timers/cron-crontab-*.timer 2> missing); then
    if TZ=UTC of root bin/systemd-analyze calendar --iterations=3 --base-time="2026-03-28 12:00 UTC" "$calendar" > days 2>&1
    then
      days=$(sed -nE 's/.*(Next elapse|Iter[a-z.]* #.): ... ([-0-9]+) .*/\2/p' days | paste -sd, | sed 's/,/, /g')
      echo "  systemd-cron: $days"
    else
      echo "  systemd-cron: a timer that systemd refuses"
    fi
  else
    echo "  systemd-cron: no timer"
  fi
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
0 0 13 * 5
  cron: 2026-04-03, 2026-04-10, 2026-04-13
  systemd-cron: 2026-11-13, 2027-08-13, 2028-10-13
0 0 1 nov *
  cron: 2026-11-01, 2027-11-01, 2028-11-01
  systemd-cron: 2026-10-01, 2027-10-01, 2028-10-01
0 0 1 dec *
  cron: 2026-12-01, 2027-12-01, 2028-12-01
  systemd-cron: 2026-11-01, 2027-11-01, 2028-11-01
0 0 1 oct *
  cron: 2026-10-01, 2027-10-01, 2028-10-01
  systemd-cron: no timer
0 0 * * mon,wed
  cron: 2026-03-30, 2026-04-01, 2026-04-06
  systemd-cron: 2026-03-30, 2026-04-01, 2026-04-06
0 0 * * 5-7
  cron: 2026-03-29, 2026-04-03, 2026-04-04
  systemd-cron: a timer that systemd refuses
EXPECTED
