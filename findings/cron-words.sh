#!/usr/bin/env bash
# Question: is a schedule that a cron library takes one that a CronJob takes, and the reverse?
# Versions: golang-github-robfig-cron-dev 3.0.1 (Debian 12), the library and version of Kubernetes' CronJobs, croniter
#   7.0.0, cronsim 2.8, apscheduler 3.11.3 (PyPI), cron-parser 5.10.6, croner 11.0.1, cron 4.4.0 (npm).
# One would guess: yes for what is common, such as `@midnight`, `5/20` and a `?`; a form with seconds is refused by all.
# What is: five take a sixth field for seconds, which is the last one to croniter and the first to the others. Four take
#   `L` and `5#2`, and croniter takes ranges that go round (`22-2`, `FRI-MON`). Kubernetes refuses them all, so that a check
#   passes and the CronJob fails. Of what Kubernetes takes, nobody knows `@every 90m`, four refuse `@midnight`, three a `?`,
#   and croner refuses `5/20`.
source "$(dirname "$0")/support/cron.sh"
{
  for schedule in "@midnight" "@every 90m" "5/20 * * * *" "*/90 * * * *" "0 2 ? * 1" "0 22-2 * * *" "0 2 * * FRI-MON" \
    "0 0 L * *" "0 2 * * 5#2" "0 */10 * * * *"; do
    due 2026-01-05T12:00:00+00:00 Europe/Berlin "$schedule"
  done
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
@midnight in Europe/Berlin:
  01-05 23:00, 01-06 23:00, 01-07 23:00: Kubernetes, croniter, croner
  refused: cronsim, apscheduler, cron-parser, cron
@every 90m in Europe/Berlin:
  01-05 13:30, 01-05 15:00, 01-05 16:30: Kubernetes
  refused: croniter, cronsim, apscheduler, cron-parser, croner, cron
5/20 * * * * in Europe/Berlin:
  01-05 12:05, 01-05 12:25, 01-05 12:45: Kubernetes, croniter, cronsim, apscheduler, cron-parser, cron
  refused: croner
*/90 * * * * in Europe/Berlin:
  01-05 13:00, 01-05 14:00, 01-05 15:00: Kubernetes, croniter, cronsim, cron-parser, cron
  refused: apscheduler, croner
0 2 ? * 1 in Europe/Berlin:
  01-12 01:00, 01-19 01:00, 01-26 01:00: Kubernetes, croniter, cron-parser, croner
  refused: cronsim, apscheduler, cron
0 22-2 * * * in Europe/Berlin:
  refused: Kubernetes, cronsim, apscheduler, cron-parser, croner, cron
  01-05 21:00, 01-05 22:00, 01-05 23:00: croniter
0 2 * * FRI-MON in Europe/Berlin:
  refused: Kubernetes, cronsim, apscheduler, cron-parser, croner, cron
  01-09 01:00, 01-10 01:00, 01-11 01:00: croniter
0 0 L * * in Europe/Berlin:
  refused: Kubernetes, apscheduler, cron
  01-30 23:00, 02-27 23:00, 03-30 22:00: croniter, cronsim, cron-parser, croner
0 2 * * 5#2 in Europe/Berlin:
  refused: Kubernetes, apscheduler, cron
  01-09 01:00, 02-13 01:00, 03-13 01:00: croniter, cronsim, cron-parser, croner
0 */10 * * * * in Europe/Berlin:
  refused: Kubernetes, apscheduler
  01-05 19:00, 01-05 19:00, 01-05 19:00: croniter
  01-05 12:10, 01-05 12:20, 01-05 12:30: cronsim, cron-parser, croner, cron
EXPECTED
