#!/usr/bin/env bash
# Question: do functions of Rego, by which policies judge manifests, give in Python what they are documented to give?
# Versions: regopy 1.5.2, semver 3.1.2 (PyPI).
# One would guess: yes, or an error for a function that is not there.
# What is: `semver.compare` holds a pre-release for newer than its release, against SemVer, so that a rule "at least 1.31.0"
#   takes 1.31.0-rc.1; rc.2 comes after rc.10, and build metadata count. `net.cidr_contains` and `time.parse_rfc3339_ns` are
#   undefined for valid arguments, where a name that nobody knows is an error: rules with them have no result.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq regopy==1.5.2 semver==3.1.2

cat > ask.py <<'ASK'
import json

import semver
from regopy import Interpreter


def value(expression):
    said = str(Interpreter().query(f"x = {expression}"))
    return said if said == "undefined" else json.dumps(json.loads(said)["bindings"]["x"])


for one, other in (("1.30.0", "1.31.0"), ("1.31.0-rc.1", "1.31.0"), ("1.31.0-rc.2", "1.31.0-rc.10"), ("1.31.0+a", "1.31.0+b")):
    rego = value(f'semver.compare("{one}", "{other}")')
    print(f"{one} to {other}: regopy {rego}, semver {semver.Version.parse(one).compare(other)}")
for expression in ('net.cidr_contains("10.0.0.0/8", "10.1.2.3")', 'time.parse_rfc3339_ns("2026-01-10T08:09:00Z")'):
    print(f"{expression}: {value(expression)}")
try:
    print(value('no.such_function("x")'))
except Exception:
    print("no.such_function: an error")
ASK
env/bin/python ask.py | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
1.30.0 to 1.31.0: regopy -1, semver -1
1.31.0-rc.1 to 1.31.0: regopy 1, semver -1
1.31.0-rc.2 to 1.31.0-rc.10: regopy 1, semver -1
1.31.0+a to 1.31.0+b: regopy -1, semver 0
net.cidr_contains("10.0.0.0/8", "10.1.2.3"): undefined
time.parse_rfc3339_ns("2026-01-10T08:09:00Z"): undefined
no.such_function: an error
EXPECTED
