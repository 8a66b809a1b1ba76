#!/usr/bin/env bash
# Question: a script tells by jq how old an object is, of the times that Kubernetes writes; is it the same with each jq, on a
#   computer in Berlin?
# Versions: gojq 0.12.11, jq 1.6 (Debian 12), jq 1.13.0 (PyPI), which holds jq 1.8; tzdata 2026.6 (PyPI).
# One would guess: yes: the times are in UTC.
# What is: in summer `fromdate` of jq 1.6 is an hour late. A time with a fraction, as Leases and Events have, is refused by all
#   three. `+02:00` is read by gojq alone. `strflocaltime` of jq 1.6 calls the local time `+0000`.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" gojq=0.12.11-1 jq=1.6-2.1+deb12u3
python3 -m venv env
env/bin/pip install -qq jq==1.13.0 tzdata==2026.6
zones=$(env/bin/python -c 'import tzdata; print(tzdata.__path__[0])')/zoneinfo
export TZ=Europe/Berlin TZDIR=$zones ZONEINFO=$zones
cat > by_python.py <<'PYTHON'
import sys

import jq

try:
    print(jq.compile(sys.argv[1]).input_value(None).first())
except ValueError:
    print("refused")
PYTHON
while read -r filter; do
  echo "$filter"
  for program in jq gojq; do echo "  $program: $(of root bin/$program -nr "$filter" 2> log || echo refused)"; done
  echo "  jq of PyPI: $(env/bin/python by_python.py "$filter")"
done <<'FILTERS' | tee seen
"2026-01-01T12:00:00Z" | fromdate | todate
"2026-07-01T12:00:00Z" | fromdate | todate
"2026-07-01T12:00:00.000000Z" | fromdate | todate
"2026-07-01T12:00:00+02:00" | fromdate | todate
1782900000 | strflocaltime("%H:%M %z")
FILTERS
diff -u - seen <<'EXPECTED' && echo "as told"
"2026-01-01T12:00:00Z" | fromdate | todate
  jq: 2026-01-01T12:00:00Z
  gojq: 2026-01-01T12:00:00Z
  jq of PyPI: 2026-01-01T12:00:00Z
"2026-07-01T12:00:00Z" | fromdate | todate
  jq: 2026-07-01T13:00:00Z
  gojq: 2026-07-01T12:00:00Z
  jq of PyPI: 2026-07-01T12:00:00Z
"2026-07-01T12:00:00.000000Z" | fromdate | todate
  jq: refused
  gojq: refused
  jq of PyPI: refused
"2026-07-01T12:00:00+02:00" | fromdate | todate
  jq: refused
  gojq: 2026-07-01T10:00:00Z
  jq of PyPI: refused
1782900000 | strflocaltime("%H:%M %z")
  jq: 12:00 +0000
  gojq: 12:00 +0200
  jq of PyPI: 12:00 +0200
EXPECTED
