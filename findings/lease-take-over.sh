#!/usr/bin/env bash
# Question: two programs elect a leader by a Lease; the other one leads, and later dies, or gives the Lease back. Who
#   follows?
# Versions: @codedependant/kubernetes-leader-election 1.0.1 with @kubernetes/client-node 1.4.0 (npm), kubernetes 37.0.2
#   (PyPI).
# One would guess: the one that is left, once the Lease has ended.
# What is: nobody, with the library for Node. It tries three times within the first length of a Lease, and from then on only
#   when the Lease is deleted. A Lease that ends, or has no holder any more, stays so until a program starts anew. The Python
#   client follows in both cases.
source "$(dirname "$0")/support/clients.sh"
servers=()
trap 'kill -9 "$server" "${servers[@]}" 2> /dev/null || true; rm -rf "$work"' EXIT
install kubernetes client-node
npm install --silent --no-audit --no-fund @codedependant/kubernetes-leader-election@1.0.1 @kubernetes/client-node@1.4.0
cat > leases.py <<'SERVER'
import datetime
import json
import sys
import threading
import time
from pathlib import Path

from serving import JsonHandler, core_with, serve

SPEC = {"holderIdentity": "other", "leaseDurationSeconds": 2, "leaseTransitions": 0}
SPEC["acquireTime"] = "2026-01-01T00:00:00.000000Z"
LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": SPEC}
LEASE["metadata"] = {"name": "lead", "namespace": "default", "uid": "1", "resourceVersion": "1"}
MODE = sys.argv[3]
changed, begun = threading.Condition(), threading.Event()


def change(**fields: object) -> None:
    with changed:
        LEASE["spec"] |= fields
        LEASE["metadata"]["resourceVersion"] = str(int(LEASE["metadata"]["resourceVersion"]) + 1)
        changed.notify_all()


def now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def lead() -> None:
    """The other one leads for seven seconds from the first request on."""
    begun.wait()
    until = time.monotonic() + 7
    while time.monotonic() < until:
        change(renewTime=now())
        time.sleep(0.5)
    if MODE == "gives the Lease back":
        change(holderIdentity=None, renewTime=None)


class Handler(JsonHandler):
    def do_GET(self) -> None:
        begun.set()
        if "watch=" in self.path or self.path.endswith("/leases"):
            self.follow()
        else:
            self.say(LEASE)

    def follow(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        while True:
            self.wfile.write(json.dumps({"type": "MODIFIED", "object": LEASE}).encode() + b"\n")
            self.wfile.flush()
            with changed:
                changed.wait()

    def do_POST(self) -> None:
        self.written(json.loads(self.asked()))

    def do_PUT(self) -> None:
        self.written(json.loads(self.asked()))

    def written(self, lease: dict[str, dict[str, object]]) -> None:
        spec = lease["spec"]
        if LEASE["spec"]["holderIdentity"] != spec["holderIdentity"] or not Path(sys.argv[2]).exists():
            self.see(f"{spec['holderIdentity']} leads, by a Lease of {spec.get('leaseDurationSeconds', 'no')} s")
        change(**spec)
        self.say(LEASE)


change(renewTime=now())
threading.Thread(target=lead, daemon=True).start()
serve(Handler)
SERVER
cat > lead.py <<'LEAD'
import os

from kubernetes import config
from kubernetes.leaderelection.electionconfig import Config
from kubernetes.leaderelection.leaderelection import LeaderElection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

config.load_kube_config(os.environ["KUBECONFIG"])
LeaderElection(
    Config(
        LeaseLock("lead", "default", "Python"), lease_duration=3, renew_deadline=2, retry_period=1,
        onstarted_leading=lambda: None, onstopped_leading=None,
    )
).run()
LEAD
cat > lead.cjs <<'LEAD'
const exported = require("@codedependant/kubernetes-leader-election");
const Elector = exported.Elector ?? exported.default ?? exported;
new Elector({ identity: "Node", lease_name: "lead", lease_duration_sec: 2, renew_interval_ms: 500, auto_close: false }).start();
setInterval(() => {}, 1000);
LEAD
modes=("dies" "gives the Lease back")
for mode in "${!modes[@]}"; do
  for client in Node Python; do
    folder=$client$mode
    mkdir "$folder"
    PYTHONPATH=$support env/bin/python leases.py "$folder/port" "$folder/seen" "${modes[$mode]}" 2> "$folder/log" &
    servers+=($!)
    for _ in $(seq 100); do [[ ! -s $folder/port ]] || break; sleep 0.1; done
    cp "$folder/port" port
    kubeconfig "token: secret"
    mv config "$folder/config"
    if [[ $client == Node ]]; then
      KUBERNETES_SERVICE_HOST=127.0.0.1 KUBECONFIG=$folder/config node lead.cjs > "$folder/said" 2>&1 &
      servers+=($!)
    fi
    if [[ $client == Python ]]; then
      KUBECONFIG=$folder/config env/bin/python -W ignore lead.py > "$folder/said" 2>&1 &
      servers+=($!)
    fi
  done
done
sleep 18
for client in Node Python; do
  for mode in 0 1; do
    echo "$client beside one that ${modes[$mode]}: $(cat "$client$mode/seen" 2> log || echo "nobody leads")"
  done
done > told_here
cat told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
Node beside one that dies: nobody leads
Node beside one that gives the Lease back: nobody leads
Python beside one that dies: Python leads, by a Lease of 3 s
Python beside one that gives the Lease back: Python leads, by a Lease of 3 s
EXPECTED
