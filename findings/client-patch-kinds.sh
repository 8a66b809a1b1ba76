#!/usr/bin/env bash
# Question: which kind of patch do client libraries say that a body is, a list or an object?
# Versions: kubernetes 37.0.2 (PyPI), @kubernetes/client-node 1.4.0 (npm).
# One would guess: a list is a JSON patch, an object a merge patch of some kind: no other reading can succeed.
# What is: the Python client calls a list a JSON patch for built-in kinds, and a merge patch for custom ones. The one for
#   Node calls an object a JSON patch. API servers refuse both with 400.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq kubernetes==37.0.2
echo '{}' > package.json
npm install --silent --no-audit --no-fund @kubernetes/client-node@1.4.0

cat > patch.py <<'PATCH'
import http.server
import json
import threading

from kubernetes import client


class Api(http.server.BaseHTTPRequestHandler):
    def do_PATCH(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        print(self.path.split("/")[-2], "by", self.headers["Content-Type"], flush=True)
        body = json.dumps({"metadata": {"name": "a"}, "apiVersion": "v1", "kind": "ConfigMap"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Api)
threading.Thread(target=server.serve_forever, daemon=True).start()
api = client.ApiClient(client.Configuration(host=f"http://127.0.0.1:{server.server_port}"))
change = [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]
client.CoreV1Api(api).patch_namespaced_config_map("a", "default", change)
custom = ("example.com", "v1", "default", "shops", "a")
client.CustomObjectsApi(api).patch_namespaced_custom_object(*custom, change)
PATCH
cat > patch.mjs <<'PATCH'
import http from "node:http";
import { CoreV1Api, KubeConfig } from "@kubernetes/client-node";
const server = http.createServer((request, response) => {
  console.log(request.url.split("/").at(-2), "by", request.headers["content-type"]);
  response.setHeader("Content-Type", "application/json");
  response.end('{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}');
});
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const url = `http://127.0.0.1:${server.address().port}`;
const config = new KubeConfig();
config.loadFromClusterAndUser({ name: "c", server: url, skipTLSVerify: true }, { name: "u" });
const body = { metadata: { labels: { a: "b" } } };
await config.makeApiClient(CoreV1Api).patchNamespacedConfigMap({ name: "a", namespace: "default", body });
process.exit(0);
PATCH
{
  echo "Python, a list:" && env/bin/python patch.py
  echo "Node, an object:" && node patch.mjs
} 2>&1 | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
Python, a list:
configmaps by application/json-patch+json
shops by application/merge-patch+json
Node, an object:
configmaps by application/json-patch+json
EXPECTED
