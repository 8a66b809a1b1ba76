#!/usr/bin/env bash
# Question: the token of an exec plug-in has an `expirationTimestamp`, and the server refuses it from then on; which clients
#   that run for longer ask the plug-in anew?
# Versions: kubernetes 37.0.2, kubernetes_asyncio 36.1.0, lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI),
#   @kubernetes/client-node 1.4.0 (npm).
# One would guess: all of them, before it expires; that is the purpose of the field.
# What is: kubernetes, pykube-ng and client-node do. kubernetes_asyncio, lightkube and kr8s send the old token; two of these
#   ask the plug-in when they are refused, and kubernetes_asyncio ends with 401.
program=$(mktemp)
cat > "$program" <<'SERVER'
import http.server
import json
import ssl
import sys
import time

EMPTY = {"kind": "NamespaceList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}
REFUSED = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Unauthorized", "code": 401}
VERSION = {"major": "1", "minor": "35", "gitVersion": "v1.35.0"}
CORE = {"name": "namespaces", "singularName": "namespace", "namespaced": False, "kind": "Namespace", "verbs": ["list"]}
ANSWERS = {
    "/version": VERSION,
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [CORE]},
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        expiry = float(self.headers["Authorization"].rpartition("-")[2])
        if path.endswith("/namespaces"):
            answer, code = (EMPTY, 200) if time.time() < expiry else (REFUSED, 401)
            with open(sys.argv[2], "a") as seen:
                seen.write(f"{code}\n")
        else:
            answer, code = ANSWERS.get(path, EMPTY), 200
        body = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain("ca.pem", "key.pem")
server.socket = tls.wrap_socket(server.socket, server_side=True)
with open(sys.argv[1], "w") as port:
    port.write(str(server.server_port))
server.serve_forever()
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubernetes kubernetes_asyncio lightkube kr8s pykube client-node
rm "$program"

# The first token is valid for ten seconds, each further one for an hour.
cat > plugin <<'PLUGIN'
#!/usr/bin/env python3
import json
import time
from datetime import UTC, datetime
from pathlib import Path

runs = Path(__file__).with_name("runs")
first = not runs.exists()
with runs.open("a") as file:
    file.write("x")
expiry = int(time.time()) + (10 if first else 3600)
at = datetime.fromtimestamp(expiry, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
status = {"token": f"token-{expiry}", "expirationTimestamp": at}
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", "status": status}))
PLUGIN
chmod +x plugin
kubeconfig "exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: $PWD/plugin, interactiveMode: Never}"
cat > lists.py <<'LISTS'
import asyncio
import sys
import time


def told(ask) -> None:
    try:
        ask()
    except Exception as error:
        print(type(error).__name__)


def lists(ask) -> None:
    told(ask)
    time.sleep(12)
    told(ask)


async def with_asyncio() -> None:
    from kubernetes_asyncio import client, config

    await config.load_kube_config("config")
    async with client.ApiClient() as connection:
        for _ in range(2):
            try:
                await client.CoreV1Api(connection).list_namespace()
            except Exception as error:
                print(type(error).__name__)
            await asyncio.sleep(12)


match sys.argv[1]:
    case "kubernetes":
        from kubernetes import client, config

        config.load_kube_config("config")
        lists(client.CoreV1Api().list_namespace)
    case "kubernetes_asyncio":
        asyncio.run(with_asyncio())
    case "lightkube":
        from lightkube import Client, KubeConfig
        from lightkube.resources.core_v1 import Namespace

        api = Client(KubeConfig.from_file("config"))
        lists(lambda: list(api.list(Namespace)))
    case "kr8s":
        import kr8s

        api = kr8s.api(kubeconfig="config")
        lists(lambda: list(api.get("namespaces")))
    case "pykube":
        import pykube

        api = pykube.HTTPClient(pykube.KubeConfig.from_file("config"))
        lists(lambda: list(pykube.Namespace.objects(api)))
LISTS
cat > lists.cjs <<'LISTS'
const k8s = require("@kubernetes/client-node");
const config = new k8s.KubeConfig();
config.loadFromFile("config");
const api = config.makeApiClient(k8s.CoreV1Api);
const ask = () => api.listNamespace().catch((error) => console.log(error.constructor.name));
ask().then(() => setTimeout(ask, 12000));
LISTS
for client in "${clients[@]}"; do
  : > seen
  rm -f runs
  case $client in
    client-node) said=$(node lists.cjs 2>&1) || true ;;
    *) said=$(env/bin/python -W ignore lists.py "$client" 2> errors) || true ;;
  esac
  echo "$client: answered with $(paste -sd ' ' seen); the plug-in ran $(tr -d '\n' < runs | wc -c) times${said:+; $said}"
done | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
kubernetes: answered with 200 200; the plug-in ran 2 times
kubernetes_asyncio: answered with 200 401; the plug-in ran 1 times; ApiException
lightkube: answered with 200 401 200; the plug-in ran 2 times
kr8s: answered with 200 401 200; the plug-in ran 2 times
pykube: answered with 200 200; the plug-in ran 2 times
client-node: answered with 200 200; the plug-in ran 2 times
EXPECTED
