"""Server of JSON over TLS, with the certificate of this folder: what a finding's own server is made of."""

import http.server
import json
import ssl
import sys

CORE = {
    "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.2"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
}
"""Discovery documents of a server that has the core group alone."""


def core_with(name: str, kind: str, namespaced: bool, *verbs: str) -> dict[str, object]:
    """Discovery documents of a server that has one kind of the core group."""
    entry = {"name": name, "singularName": kind.lower(), "namespaced": namespaced, "kind": kind, "verbs": verbs}
    return {**CORE, "/api/v1": {"kind": "APIResourceList", "groupVersion": "v1", "resources": [entry]}}


class JsonHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def asked(self) -> str:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()

    def say(self, said: object, code: int = 200, **headers: str) -> None:
        """`headers`: `_` stands for a hyphen."""
        body = json.dumps(said).encode()
        self.send_response(code)
        for name, value in {"Content_Type": "application/json", "Content_Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def see(self, line: str) -> None:
        """Writes a line into the file that the second argument names."""
        with open(sys.argv[2], "a") as seen:
            seen.write(line + "\n")

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that has left is no error."""


def serve(handler: type[JsonHandler]) -> None:
    """Serves for ever; the file that the first argument names gets the port."""
    server = Server(("127.0.0.1", 0), handler)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain("ca.pem", "key.pem")
    server.socket = tls.wrap_socket(server.socket, server_side=True)
    with open(sys.argv[1], "w") as port:
        port.write(str(server.server_port))
    server.serve_forever()
