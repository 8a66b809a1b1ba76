"""Answers requests for Namespaces with an empty list over TLS, and writes down who asks: by certificate, token and as whom.

A line of a request: the name in the certificate, the credential, the user and the groups that are asked to be acted for.
"""

import http.server
import json
import ssl
import sys

EMPTY = {"kind": "NamespaceList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}
CORE = {"name": "namespaces", "singularName": "namespace", "namespaced": False, "kind": "Namespace", "verbs": ["list"]}
ANSWERS = {
    "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.2"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
    "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [CORE]},
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        if path.endswith("/namespaces"):
            certificate = self.connection.getpeercert() or {}  # type: ignore[attr-defined]
            names = [value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]
            said = [*names, self.headers.get("Authorization"), self.headers.get("Impersonate-User")]
            groups = self.headers.get_all("Impersonate-Group", [])
            with open(sys.argv[2], "a") as seen:
                seen.write(", ".join([*filter(None, said), *(f"group {group}" for group in groups)]) + "\n")
        body = json.dumps(ANSWERS.get(path, EMPTY)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
tls.load_cert_chain("ca.pem", "key.pem")
tls.load_verify_locations("ca.pem")
tls.verify_mode = ssl.CERT_OPTIONAL
server.socket = tls.wrap_socket(server.socket, server_side=True)
with open(sys.argv[1], "w") as port:
    port.write(str(server.server_port))
server.serve_forever()
