#!/usr/bin/env bash
# Question: on which days is a CronJob due that names days of the month and of the week? And is 7 a Sunday?
# Versions: golang-github-robfig-cron-dev 3.0.1 (Debian 12), the library and version of Kubernetes' CronJobs, croniter
#   7.0.0, cronsim 2.8, apscheduler 3.11.3 (PyPI), cron-parser 5.10.6, croner 11.0.1, cron 4.4.0 (npm).
# One would guess: either kind is enough, as crontab(5) says, and 7 is a Sunday, as it says too; the libraries agree.
# What is: Kubernetes refuses 7, which five of six libraries take. `*/2` is a named day to it, but a star to cronsim; `1-31`
#   is a star to cron of npm. apscheduler asks for both kinds of days, and its Monday is 0.
source "$(dirname "$0")/support/cron.sh"
{
  due 2026-03-28T12:00:00+00:00 UTC "0 0 13 * 5"
  due 2026-03-28T12:00:00+00:00 UTC "0 0 */2 * 1"
  due 2026-03-28T12:00:00+00:00 UTC "0 0 1-31 * 1"
  due 2026-03-28T12:00:00+00:00 UTC "0 0 * * 1"
  due 2026-03-28T12:00:00+00:00 UTC "0 0 * * 7"
  due 2026-03-28T12:00:00+00:00 UTC "0 0 ? * 1"
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
0 0 13 * 5 in UTC:
  04-03 00:00, 04-10 00:00, 04-13 00:00: Kubernetes, croniter, cronsim, cron-parser, croner, cron
  06-13 00:00, 02-13 00:00, 03-13 00:00: apscheduler
0 0 */2 * 1 in UTC:
  03-29 00:00, 03-30 00:00, 03-31 00:00: Kubernetes, croniter, cron-parser, croner, cron
  04-13 00:00, 04-27 00:00, 05-11 00:00: cronsim
  03-31 00:00, 04-07 00:00, 04-21 00:00: apscheduler
0 0 1-31 * 1 in UTC:
  03-29 00:00, 03-30 00:00, 03-31 00:00: Kubernetes, croniter, cronsim, cron-parser, croner
  03-31 00:00, 04-07 00:00, 04-14 00:00: apscheduler
  03-30 00:00, 04-06 00:00, 04-13 00:00: cron
0 0 * * 1 in UTC:
  03-30 00:00, 04-06 00:00, 04-13 00:00: Kubernetes, croniter, cronsim, cron-parser, croner, cron
  03-31 00:00, 04-07 00:00, 04-14 00:00: apscheduler
0 0 * * 7 in UTC:
  refused: Kubernetes, apscheduler
  03-29 00:00, 04-05 00:00, 04-12 00:00: croniter, cronsim, cron-parser, croner, cron
0 0 ? * 1 in UTC:
  03-30 00:00, 04-06 00:00, 04-13 00:00: Kubernetes, croniter, cron-parser, croner
  refused: cronsim, apscheduler, cron
EXPECTED
