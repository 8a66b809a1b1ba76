#!/usr/bin/env bash
# Question: does promql-parser, the PromQL reader of Python and Rust, take strings in backticks as Prometheus does?
# Versions: promql-parser 0.12.0 (PyPI), promtool 2.42.0 (Debian 12).
# One would guess: yes; in Prometheus nothing is escaped in backticks, which is why rules write regular expressions so.
# What is: the text in them stays as it is, but a backslash has to begin an escape all the same. `\d` and `\.` are refused,
#   which are most of the backslashes that anybody writes there. `\n` is taken, for a backslash and an n.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" prometheus=2.42.0+ds-5+deb12u1
python3 -m venv env
env/bin/pip install -qq promql-parser==0.12.0

cat > expressions <<'EXPRESSIONS'
up{job=~`a\d+`}
up{job=~`a\.b`}
up{job=~`a\n`}
up{job=~"a\\d+"}
EXPRESSIONS
while read -r expression; do
  printf 'groups: [{name: g, rules: [{record: r, expr: %s}]}]\n' "$(env/bin/python -c 'import json, sys; print(json.dumps(sys.argv[1]))' "$expression")" > rules.yaml
  of "$work/root" bin/promtool check rules rules.yaml > said 2>&1 && by_prometheus="takes it" || by_prometheus="refuses it"
  by_parser=$(env/bin/python - "$expression" <<'PARSE'
import sys

import promql_parser

try:
    print("takes it as", promql_parser.parse(sys.argv[1]).matchers.matchers[0].value)
except ValueError as error:
    print("refuses it:", error)
PARSE
  )
  echo "$expression"
  echo "  Prometheus $by_prometheus, promql-parser $by_parser"
done < expressions | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
up{job=~`a\d+`}
  Prometheus takes it, promql-parser refuses it: unknown escape sequence 'd'
up{job=~`a\.b`}
  Prometheus takes it, promql-parser refuses it: unknown escape sequence '.'
up{job=~`a\n`}
  Prometheus takes it, promql-parser takes it as a\n
up{job=~"a\\d+"}
  Prometheus takes it, promql-parser takes it as a\d+
EXPECTED
