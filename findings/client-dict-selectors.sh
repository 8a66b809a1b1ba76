#!/usr/bin/env bash
# Question: which label selector do clients make of a dictionary whose value is a list, or None?
# Versions: lightkube 1.0.1, kr8s 0.20.15, pykube-ng 23.6.0 (PyPI).
# One would guess: `app in (a,b)` for a list, and for None the label alone, or an error: all three take dictionaries.
# What is: so does lightkube. kr8s and pykube write Python's form of the value. The API server refuses `app=['a', 'b']`; it
#   takes `app=None`, for the label whose value is this word, so that the list is empty.
program=$(mktemp)
cat > "$program" <<'SERVER'
from urllib.parse import parse_qs

from serving import JsonHandler, core_with, serve

EMPTY = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []}
ANSWERS = core_with("pods", "Pod", True, "get", "list")


class Handler(JsonHandler):
    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path.endswith("/pods"):
            self.see(parse_qs(query, keep_blank_values=True).get("labelSelector", ["none"])[0])
        self.say(ANSWERS.get(path.rstrip("/"), EMPTY))


serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
install lightkube kr8s pykube
rm "$program"
kubeconfig "token: secret"
cat > choose.py <<'SELECT'
import kr8s
import lightkube
import pykube
from lightkube.resources.core_v1 import Pod

light = lightkube.Client(lightkube.KubeConfig.from_file("config"))
eight = kr8s.api(kubeconfig="config")
py = pykube.HTTPClient(pykube.KubeConfig.from_file("config"))
CLIENTS = {
    "lightkube": lambda labels: light.list(Pod, namespace="default", labels=labels),
    "kr8s": lambda labels: eight.get("pods", namespace="default", label_selector=labels),
    "pykube": lambda labels: pykube.Pod.objects(py).filter(namespace="default", selector=labels),
}
for labels in ({"app": "a"}, {"app": ["a", "b"]}, {"app": None}):
    for client, pods in CLIENTS.items():
        list(pods(labels))
        with open("seen") as seen:
            print(f"{labels} by {client}: {seen.readlines()[-1].rstrip()}")
SELECT
env/bin/python -W ignore choose.py | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
{'app': 'a'} by lightkube: app=a
{'app': 'a'} by kr8s: app=a
{'app': 'a'} by pykube: app=a
{'app': ['a', 'b']} by lightkube: app in (a,b)
{'app': ['a', 'b']} by kr8s: app=['a', 'b']
{'app': ['a', 'b']} by pykube: app=['a', 'b']
{'app': None} by lightkube: app
{'app': None} by kr8s: app=None
{'app': None} by pykube: app=None
EXPECTED
