#!/usr/bin/env bash
# Question: Argo CD's ignoreDifferences and many operators take jq expressions, and run them by gojq; what do they give in
#   the programs with which one tries them out?
# Versions: gojq 0.12.11, jq 1.6 (Debian 12), jq 1.13.0 (PyPI), @michaelhomer/jqjs 1.6.0, jqts 0.0.8 (npm).
# One would guess: the same, or an error.
# What is: jqjs leaves nulls where `del` and `|= empty` take items out, finds nothing by `[-1:]`, and gives keys one by one.
#   `limit(0; ...)` gives one value in jq 1.6. To it and to both for Node two numbers that differ are equal. gojq has no keys_unsorted,
#   jqts no `del`.
set -euo pipefail
source "$(dirname "$0")/support/debian.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
debian "$work/root" gojq=0.12.11-1 jq=1.6-2.1+deb12u3
python3 -m venv env
env/bin/pip install -qq jq==1.13.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund @michaelhomer/jqjs@1.6.0 jqts@0.0.8
echo '{"b":[{"name":"x","v":1},{"name":"y"}],"a":9007199254740993}' > object.json
cat > filters <<'FILTERS'
del(.b[] | select(.name == "x")) | .b
(.b[] | select(.name == "x")) |= empty | .b
.b[-1:]
.b[:1] = [] | .b
[keys]
keys_unsorted
[limit(0; .b[])]
.a == 9007199254740992
.b | map(.v) | add
FILTERS
cat > by_node.mjs <<'NODE'
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import * as jqjs from "@michaelhomer/jqjs";
const jqts = createRequire(process.cwd() + "/")("jqts").default;
const libraries = {
  jqjs: (filter, object) => [...jqjs.compile(filter)(object)],
  jqts: (filter, object) => jqts.compile(filter).evaluate(object),
};
const [filter] = process.argv.slice(2);
for (const [name, run] of Object.entries(libraries))
  try {
    const found = run(filter, JSON.parse(readFileSync("object.json", "utf8")));
    console.log(`${name}\t${found.map((value) => JSON.stringify(value)).join(" ") || "nothing"}`);
  } catch {
    console.log(`${name}\tan error`);
  }
NODE
cat > by_python.py <<'PYTHON'
import json
import sys
from pathlib import Path

import jq

try:
    found = jq.compile(sys.argv[1]).input_text(Path("object.json").read_text()).all()
    print("jq 1.13 of PyPI\t" + " ".join(json.dumps(value, separators=(",", ":")) for value in found))
except ValueError:
    print("jq 1.13 of PyPI\tan error")
PYTHON
while IFS= read -r filter; do
  echo "$filter"
  {
    for program in gojq jq; do
      printf '%s\t' "$program"
      of root "bin/$program" -c "$filter" object.json 2> log < /dev/null | paste -sd' ' | sed 's/^$/an error/' || true
    done
    env/bin/python by_python.py "$filter"
    node by_node.mjs "$filter"
  } | env/bin/python -c '
import sys
told = {}
for line in sys.stdin:
    program, found = line.rstrip("\n").split("\t")
    told.setdefault(found, []).append(program)
for found, programs in told.items():
    print("  " + found + ": " + ", ".join(programs))
'
done < filters | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
del(.b[] | select(.name == "x")) | .b
  [{"name":"y"}]: gojq, jq, jq 1.13 of PyPI
  [null,{"name":"y"}]: jqjs
  an error: jqts
(.b[] | select(.name == "x")) |= empty | .b
  [{"name":"y"}]: gojq, jq, jq 1.13 of PyPI
  [null,{"name":"y"}]: jqjs
  an error: jqts
.b[-1:]
  [{"name":"y"}]: gojq, jq, jq 1.13 of PyPI, jqts
  []: jqjs
.b[:1] = [] | .b
  [{"name":"y"}]: gojq, jq, jq 1.13 of PyPI
  [{"name":"x","v":1},{"name":"y"}]: jqjs
  an error: jqts
[keys]
  [["a","b"]]: gojq, jq, jq 1.13 of PyPI, jqts
  ["a","b"]: jqjs
keys_unsorted
  an error: gojq, jqjs
  ["b","a"]: jq, jq 1.13 of PyPI, jqts
[limit(0; .b[])]
  []: gojq, jq 1.13 of PyPI, jqjs
  [{"name":"x","v":1}]: jq
  an error: jqts
.a == 9007199254740992
  false: gojq, jq 1.13 of PyPI
  true: jq, jqjs, jqts
.b | map(.v) | add
  1: gojq, jq, jq 1.13 of PyPI, jqjs, jqts
EXPECTED
