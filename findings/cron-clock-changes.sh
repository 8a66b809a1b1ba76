#!/usr/bin/env bash
# Question: when is a CronJob due whose time the clocks skip, or have twice? Schedules are tried out with cron libraries.
# Versions: golang-github-robfig-cron-dev 3.0.1 (Debian 12), the library and version of Kubernetes' CronJobs, croniter
#   7.0.0, cronsim 2.8, apscheduler 3.11.3 (PyPI), cron-parser 5.10.6, croner 11.0.1, cron 4.4.0 (npm).
# One would guess: once on each day, and that the libraries agree; a daily backup is to run daily.
# What is: Kubernetes leaves the day out on which the clocks skip the time; all six libraries are due on it, at one of two
#   instants. Where the clocks have the time twice Kubernetes is due twice, as croniter and apscheduler are; the other four
#   are due once.
source "$(dirname "$0")/support/cron.sh"
{
  due 2026-03-28T12:00:00+00:00 Europe/Berlin "30 2 * * *"
  due 2026-10-24T12:00:00+00:00 Europe/Berlin "30 2 * * *"
  due 2026-10-24T23:00:00+00:00 Europe/Berlin "*/30 2 * * *"
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
30 2 * * * in Europe/Berlin:
  03-30 00:30, 03-31 00:30, 04-01 00:30: Kubernetes
  03-29 01:00, 03-30 00:30, 03-31 00:30: croniter, cronsim, croner, cron
  03-29 01:30, 03-30 00:30, 03-31 00:30: apscheduler, cron-parser
30 2 * * * in Europe/Berlin:
  10-25 00:30, 10-25 01:30, 10-26 01:30: Kubernetes, croniter, apscheduler
  10-25 00:30, 10-26 01:30, 10-27 01:30: cronsim, cron-parser, croner, cron
*/30 2 * * * in Europe/Berlin:
  10-25 00:00, 10-25 00:30, 10-25 01:00: Kubernetes, croniter, cronsim, apscheduler, croner
  10-25 00:00, 10-25 00:30, 10-26 01:00: cron-parser, cron
EXPECTED
