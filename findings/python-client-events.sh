#!/usr/bin/env bash
# Question: can the Python client list the events that most components write (core/v1, without eventTime) by the newer API
#   `events.k8s.io/v1`, and what does its `delete_...` of an object return?
# Versions: kubernetes 37.0.2 (PyPI). The answers are those of kube-apiserver 1.36.2.
# One would guess: yes; and a V1Status, the type of that answer in the API.
# What is: one such event makes the whole list a ValidationError, since its `eventTime` is null there. `delete_...` returns a
#   plain dict, so that `.status` is an AttributeError.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv env
env/bin/pip install -qq kubernetes==37.0.2

cat > ask.py <<'ASK'
import http.server
import json
import threading

from kubernetes import client

EVENT = {
    "metadata": {"name": "a", "namespace": "default"},
    "eventTime": None,
    "reason": "Started",
    "type": "Normal",
    "regarding": {"kind": "Pod", "namespace": "default", "name": "web"},
    "deprecatedCount": 1,
}
EVENTS = {"kind": "EventList", "apiVersion": "events.k8s.io/v1", "metadata": {"resourceVersion": "1"}, "items": [EVENT]}
DELETED = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": {"name": "a"}}


class Api(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.answer(EVENTS)

    def do_DELETE(self) -> None:
        self.answer(DELETED)

    def answer(self, said: dict[str, object]) -> None:
        body = json.dumps(said).encode()
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
try:
    client.EventsV1Api(api).list_namespaced_event("default")
except ValueError as error:
    print(type(error).__name__, *str(error).split("\n")[:2])
EVENT["eventTime"] = "2026-01-02T03:04:05.000000Z"
print("with a time:", len(client.EventsV1Api(api).list_namespaced_event("default").items))
print("deleted:", type(client.CoreV1Api(api).delete_namespaced_config_map("a", "default")).__name__)
ASK
env/bin/python ask.py 2>&1 | tee seen
diff -u - seen <<'EXPECTED' && echo "as told"
ValidationError 1 validation error for EventsV1Event eventTime
with a time: 1
deleted: dict
EXPECTED
